"""How much all reports together tell about each attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from seepage._numeric import IntArray, extremes_allowed
from seepage.channel import Channel, randomized_response
from seepage.counts import PairCounts
from seepage.errors import InvalidInputError, TableError, did_you_mean
from seepage.leakage.joint import check_joint_capacity, joint_counts, joint_leakage
from seepage.leakage.model import CurveBuilder, LeakageModel
from seepage.leakage.tree import DependencyTree
from seepage.plan.budgets import budget_of_each
from seepage.results import Finding, Result, Standing
from seepage.tables import CodedTable, CountedTable, is_counts, load, open_table

Method = Literal["tree", "pairwise", "joint", "group"]

SAMPLE = (
    "The joint distribution of the population is taken to be that of the {n:,} records counted; "
    "sampling uncertainty is not included."
)
OWN_BUDGET = (
    "Each attribute goes through an ε-LDP mechanism of its own budget, independently; the attacker "
    "knows the joint distribution."
)
PAIRWISE = (
    "The leakages of all other attributes, each taken alone, are added up; several attributes "
    "together can tell more than this sum, so it is not an upper bound."
)
TREE = (
    "The data are taken to follow a dependency tree ({edges}): two attributes are independent "
    "given any attribute between them."
)
CLUSTERS = "An attribute in a cluster is charged the total about its whole cluster."
GROUP = "Basic composition: no assumption about the data."
JOINT = (
    "Only the reports of {names} are considered, through {channels}; other mechanisms or further "
    "attributes can tell more."
)


@dataclass(frozen=True, eq=False)
class TotalLeakage(Result, Mapping[str, float]):
    """Total leakage about each attribute; ``result[name]`` is the value in nats.

    Attributes
    ----------
    method : str
        How it was computed.
    budgets : mapping of str to float
        ε of each attribute.
    findings : mapping of str to Finding
        Value, standing and assumptions of each attribute asked for.
    parts : mapping of str to mapping of str to float
        What each total is the sum of, besides the own budget: leakage through each other attribute
        ("pairwise"), messages from neighbours in the tree ("tree"), the other budgets ("group").
        Empty for "joint".
    assumptions : tuple of str
        What every value rests on.
    source : str
        What was analysed.
    """

    method: str
    budgets: Mapping[str, float]
    findings: Mapping[str, Finding]
    parts: Mapping[str, Mapping[str, float]]
    assumptions: tuple[str, ...]
    source: str = ""

    def __getitem__(self, name: str) -> float:
        return self.finding(name).value

    def __iter__(self) -> Iterator[str]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def finding(self, name: str) -> Finding:
        """Return the total about one attribute with its standing.

        Raises
        ------
        InvalidInputError
            If it was not computed; the message names near matches.
        """
        if name not in self.findings:
            hint = did_you_mean(name, self.findings)
            msg = f"expected an attribute of the result, got {name!r}.{hint}"
            raise InvalidInputError(msg)
        return self.findings[name]

    @property
    def standing(self) -> Standing:
        """Standing of all totals."""
        return next(iter(self.findings.values())).standing

    @property
    def worst(self) -> str:
        """The attribute with the largest total; the first of several."""
        return max(self.findings, key=self.__getitem__)

    @property
    def verdict(self) -> str:
        """The largest total in one sentence."""
        name = self.worst
        value, budget = self[name], self.budgets[name]
        if np.isinf(value):
            return f"{name!r} is exposed without bound: all reports together can give it away."
        kind = {
            Standing.EXACT: "exactly",
            Standing.UPPER: "at most",
            Standing.HEURISTIC: "about (heuristic, no bound)",
        }.get(self.standing, str(self.standing))
        if self.method == "tree":
            kind = "at most (if the data follow the dependency tree)"
        count = len(self.findings)
        where = f"Of {count} attributes, {name!r} is exposed most" if count > 1 else f"{name!r}"
        return (
            f"{where}: all reports together tell {kind} {value:.3f} nats about it, against its "
            f"own budget of {budget:g}."
        )

    def columns(self) -> Mapping[str, list[Any]]:
        """One row for each attribute."""
        largest = [_largest_part(self.parts.get(name, {})) for name in self.findings]
        return {
            "attribute": list(self.findings),
            "epsilon": [self.budgets[name] for name in self.findings],
            "total": [finding.value for finding in self.findings.values()],
            "standing": [str(finding.standing) for finding in self.findings.values()],
            "method": [self.method] * len(self.findings),
            "largest_source": [name for name, _ in largest],
            "largest_part": [value for _, value in largest],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "format": "seepage.totals",
            "version": 1,
            "source": self.source,
            "unit": "nats",
            "method": self.method,
            "verdict": self.verdict,
            "assumptions": list(self.assumptions),
            "budgets": dict(self.budgets),
            "totals": {
                name: {"value": finding.value, "standing": finding.standing}
                for name, finding in self.findings.items()
            },
            "parts": {name: dict(parts) for name, parts in self.parts.items()},
        }


def _largest_part(parts: Mapping[str, float]) -> tuple[str | None, float | None]:
    if not parts:
        return None, None
    name = max(parts, key=parts.__getitem__)
    return name, parts[name]


def prepare(
    table: Any,
    *,
    tree: DependencyTree | None = None,
    build: CurveBuilder | None = None,
    notes: tuple[str, ...] = (),
    records: bool = True,
    **options: Any,
) -> LeakageModel:
    """Make the leakage model of a table, for several questions about the same data.

    Parameters
    ----------
    table : path, data frame, mapping, CodedTable, CountedTable, PairCounts or LeakageModel
        A model is returned as it is. Also ``.counts`` files.
    tree : DependencyTree, optional
        In place of the Chow–Liu tree of the data.
    build : callable, optional
        Called with (secret, released, conditional); gives the curve of a pair in place of the exact
        one, for example an upper curve under uncertainty.
    notes : tuple of str
        Further assumptions, such as those of `build`.
    records : bool, default True
        Whether to keep the records, for joint totals and for clusters of attributes. If not, large
        files and queries are counted in batches; see `seepage.tables.open_table`.
    **options
        Passed to `seepage.tables.load`.

    Raises
    ------
    SeepageError
        If the table cannot be used, or reading options come with something already read.
    """
    if isinstance(table, (LeakageModel, PairCounts, CodedTable, CountedTable)) and options:
        msg = f"expected no reading options with coded data, got {', '.join(sorted(options))}"
        raise InvalidInputError(msg)
    if isinstance(table, LeakageModel):
        if tree is not None or build is not None or notes:
            msg = "expected no tree, curves or notes with a prepared model: it has its own"
            raise InvalidInputError(msg)
        return table
    if isinstance(table, PairCounts):
        _check_some(table.total)
        return LeakageModel(
            table.domain, counts=table, tree=tree, build=build, source="counts", notes=notes
        )
    coded = table
    if not isinstance(table, (CodedTable, CountedTable)):
        counted = not records or is_counts(table)
        coded = open_table(table, **options) if counted else load(table, **options)
    if isinstance(coded, CountedTable):
        _check_some(coded.counts.total)
        return LeakageModel(
            coded.domain,
            counts=coded.counts,
            tree=tree,
            build=build,
            source=coded.source,
            notes=(*coded.notes, *notes),
        )
    counts = coded.counts()
    _check_some(counts.total)
    return LeakageModel(
        coded.domain,
        counts=counts,
        codes=coded.codes,
        weights=coded.weights,
        tree=tree,
        build=build,
        source=coded.source,
        notes=(*coded.notes, *notes),
    )


def _check_some(total: int) -> None:
    if total == 0:
        msg = "expected at least one record with a positive weight, got none"
        raise TableError(msg)


@extremes_allowed
def total_leakage(
    model_or_table: Any,
    budgets: float | Mapping[str, float],
    secret: str | None = None,
    method: Method = "tree",
    weights: str | None = None,
    *,
    tree: DependencyTree | None = None,
    attributes: Sequence[str] | None = None,
    channels: Mapping[str, Channel] | None = None,
    **options: Any,
) -> TotalLeakage:
    """Total leakage about each attribute when every attribute is reported.

    Parameters
    ----------
    model_or_table : LeakageModel, path, frame, mapping, CodedTable, CountedTable or PairCounts
        A prepared model (see `prepare`) keeps its curves from call to call.
    budgets : float or mapping of str to float
        ε of every attribute, or of each one, in [0, ∞].
    secret : str, optional
        Only the total about this attribute.
    method : {"tree", "pairwise", "joint", "group"}
        "tree": upper bound when the data follow a dependency tree. "pairwise": own budget plus the
        leakage of every other attribute alone, a heuristic. "joint": exact for the actual channels
        of the chosen `attributes`. "group": sum of all budgets, an upper bound always.
    weights : str, optional
        Column of record weights, when a table is read.
    tree : DependencyTree, optional
        For "tree": in place of the Chow–Liu tree of the data.
    attributes : sequence of str, optional
        For "joint": whose reports are considered, all by default. The secret's own is among them.
    channels : mapping of str to Channel, optional
        For "joint": the mechanisms, k-ary randomised response by default.
    **options
        Passed to `seepage.tables.load`.

    Returns
    -------
    TotalLeakage

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, or "joint" is asked for without records.
    DomainError
        If a column is unknown.
    CapacityError
        If a joint table would not fit.

    Examples
    --------
    Neither of two inputs tells anything about their exclusive or; both together do.

    >>> table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "xor": [0, 1, 1, 0]}
    >>> total_leakage(table, 1.0, "xor", "pairwise")["xor"]
    1.0
    >>> round(total_leakage(table, 1.0, "xor", "joint")["xor"], 6)
    1.433781
    """
    if method not in get_args(Method):
        known = get_args(Method)
        msg = f"expected method {', '.join(map(repr, known))}, got {method!r}."
        raise InvalidInputError(msg + did_you_mean(method, known))
    if method != "joint" and (attributes is not None or channels is not None):
        msg = f"expected attributes and channels with method 'joint' only, got method {method!r}"
        raise InvalidInputError(msg)
    if method != "tree" and tree is not None:
        msg = f"expected a tree with method 'tree' only, got method {method!r}"
        raise InvalidInputError(msg)
    if weights is not None:
        options["weights"] = weights
    whole = method == "joint" or (tree is not None and tree.has_clusters)
    model = prepare(model_or_table, records=whole, **options)
    epsilon = budget_of_each(model.domain, budgets)
    if secret is not None:
        model.domain.position(secret)
    if method == "joint":
        return _joint(model, epsilon, secret, attributes, channels)
    return evaluate(model, epsilon, method, tree=tree, secret=secret)


@extremes_allowed
def evaluate(
    model: LeakageModel,
    budgets: Mapping[str, float],
    method: Literal["tree", "pairwise", "group"],
    *,
    tree: DependencyTree | None = None,
    secret: str | None = None,
) -> TotalLeakage:
    """Totals of a model by a method that has no channels; see `total_leakage`."""
    names = model.domain.names
    totals = model.totals(method, tree=tree)
    vector = np.array([budgets[name] for name in names])
    values, terms = totals.values(vector).tolist(), totals.terms(vector)
    standing = Standing.HEURISTIC if method == "pairwise" else Standing.UPPER
    assumptions = assumptions_of(model, method, tree)
    wanted = [i for i, name in enumerate(names) if secret in {None, name}]
    return TotalLeakage(
        method=method,
        budgets=dict(budgets),
        findings={names[i]: Finding(values[i], standing, assumptions) for i in wanted},
        parts={names[i]: terms[i] for i in wanted},
        assumptions=assumptions,
        source=model.source,
    )


def assumptions_of(
    model: LeakageModel, method: str, tree: DependencyTree | None = None
) -> tuple[str, ...]:
    """Sentences on what a total by this method rests on."""
    if method == "group":
        return (OWN_BUDGET, GROUP)
    # Curves that were built otherwise say themselves, in the notes, what they rest on.
    plain = model.records is not None and model.build is None
    sample = (SAMPLE.format(n=model.records),) if plain else ()
    if method == "pairwise":
        return (*sample, OWN_BUDGET, PAIRWISE, *model.notes)
    chosen = tree or model.dependency_tree()
    text = ", ".join(f"{a} – {b}" for a, b in chosen.named_edges) or "no edges"
    clusters = (CLUSTERS,) if chosen.has_clusters else ()
    return (*sample, OWN_BUDGET, TREE.format(edges=text), *clusters, *model.notes)


def _joint(
    model: LeakageModel,
    budgets: dict[str, float],
    secret: str | None,
    attributes: Sequence[str] | None,
    channels: Mapping[str, Channel] | None,
) -> TotalLeakage:
    codes = _codes(model)
    names = _chosen(model, secret, attributes)
    sizes = {name: model.domain[name].size for name in names}
    given = _channels(model, channels, budgets)
    used = {
        name: given[name] if name in given else randomized_response(sizes[name], budgets[name])
        for name in names
    }
    values: dict[str, float] = {}
    for name in names if secret is None else (secret,):
        others = [other for other in names if other != name]
        order = [name, *others]
        outputs = [used[other].shape[1] for other in others]
        check_joint_capacity(order, [sizes[x] for x in order], outputs)
        table = joint_counts(model.domain, codes, model.weights, order)
        value = joint_leakage(table, [used[other] for other in others], used[name])
        observed = np.count_nonzero(table.reshape(len(table), -1).sum(axis=1))
        if name not in given and observed > 1:
            # The own report alone tells ε about every two values; logarithms lose a tiny one.
            value = max(value, budgets[name])
        values[name] = value
    kinds = "k-ary randomised response" if not given else "the given channels"
    sentence = JOINT.format(names=", ".join(names), channels=kinds)
    sample = SAMPLE.format(n=model.records or 0)
    assumptions = (sample, sentence, *model.notes)
    return TotalLeakage(
        method="joint",
        budgets=budgets,
        findings={k: Finding(v, Standing.EXACT, assumptions) for k, v in values.items()},
        parts={},
        assumptions=assumptions,
        source=model.source,
    )


def _codes(model: LeakageModel) -> IntArray:
    if model.codes is None:
        msg = "expected records (a table) for method 'joint', got counts or curves only"
        raise InvalidInputError(msg)
    return model.codes


def _chosen(
    model: LeakageModel, secret: str | None, attributes: Sequence[str] | None
) -> tuple[str, ...]:
    """Attributes whose reports count, in the order of the domain."""
    if attributes is None:
        return model.domain.names
    if isinstance(attributes, str):
        msg = f"expected a list of attributes, got the text {attributes!r}"
        raise InvalidInputError(msg)
    wanted = set(attributes) | (set() if secret is None else {secret})
    for name in wanted:
        model.domain.position(name)
    if not wanted:
        msg = "expected at least one attribute, got none"
        raise InvalidInputError(msg)
    return tuple(name for name in model.domain.names if name in wanted)


def _channels(
    model: LeakageModel, channels: Mapping[str, Channel] | None, budgets: Mapping[str, float]
) -> Mapping[str, Channel]:
    for name, channel in (channels or {}).items():
        size = model.domain[name].size
        if channel.shape[0] != size:
            msg = f"expected a channel with {size} inputs for {name!r}, got {channel.shape[0]}"
            raise InvalidInputError(msg)
        if channel.epsilon > budgets[name] * (1 + 1e-9) + 1e-12:
            msg = (
                f"expected a channel for {name!r} within its budget of {budgets[name]:g}, got one "
                f"with ε = {channel.epsilon:g}"
            )
            raise InvalidInputError(msg)
    return channels or {}
