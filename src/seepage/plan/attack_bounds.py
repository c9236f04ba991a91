"""How much the seen reports can tell about the secret at most: exactly, by a tree, by budgets."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from seepage._numeric import FloatArray, extremes_allowed
from seepage.attack.bounds import accuracy_bound, balanced_accuracy_bound
from seepage.attack.population import Population
from seepage.channel import Channel
from seepage.collect.hashing import LocalHashing
from seepage.collect.mechanism import Mechanism, TableMechanism
from seepage.collect.subset import SubsetSelection
from seepage.collect.unary import UnaryEncoding
from seepage.counts import PairCounts
from seepage.domain import Domain
from seepage.errors import CapacityError, InvalidInputError
from seepage.leakage._stack import Curve
from seepage.leakage.joint import check_joint_capacity, joint_leakage
from seepage.leakage.total import TreeTotals
from seepage.leakage.tree import DependencyTree
from seepage.plan.attack_setting import Setting
from seepage.results import Standing
from seepage.tradeoff import TradeOff

MAX_CELLS = 5_000_000
"""Cells of a joint table up to which the exact leakage is computed."""

MAX_LISTED = 12
"""Bits of reports up to which they are listed."""

MAX_PAIR = 400_000
"""Cells of a table along an edge of a tree up to which its leakage curve is built."""

JOINT = "Exact for the joint distribution that the attackers are given."
TREE = (
    "Holds if the data follow the dependency tree ({edges}), for all mechanisms of these budgets."
)
GROUP = "The budgets seen; no assumption about the data."


@dataclass(frozen=True)
class LeakageBound:
    """A bound on what the seen reports tell about the secret, and on success.

    Parameters
    ----------
    method : {"joint", "tree", "group"}
    leakage : float
        In nats, in [0, ∞].
    standing : Standing
    accuracy : float
        No attacker guesses more of the evaluated records rightly, in expectation.
    balanced_accuracy : float
    assumption : str
        A sentence.
    """

    method: str
    leakage: float
    standing: Standing
    accuracy: float
    balanced_accuracy: float
    assumption: str


def leakage_bounds(
    setting: Setting,
    population: Population,
    tree: DependencyTree | None,
    frequencies: FloatArray,
    exact: float | None,
) -> tuple[LeakageBound, ...]:
    """All bounds that can be had.

    Parameters
    ----------
    setting : Setting
    population : Population
        What the attackers are given.
    tree : DependencyTree, optional
        Of the secret and the nodes, by their labels.
    frequencies : array of float, shape (k,)
        Shares of the values of the secret among the records that success is about.
    exact : float, optional
        See `exact_leakage`.

    Returns
    -------
    tuple of LeakageBound
        "joint" first where it is known, "tree" where there is a tree, "group" always.
    """
    guessed = np.where(population.prior > 0, frequencies, 0.0)
    met = max(1, int(np.count_nonzero(guessed)))
    group = _group(setting)

    def bound(method: str, leakage: float, standing: Standing, text: str) -> LeakageBound:
        value = min(leakage, group)  # rounding apart, the sum of budgets holds always
        return LeakageBound(
            method, value, standing, accuracy_bound(guessed, value),
            balanced_accuracy_bound(met, value), text,
        )  # fmt: skip

    found = []
    if exact is not None:
        found.append(bound("joint", exact, Standing.EXACT, JOINT))
    along = None if tree is None else _along(setting, population, tree)
    if tree is not None and along is not None:
        edges = ", ".join(f"{a} – {b}" for a, b in tree.named_edges) or "no edges"
        found.append(bound("tree", along, Standing.UPPER, TREE.format(edges=edges)))
    found.append(bound("group", group, Standing.UPPER, GROUP))
    return tuple(found)


def node_tree(
    setting: Setting, population: Population, given: DependencyTree | None
) -> DependencyTree | None:
    """The Chow–Liu tree of the secret and the nodes, or a given one; None where none is used.

    Raises
    ------
    InvalidInputError
        If a given tree is not one of the attributes seen and the secret.
    """
    names = (setting.secret, *setting.labels)
    if given is not None:
        wanted = set(names)
        if setting.one_report or any(len(unit.names) > 1 for unit in setting.units):
            msg = "expected no tree with this plan: its reports are not of single attributes each"
            raise InvalidInputError(msg)
        for name in names:
            given.node_of(name)
        if set(given.names) != wanted or given.has_clusters:
            msg = (
                f"expected a tree of the {len(wanted)} attributes that are seen or secret, without "
                f"clusters, got one of {', '.join(map(repr, given.names))}"
            )
            raise InvalidInputError(msg)
        return given
    if setting.one_report:
        return None
    domain = Domain.of(
        {name: range(k) for name, k in zip(names, (setting.k, *population.sizes), strict=True)}
    )
    codes = np.column_stack([population.secret, population.nodes])
    whole = np.rint(population.weights)
    if (whole != population.weights).any():  # the structure needs whole numbers, the tables do not
        whole = np.maximum(np.rint(population.weights / population.weights.max() * 2.0**31), 1)
    return DependencyTree.chow_liu(PairCounts.from_codes(domain, codes, whole.astype(np.int64)))


def _group(setting: Setting) -> float:
    plan = setting.plan
    if plan.design == "fake":
        return plan.epsilon
    budgets = [plan.units[i].mechanism.epsilon for i in setting.seen]
    return max(budgets) if plan.design == "views" else math.fsum(budgets)


def report_channel(mechanism: Mechanism) -> Channel | None:
    """``p(report | category)`` as a table, also of reports that are bits; None if too large.

    Of local hashing the likelihoods of the supported categories are taken over all sets of them,
    which is more than its hash functions can produce: never less leakage.
    """
    if isinstance(mechanism, TableMechanism):
        try:
            return mechanism.channel
        except CapacityError:
            return None
    k = mechanism.k
    if k > MAX_LISTED:
        return None
    bits = np.array(list(itertools.product((False, True), repeat=k)))
    if isinstance(mechanism, SubsetSelection):
        bits = bits[bits.sum(axis=1) == mechanism.subset_size]
    if isinstance(mechanism, (UnaryEncoding, SubsetSelection)):
        return Channel(mechanism.log_likelihood(bits).T)
    if not isinstance(mechanism, LocalHashing):
        return None
    # An ideal hash: every other category is supported by chance, with probability 1/g.
    g = mechanism.buckets
    others = bits.sum(axis=1, keepdims=True) - bits
    chance = -others * math.log(g) + (k - 1 - others) * math.log1p(-1 / g)
    kept = -math.log1p((g - 1) * math.exp(-mechanism.epsilon))
    lost = math.log(g - 1) + kept - mechanism.epsilon
    return Channel((np.where(bits, kept, lost) + chance).T)


@extremes_allowed
def exact_leakage(setting: Setting, population: Population) -> float | None:
    """Exact leakage of the seen reports under the population; None where it is too much work."""
    mechanisms = [unit.mechanism for unit in setting.units]
    if setting.plan.design == "fake":
        try:
            return _fake(setting, population)
        except CapacityError:
            return None
    channels = [report_channel(mechanism) for mechanism in mechanisms]
    own = None
    if setting.own is not None:
        own = report_channel(setting.plan.units[setting.own].mechanism)
        if own is None:
            return None
    if any(channel is None for channel in channels):
        return None
    known = [channel for channel in channels if channel is not None]
    names = (setting.secret, *setting.labels)
    try:
        if setting.plan.design == "views":
            each = [
                joint_leakage(population.pair(node), [channel])
                for node, channel in enumerate(known)
            ]
            alone = [] if own is None else [joint_leakage(population.prior, [], own)]
            return max(*each, *alone, 0.0)
        outputs = [channel.shape[1] for channel in known]
        check_joint_capacity(names, (setting.k, *population.sizes), outputs, MAX_CELLS)
        return joint_leakage(_dense(population), known, own)
    except CapacityError:
        return None


def best_success(setting: Setting, population: Population, frequencies: FloatArray) -> float | None:
    """Probability that the best guess is right, with these frequencies of the secret.

    ``Σ_y max_s f(s) p(y | s)`` over all reports y: no attacker is right more often on average. With
    the population's own prior as frequencies, the success of exact Bayes. None where there are too
    many reports.

    Parameters
    ----------
    setting : Setting
    population : Population
        From which the reports given the secret come.
    frequencies : array of float, shape (k,)
        Of the values of the secret; those that the population does not have count as never met.
    """
    met = population.prior > 0
    scale = np.divide(frequencies, population.prior, out=np.zeros(len(met)), where=met)
    prior = np.where(met, frequencies, 0.0)
    plan = setting.plan
    seen = [plan.units[i].mechanism for i in setting.seen]
    channels = {id(mechanism): report_channel(mechanism) for mechanism in seen}
    if plan.design == "fake" or any(channel is None for channel in channels.values()):
        return None
    tables = [channels[id(unit.mechanism)] for unit in setting.units]
    matrices = [table.matrix for table in tables if table is not None]
    own = None
    if setting.own is not None:
        table = channels[id(plan.units[setting.own].mechanism)]
        own = None if table is None else table.matrix
    if plan.design == "views":
        rows = scale[:, np.newaxis] / population.weights.sum()
        each = [
            float((rows * (population.pair(node) @ matrix)).max(axis=0).sum())
            for node, matrix in enumerate(matrices)
        ]
        if own is not None:
            each.append(float((prior[:, np.newaxis] * own).max(axis=0).sum()))
        silent = len(plan.units) - len(each)  # views of which nothing is seen
        return (math.fsum(each) + silent * float(prior.max())) / len(plan.units)
    sizes = (setting.k, *population.sizes)
    outputs = [matrix.shape[1] for matrix in matrices]
    cells = setting.k * math.prod(map(max, zip(population.sizes, outputs, strict=True)))
    if cells * (1 if own is None else own.shape[1]) > MAX_CELLS:
        return None
    joint = _dense(population).reshape(sizes)
    for matrix in matrices:  # contracting axis 1 appends the reports as the last axis
        joint = np.tensordot(joint, matrix, axes=(1, 0))
    flat = scale[:, np.newaxis] * joint.reshape(setting.k, -1) / population.weights.sum()
    if own is None:
        return float(flat.max(axis=0).sum())
    return math.fsum(float((flat * column[:, np.newaxis]).max(axis=0).sum()) for column in own.T)


def _dense(population: Population) -> FloatArray:
    """The joint table, shape (k, b_1, …, b_m)."""
    shape = (population.secret_size, *population.sizes)
    cells = np.ravel_multi_index((population.secret, *population.nodes.T), shape)
    mass = np.bincount(cells, population.weights, math.prod(shape))
    return np.asarray(mass.reshape(shape), dtype=np.float64)


def _fake(setting: Setting, population: Population) -> float:
    """Exact leakage of one true report among uniform fakes.

    Given the secret, the likelihood of the reports is ``c + Σ_l a_l(y_l)`` up to a factor, with
    ``a_l(y) = k_l Σ_x p(x | s) G_l[x, y]`` and c the number of units not seen. The largest ratio of
    two such sums over all y is found by Dinkelbach's method: for a ratio r the best y_l is chosen
    for each l by itself.
    """
    terms = []
    for node, unit in enumerate(setting.units):
        table = population.pair(node)[population.prior > 0]
        conditional = table / table.sum(axis=1, keepdims=True)
        matrix = unit.mechanism.moments()  # randomised response: its features are its reports
        terms.append(unit.mechanism.k * conditional @ matrix)
    hidden = len(setting.plan.units) - len(terms)
    worst = 1.0
    values = range(int(np.count_nonzero(population.prior)))
    for s, other in itertools.permutations(values, 2):
        while True:
            best = [int(np.argmax(term[s] - worst * term[other])) for term in terms]
            pairs = list(zip(terms, best, strict=True))
            top = hidden + sum(float(term[s, y]) for term, y in pairs)
            low = hidden + sum(float(term[other, y]) for term, y in pairs)
            if top <= worst * low * (1 + 1e-14):
                break
            if low == 0:
                return math.inf
            worst = top / low
    return math.log(worst)


@extremes_allowed
def _along(setting: Setting, population: Population, tree: DependencyTree) -> float | None:
    """The tree total about the secret, its own budget only where it is seen."""
    names = (setting.secret, *setting.labels)
    sizes = dict(zip(names, (setting.k, *population.sizes), strict=True))
    columns = dict(zip(names, (population.secret, *population.nodes.T), strict=True))
    if any(sizes[a] * sizes[b] > MAX_PAIR for a, b in tree.named_edges):
        return None

    def curve(secret: tuple[str, ...], released: tuple[str, ...]) -> Curve:
        (s,), (r,) = secret, released
        cells = columns[s] * sizes[r] + columns[r]
        table = np.bincount(cells, population.weights, sizes[s] * sizes[r]).reshape(sizes[s], -1)
        table = table[table.sum(axis=1) > 0]
        return TradeOff.envelope(table / table.sum(axis=1, keepdims=True))

    own = 0.0 if setting.own is None else setting.plan.units[setting.own].mechanism.epsilon
    budgets = [own, *(unit.mechanism.epsilon for unit in setting.units)]
    return float(TreeTotals(names, tree, curve).values(budgets)[0])
