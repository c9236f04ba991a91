"""Audit of a randomiser from its reports alone: a lower confidence limit of its ε."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._numeric import check_epsilon, check_probability, check_size
from seepage.attack._observations import Codebook, Codes
from seepage.attack._parts import label, split
from seepage.attack._source import Randomiser, Source, check_inputs, check_pairs
from seepage.attack.audit_results import MechanismAudit, PairAudit
from seepage.attack.distinguish import Event, Words, binomial_limits, choose
from seepage.attack.probing import Probe, probe_inputs
from seepage.errors import InvalidInputError

FIT, CHOICE = 0.2, 0.15
"""Shares of the samples on which events are made, and on which one is chosen."""

LEAST = 100
"""Fewest samples of an input."""

SAME = 2_000
"""Reports in each of the two batches that must not be the same."""

BY_CHANCE = 1e-9
"""Largest probability with which batches of one input that are the same are so by chance."""

BATCH = 1 << 17
"""Reports drawn at a time when events are counted."""


def audit_mechanism(
    randomiser: Randomiser,
    inputs: Sequence[Any],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    samples: int = 100_000,
    confidence: float = 1 - 1e-3,
    rng: np.random.Generator | int | None = None,
    vectorised: bool = False,
    pairs: Sequence[tuple[int, int]] | None = None,
    features: Callable[[Any], Any] | None = None,
    hostile: Sequence[Any] = (),
    names: Sequence[str] | None = None,
    components: Sequence[Callable[[Any], str]] | None = None,
    about: str = "",
) -> MechanismAudit:
    """Lower confidence limit of the ε of any randomiser, from its reports.

    Parameters
    ----------
    randomiser : callable
        Takes one input and returns its report. Reports may be numbers, texts, arrays, lists,
        mappings, sets, or anything hashable; None and NaN are reports like others.
    inputs : sequence
        The secret inputs to compare, 2 or more, all different.
    epsilon : float, optional
        The ε that is claimed, in [0, ∞].
    delta : float, default 0
        The δ it is claimed with, in [0, 1).
    samples : int, default 100,000
        Reports drawn on each input, 100 or more.
    confidence : float, default 0.999
        In (0, 1). All limits hold together with at least this probability.
    rng : numpy.random.Generator or int, optional
        Handed to the randomiser as a keyword argument `rng`. Without it the randomiser is called
        with its input alone. The audit itself draws nothing.
    vectorised : bool, default False
        Whether the randomiser takes n inputs and returns n reports: an array with n rows, or a
        list. It is called with n equal inputs, as an array where they are numbers or arrays of
        numbers, otherwise as a list.
    pairs : sequence of (int, int), optional
        Positions of the inputs to compare, in both directions; all pairs when left out.
    features : callable, optional
        Maps the reports of one call to an array with a row for each, which is looked at instead. A
        limit for features of the reports is one for the reports. Needed where a report means
        something only together with something else, as a hash with its seed.
    hostile : sequence, optional
        Values outside the domain, whose reports are compared with those on `inputs`: see
        `seepage.attack.probing.probe_inputs`. Those that are never refused take part in the game
        too, as a claim on ε covers everything that is accepted.
    names : sequence of str, optional
        How to call the inputs in the result; as Python writes them when left out.
    components : sequence of callables, optional
        What a value of each component of the reports means, in words; for the result.
    about : str, optional
        What is audited, for the result.

    Returns
    -------
    MechanismAudit
        `lower` is finite, also where ε is ∞; the largest value possible grows with the logarithm of
        `samples`.

    Raises
    ------
    InvalidInputError
        If a parameter is outside its range, the randomiser raises an error, or it does not return
        one report for each input.

    Notes
    -----
    The distinguishing game: the first 35 % of the reports on each input choose, for every ordered
    pair of inputs, the event with the best predicted limit (see `seepage.attack.distinguish`). On
    the others exact binomial limits of its two probabilities are computed (Clopper and Pearson
    1934), whose errors add up to 1 − `confidence` over all of them. ``ln((p − δ)/q)`` is then below
    ε for every randomiser with (ε, δ), whatever the events are (Jagielski, Ullman and Oprea 2020,
    "Auditing differentially private machine learning").

    Examples
    --------
    >>> def leaky(value, rng):
    ...     return value if rng.random() < 0.9 else 1 - value
    >>> found = audit_mechanism(leaky, [0, 1], epsilon=1.0, samples=20_000, rng=1)
    >>> found.exceeds, found.lower < np.log(9)
    (True, True)
    """
    source = Source.of(randomiser, vectorised, rng, features)
    values = check_inputs(inputs, 2)
    shown = _names(names, values)
    asked = check_pairs(pairs, len(values))
    claimed = None if epsilon is None else _number(check_epsilon(epsilon), "epsilon")
    words = _words(components)
    share = _number(check_probability(delta, "delta"), "delta")
    sure = _number(check_probability(confidence, "confidence"), "confidence")
    for name, value in (("delta", 1 - share), ("confidence", sure), ("confidence", 1 - sure)):
        if value == 0:
            given = delta if name == "delta" else confidence
            msg = f"expected {name} in {'[0' if name == 'delta' else '(0'}, 1), got {given!r}"
            raise InvalidInputError(msg)
    n = check_size(samples, "samples")
    if n < LEAST:
        msg = f"expected at least {LEAST} samples of every input, got {n}"
        raise InvalidInputError(msg)
    probes: tuple[Probe, ...] = ()
    strange = check_inputs(hostile, 0, "hostile values")
    if strange:
        probes = probe_inputs(
            randomiser, strange, inputs=values, vectorised=vectorised, rng=source.rng
        )
        taken = [v for v, probe in zip(strange, probes, strict=True) if probe.refusals == 0]
        first = len(values)
        values += taken
        shown += [label(value) for value in taken]
        asked += [(i, j) for j in range(first, len(values)) for i in range(j)]
    found = _play(source, values, asked, (n, sure, share))
    made = tuple(pair.audit(shown, words) for pair in found)
    used = sorted({i for pair in asked for i in pair}) if source.vectorised else []
    repeating = tuple(shown[i] for i in used if _repeats(source, values[i], min(n, SAME)))
    return MechanismAudit(made, claimed, share, sure, n, probes, about, repeating)


def _repeats(source: Source, value: Any, n: int) -> bool:
    """Whether two batches of n reports are the same, and not by chance.

    Independent reports are in any order with the same probability, so with numbers c_i of equal
    ones a second batch is the same as the first with probability ``Π c_i!/n!`` at most. Equal
    batches count where this is below `BY_CHANCE`, which leaves out reports that are all alike.
    """
    from scipy.special import gammaln

    first, second = source.draw(value, n), source.draw(value, n)
    book = Codebook.of([split(first, n)], [first])
    codes = book.encode(first, n)
    if not np.array_equal(codes, book.encode(second, n)):
        return False
    # A component is the same in both with at least the probability of the whole report.
    orders = (gammaln(n + 1) - gammaln(np.bincount(column) + 1).sum() for column in codes.T)
    return any(order > -np.log(BY_CHANCE) for order in orders)


@dataclass(frozen=True, eq=False)
class _Counted:
    """An event that was counted, with the codebook that it is written in."""

    inputs: tuple[int, int]
    event: Event
    book: Codebook
    hits: tuple[int, int]
    trials: int
    limits: tuple[float, float]
    lower: float

    def audit(self, names: list[str], words: Words | None) -> PairAudit:
        """Return it with the names of the inputs."""
        high, low = (names[i] for i in self.inputs)
        what = self.event.describe(self.book, words)
        return PairAudit(high, low, what, *self.hits, self.trials, *self.limits, self.lower)


def _play(
    source: Source,
    values: list[Any],
    pairs: list[tuple[int, int]],
    settings: tuple[int, float, float],
) -> list[_Counted]:
    """Choose an event for every ordered pair, then count."""
    samples, confidence, delta = settings
    fit, choice = round(FIT * samples), round(CHOICE * samples)
    trials = samples - fit - choice
    error = (1 - confidence) / (4 * len(pairs))  # two directions, two limits
    used = sorted({i for pair in pairs for i in pair})
    book, codes = _first_codes(source, {i: values[i] for i in used}, fit, fit + choice)
    caution = _caution(error, choice, trials)
    events: list[tuple[int, int, Event]] = []
    for i, j in pairs:
        first, second = (codes[i][:fit], codes[j][:fit]), (codes[i][fit:], codes[j][fit:])
        up, down = choose(first, second, book, normal=caution, delta=delta)
        events += [(i, j, up), (j, i, down)]
    wanted = sorted({c for _, _, event in events for c in event.score.columns})
    hits = np.zeros((2, len(events)), dtype=np.int64)
    for i in used:
        done = 0
        while done < trials:
            n = min(BATCH, trials - done)
            batch = book.encode(source.draw(values[i], n), n, wanted)
            for e, (high, low, event) in enumerate(events):
                if i in {high, low}:
                    hits[int(i == low), e] += np.count_nonzero(event.contains(batch))
            done += n
    lower = binomial_limits(hits[0], trials, error)[0].tolist()
    upper = binomial_limits(hits[1], trials, error)[1].tolist()
    return [
        _Counted(
            (high, low),
            event,
            book,
            (int(hits[0, e]), int(hits[1, e])),
            trials,
            (lower[e], upper[e]),
            _limit(lower[e], upper[e], delta),
        )
        for e, (high, low, event) in enumerate(events)
    ]


def _first_codes(
    source: Source, values: Mapping[int, Any], fit: int, n: int
) -> tuple[Codebook, dict[int, Codes]]:
    """Symbols settled on the first `fit` reports, and those of the first n reports."""
    drawn = {i: source.draw(value, n) for i, value in values.items()}
    heads = {i: split(reports, n) for i, reports in drawn.items()}
    book = Codebook.of(
        [parts.head(fit) for parts in heads.values()],
        [reports[:fit] for reports in drawn.values()],
    )
    return book, {i: book.encode(reports, n) for i, reports in drawn.items()}


def _caution(error: float, choice: int, trials: int) -> float:
    """Standard errors at the size of the choosing sample, for the limits of the counting one.

    One more is held against a candidate because the luckiest of many is taken.
    """
    from scipy.special import ndtri

    return float(1 - ndtri(error) * np.sqrt(choice / trials))


def _limit(high: float, low: float, delta: float) -> float:
    gain = high - delta
    return max(0.0, float(np.log(gain) - np.log(low))) if gain > 0 else 0.0


def _names(names: Any, values: list[Any]) -> list[str]:
    if names is None:
        return [label(value) for value in values]
    listed = list(names) if isinstance(names, (list, tuple)) else []
    if len(listed) != len(values) or not all(isinstance(name, str) for name in listed):
        msg = f"expected a name for each of {len(values)} inputs, got {names!r}"
        raise InvalidInputError(msg)
    return listed


def _words(components: Any) -> Words | None:
    if components is None:
        return None
    listed = list(components) if isinstance(components, (list, tuple)) else []
    if not listed or not all(map(callable, listed)):
        msg = f"expected a function from values to words for each component, got {components!r}"
        raise InvalidInputError(msg)
    return listed


def _number(value: Any, name: str) -> float:
    if value.ndim:
        msg = f"expected one {name}, got an array of shape {value.shape}"
        raise InvalidInputError(msg)
    return float(value)
