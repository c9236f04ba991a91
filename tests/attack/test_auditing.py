"""The audit of a randomiser: planted faults, coverage, power, forms of reports, hostile input."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from seepage import InvalidInputError, Standing
from seepage.attack._observations import Symbols
from seepage.attack.auditing import audit_mechanism
from seepage.attack.distinguish import binomial_limits

NAN, INF = float("nan"), float("inf")


def response(k, epsilon):
    """Randomised response on 0 … k − 1, for arrays."""
    stay = math.exp(epsilon) / (math.exp(epsilon) + k - 1)

    def randomise(values, rng):
        other = (values + rng.integers(1, max(k, 2), len(values))) % k
        return np.where(rng.random(len(values)) < stay, values, other)

    return randomise


def unary(k, epsilon):
    """Symmetric unary encoding whose exact ε is as given: ln p(1 − q)/(q(1 − p)), p + q = 1."""
    flip = 1 / (1 + math.exp(epsilon / 2))

    def randomise(values, rng):
        bits = np.arange(k) == values[:, np.newaxis]
        return bits ^ (rng.random(bits.shape) < flip)

    return randomise


def bit(value, rng):
    """One bit through randomised response of ε = ln 3."""
    return int(value) if rng.random() < 0.75 else 1 - int(value)


# Planted faults.


def test_a_unary_encoder_with_the_wrong_flip_probability_is_found():
    found = audit_mechanism(
        unary(6, 1.3), range(3), epsilon=0.5, samples=40_000, rng=1, vectorised=True
    )
    assert found.exceeds
    assert not found.faultless
    assert 0.9 * 1.3 < found.lower <= 1.3
    assert "refuted" in found.verdict
    assert "99.9 %" in found.verdict
    right = audit_mechanism(
        unary(6, 0.5), range(3), epsilon=0.5, samples=40_000, rng=1, vectorised=True
    )
    assert not right.exceeds
    assert right.faultless
    assert right.lower > 0.4
    assert "not refuted" in right.verdict


def test_the_same_fault_one_report_at_a_time():
    flip = 1 / (1 + math.exp(0.65))

    def randomise(value, rng):
        return [int((value == c) != (rng.random() < flip)) for c in ("a", "b", "c")]

    found = audit_mechanism(randomise, ["a", "b"], epsilon=0.5, samples=10_000, rng=3)
    assert found.exceeds
    assert found.lower <= 1.3


def test_a_bit_that_depends_on_two_components_is_found():
    # Each component alone is a fair coin; together they give the value away.
    def randomise(values, rng):
        coin, noise = rng.random((2, len(values))) < [[0.5], [0.2]]
        spare = rng.random((len(values), 5)) < 0.5
        return np.column_stack([spare, coin, coin ^ noise ^ (values == 1)])

    found = audit_mechanism(randomise, [0, 1], epsilon=0.1, samples=100_000, rng=2, vectorised=True)
    assert 0.9 * math.log(4) < found.lower <= math.log(4)


def test_identity_is_a_sign_of_an_unbounded_epsilon():
    found = audit_mechanism(lambda value: value, ["a", "b"], epsilon=5.0, samples=5000)
    assert found.exceeds
    assert math.isfinite(found.lower)
    assert len(found.seen_only) == 2
    assert "never under" in found.verdict
    # n = 3250 counts without an event: the limits are known in closed form.
    error = 1e-3 / 4
    assert found.lower == pytest.approx(
        math.log(error ** (1 / 3250)) - math.log1p(-(error ** (1 / 3250))), rel=1e-12
    )


def test_an_output_that_only_one_input_has():
    def randomise(values, rng):
        return np.where((values == 1) & (rng.random(len(values)) < 0.05), 2, 0)

    found = audit_mechanism(randomise, [0, 1], epsilon=1.0, samples=50_000, rng=5, vectorised=True)
    assert found.exceeds
    assert found.best.high == "1"
    assert found.best.seen_only
    assert found.best.event == "report is 2"
    # The other way round ln(1/.95) is all there is.
    assert found.pairs[0].lower <= -math.log(0.95)


def test_a_mechanism_with_delta():
    # With probability .02 the value itself, otherwise a coin: (0, .02), and no ε at δ = 0.
    def randomise(values, rng):
        shown = rng.random(len(values)) < 0.02
        return np.where(shown, 2 + values, rng.integers(0, 2, len(values)))

    options = {"samples": 100_000, "rng": 6, "vectorised": True}
    allowed = audit_mechanism(randomise, [0, 1], epsilon=0.0, delta=0.02, **options)
    assert allowed.lower == 0
    assert "δ = 0.02" in allowed.verdict
    assert audit_mechanism(randomise, [0, 1], epsilon=3.0, **options).exceeds


# Power and coverage.


@pytest.mark.parametrize(
    ("make", "k", "epsilon", "share"),
    [(response, 2, 1.0, 0.98), (response, 20, 3.0, 0.97), (unary, 4, 0.5, 0.96)],
)
def test_power_at_a_million_samples(make, k, epsilon, share):
    found = audit_mechanism(
        make(k, epsilon), [0, 1], epsilon=epsilon, samples=10**6, rng=7, vectorised=True
    )
    assert share * epsilon < found.lower <= epsilon


def test_power_against_continuous_noise():
    def randomise(values, rng):
        return values + rng.laplace(size=len(values))

    found = audit_mechanism(
        randomise, [0.0, 1.0], epsilon=1.0, samples=300_000, rng=8, vectorised=True
    )
    assert 0.95 < found.lower <= 1.0


@pytest.mark.parametrize(("k", "epsilon", "audits"), [(2, 1.0, 1000), (4, 2.5, 200)])
def test_coverage(k, epsilon, audits):
    # At confidence .9: at most one in ten may exceed the truth; the limits are conservative.
    rng = np.random.default_rng(9)
    wrong = sum(
        audit_mechanism(
            response(k, epsilon),
            [0, 1],
            samples=300,
            confidence=0.9,
            rng=rng,
            vectorised=True,
        ).lower
        > epsilon
        for _ in range(audits)
    )
    assert wrong <= audits / 10


def test_limits_of_a_binomial_against_two_other_computations():
    rng = np.random.default_rng(10)
    for _ in range(40):
        n = int(rng.integers(1, 400))
        x = int(rng.integers(0, n + 1))
        error = float(10 ** rng.uniform(-9, -0.5))
        lower, upper = binomial_limits(x, n, error)
        exact = stats.binomtest(x, n, alternative="greater").proportion_ci(1 - error, "exact")
        assert lower == pytest.approx(exact.low, rel=1e-6)
        if x:
            assert stats.binom.sf(x - 1, n, lower) == pytest.approx(error, rel=1e-9)
        if x < n:
            assert stats.binom.cdf(x, n, upper) == pytest.approx(error, rel=1e-9)
    assert [float(limit) for limit in binomial_limits(0, 7, 0.01)] == [
        0.0,
        pytest.approx(1 - 0.01 ** (1 / 7)),
    ]
    assert [float(limit) for limit in binomial_limits(7, 7, 0.01)] == [
        pytest.approx(0.01 ** (1 / 7)),
        1.0,
    ]


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.9, 0.05), (0.3, 0.1), (1.0, 0.01)])
def test_coverage_of_one_event_by_enumeration(p, q):
    n, error = 25, 0.05
    x = np.arange(n + 1)
    lower, upper = binomial_limits(x, n, error)
    with np.errstate(divide="ignore"):
        bound = np.log(lower)[:, np.newaxis] - np.log(upper)
    weight = np.outer(stats.binom.pmf(x, n, p), stats.binom.pmf(x, n, q))
    assert weight[bound > math.log(p / q) + 1e-12].sum() <= 2 * error


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 8), st.booleans())
def test_random_channels_stay_below_their_exact_epsilon(seed, k, m, sparse):
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(m, 0.3 if sparse else 3.0), size=k)
    table = (table + 1e-9) / (table + 1e-9).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        exact = float(np.ptp(np.log(table), axis=0).max())

    def randomise(values, rng):
        return rng.choice(m, len(values), p=table[values[0]])

    found = audit_mechanism(
        randomise,
        range(k),
        epsilon=exact,
        samples=3000,
        confidence=1 - 1e-7,  # a false alarm in fewer than 1 of 100,000 runs of this test
        rng=rng,
        vectorised=True,
    )
    assert 0 <= found.lower <= exact
    assert len(found.pairs) == k * (k - 1)
    logs = np.log(table)
    for pair in found.pairs:
        own = float((logs[int(pair.high)] - logs[int(pair.low)]).max())
        assert pair.lower <= max(own, 0.0)


# Forms of reports.

FORMS = {
    "int": int,
    "text": lambda b: "yes" if b else "no",
    "float": lambda b: 0.5 if b else 1.5,
    "bool": bool,
    "none": lambda b: None if b else 1,
    "nan": lambda b: NAN if b else 1.0,
    "kinds": lambda b: 1 if b else True,
    "number or text": lambda b: 1 if b else "1",
    "tuple": lambda b: (b, "x"),
    "list": lambda b: [b, 0, 1],
    "lengths": lambda b: [0] * (1 + b),
    "array": lambda b: np.array([0.5, b]),
    "matrix": lambda b: np.full((2, 2), b),
    "shapes": lambda b: np.zeros(1 + b),
    "dict": lambda b: {"a": b, "c": "x"},
    "keys": lambda b: {"a": 0} if b else {"b": 0},
    "set": lambda b: {1, 2} if b else {1},
    "frozenset": lambda b: frozenset({1, 2} if b else {1}),
    "bytes": lambda b: b"1" if b else b"0",
    "numpy": np.int64,
    "large": lambda b: 10**30 + b,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_reports_does_not_matter(form):
    wrap = FORMS[form]
    plain = audit_mechanism(bit, [0, 1], samples=2000, rng=11)
    found = audit_mechanism(lambda v, rng: wrap(bit(v, rng)), [0, 1], samples=2000, rng=11)
    assert found.lower == plain.lower
    assert 0.5 < found.lower <= math.log(3)


@pytest.mark.parametrize(
    "form", ["array", "list", "series", "texts", "dates", "unsigned", "signs", "complex", "columns"]
)
def test_many_reports_at_once(form):
    def randomise(values, rng):
        made = response(2, math.log(3))(values, rng)
        return {
            "array": made,
            "list": made.tolist(),
            "series": pd.Series(made),
            "texts": np.where(made, "yes", "no"),
            "dates": made.astype("datetime64[D]"),
            "unsigned": made.astype(np.uint64) + np.uint64(2**63),
            "signs": made.astype(np.uint64) if values[0] else made,
            "complex": made * 1j,
            "columns": np.column_stack([made, made]),
        }[form]

    found = audit_mechanism(randomise, [0, 1], samples=5000, rng=12, vectorised=True)
    assert 0.8 < found.lower <= math.log(3)


def test_large_unsigned_and_signed_numbers_are_not_mixed_up():
    # As floating-point numbers 2^63 and 2^63 + 1 are the same.
    def randomise(values, rng):
        made = response(2, math.log(3))(values, rng)
        return made.astype(np.uint64) + np.uint64(2**63) if values[0] else made

    found = audit_mechanism(randomise, [0, 1], samples=1000, rng=12, vectorised=True)
    assert found.lower > math.log(3)


def test_many_values_and_rare_ones():
    # The salt says nothing; half of it is new in every report.
    def randomise(value, rng):
        return (f"salt {int(rng.integers(10**6))}", int(rng.integers(10**9)), bit(value, rng))

    found = audit_mechanism(randomise, [0, 1], samples=4000, rng=13)
    assert 0.7 < found.lower <= math.log(3)
    assert "component 2" in found.best.event


def test_inputs_may_be_anything():
    seen = []

    def randomise(values):
        seen.append(values)
        return [0] * len(values)

    for inputs in ([{"a": 1}, {"a": 2}], ["x", None], [(0, 1), (1, 0)], [1, True]):
        audit_mechanism(randomise, inputs, samples=100, vectorised=True)
    assert all(len(values) in {35, 65, 100} for values in seen)
    rows = [np.array([0, 1]), np.array([1, 1])]
    audit_mechanism(lambda table: table.sum(axis=1) * 0, rows, samples=100, vectorised=True)


def test_features_of_reports():
    # A report (mask, bit xor mask): only its parity tells.
    def randomise(values, rng):
        mask = rng.integers(0, 2**40, len(values))
        return np.column_stack([mask, (mask & 1) ^ response(2, 2.0)(values, rng)])

    def parity(reports):
        return (reports[:, 0] & 1) ^ reports[:, 1]

    found = audit_mechanism(
        randomise, [0, 1], samples=20_000, rng=14, vectorised=True, features=parity
    )
    assert 1.8 < found.lower <= 2.0


# Results.


def test_result():
    found = audit_mechanism(
        response(3, 1.0), range(3), epsilon=0.2, samples=5000, rng=15, vectorised=True, about="test"
    )
    assert found.standing is Standing.LOWER
    assert float(found.finding) == found.lower == max(found.columns()["lower"])
    assert found.finding.assumptions == found.assumptions
    content = json.loads(found.to_json())
    assert content["lower"] == found.lower
    assert content["exceeds"] is True
    assert content["pairs"][0]["trials"] == 3250
    frame = found.to_frame()
    assert frame.shape == (6, 10)
    assert {(row["high"], row["low"]) for row in frame.to_dicts()} == {
        (a, b) for a in "012" for b in "012" if a != b
    }
    for pair in found.pairs:
        lower = binomial_limits(pair.hits_high, pair.trials, 1e-3 / 12)[0]
        upper = binomial_limits(pair.hits_low, pair.trials, 1e-3 / 12)[1]
        assert pair.lower == pytest.approx(max(0.0, math.log(lower / upper)), abs=1e-12)
    assert (
        json.loads(audit_mechanism(bit, [0, 1], epsilon=INF, rng=1, samples=200).to_json())[
            "claimed"
        ]
        == "inf"
    )


def test_the_same_seed_gives_the_same_audit():
    first, second = (audit_mechanism(bit, [0, 1], samples=500, rng=16) for _ in range(2))
    assert first == second


def test_pairs_and_names():
    found = audit_mechanism(
        response(4, 1.0),
        range(4),
        samples=500,
        rng=17,
        vectorised=True,
        pairs=[(3, 0), (0, 3), (1, 0)],
        names=["a", "b", "c", "d"],
    )
    compared = [(pair.high, pair.low) for pair in found.pairs]
    assert sorted(compared) == [("a", "b"), ("a", "d"), ("b", "a"), ("d", "a")]


def test_events_in_words():
    def randomise(values, rng):
        made = response(2, 2.0)(values, rng)
        return np.column_stack([rng.normal(size=len(values)) * 0, made])

    options = {"samples": 2000, "rng": 1, "vectorised": True}
    assert audit_mechanism(randomise, [0, 1], **options).pairs[0].event == (
        "component 1 of the report is 0.0"
    )
    told = audit_mechanism(
        randomise, [0, 1], components=[str, lambda bit: f"the bit is {bit:.0f}"], **options
    )
    assert told.pairs[0].event == "the bit is 0"


def test_intervals_in_words():
    symbols = Symbols.of(np.arange(1000.0))
    assert symbols.size == 251
    assert symbols.describe([0, 1, 2], 4) == f"in (−∞, {symbols.values[2]:.6g})"
    last = symbols.values[-1]
    assert symbols.describe([4, 5, 249], 4).endswith(f" or in [{last:.6g}, ∞)")
    assert symbols.describe([0, 2, 4, 6, 250], 2).endswith(" and 3 more")
    assert symbols.describe([249, 250], 4) == f"in [{last:.6g}, ∞) or NaN or no number"
    values = np.array([-INF, -1.0, 0.0, 3.9, 500.0, 2000.0, INF, NAN])
    codes = symbols.encode(values)
    edges = [-INF, *symbols.values, INF]
    for value, code in zip(values[:-1], codes, strict=False):
        assert edges[code] <= value < edges[code + 1] or value == INF
    assert codes[-1] == symbols.other
    assert (symbols.encode(np.array(["1", "x"])) == symbols.other).all()


def test_limits_are_never_rounded_up_in_words():
    found = audit_mechanism(response(2, 1.0), [0, 1], samples=3000, rng=18, vectorised=True)
    shown = float(found.verdict.split("At least ")[1].split()[0])
    assert shown <= found.lower < shown + 0.001


# Limits and hostile input.


@pytest.mark.parametrize("constant", [0, "a", None, NAN, [], (), {}, [1, 2], np.zeros((0,))])
def test_a_constant_tells_nothing(constant):
    found = audit_mechanism(lambda value: constant, ["a", "b"], epsilon=0.0, samples=200)
    assert found.lower == 0
    assert found.faultless
    assert "not refuted" in found.verdict
    many = audit_mechanism(lambda v: [constant] * len(v), ["a", "b"], samples=200, vectorised=True)
    assert many.lower == 0


def test_few_samples_give_a_small_limit_or_none():
    found = audit_mechanism(bit, [0, 1], samples=100, rng=19)
    assert 0 <= found.lower <= math.log(3)
    assert audit_mechanism(bit, [0, 1], samples=100, rng=19, confidence=1 - 1e-15).lower == 0


class Unhashable:
    __hash__ = None


class Strange:
    """An object that cannot be shown, and is never equal to anything."""

    def __repr__(self):
        raise ValueError

    def __eq__(self, other):
        return False

    def __hash__(self):
        return 1


class Undecided:
    def __eq__(self, other):
        return np.zeros(2)

    def __hash__(self):
        return 1


def test_strange_objects():
    first, second = Strange(), Strange()
    found = audit_mechanism(lambda value: value, [first, second], samples=100)
    assert found.lower == 0  # nothing tells one from the other
    assert found.best.high == "<Strange>"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda v: v[:-1], "35 reports, one for each input, got 34"),
        (lambda v: "a" * len(v), "got str"),
        (lambda v: None, "got NoneType"),
        (lambda v: 3, "got int"),
        (lambda v: np.int64(3), "got int64"),
        (lambda v: np.array(3.0), "got ndarray"),
        (lambda v: dict.fromkeys(range(len(v)), 0), "got dict"),
        (iter, "got iterator"),
        (lambda v: np.ma.masked_array(v, v == 0), "without a mask"),
        (lambda v: pd.DataFrame({"a": v, "b": v}), "got DataFrame"),
        (lambda v: [Unhashable() for _ in v], "hashable"),
        (lambda v: [[Unhashable()] for _ in v], "hashable"),
        (lambda v: [Undecided() for _ in v], "hashable"),
    ],
)
def test_reports_of_the_wrong_form(returned, message):
    with pytest.raises(InvalidInputError, match=message):
        audit_mechanism(returned, [0, 1], samples=100, vectorised=True)


def test_errors_of_a_randomiser_are_told():
    def fails(value):
        msg = "no such category"
        raise KeyError(msg)

    with pytest.raises(InvalidInputError, match="input 'a', got KeyError: 'no such") as caught:
        audit_mechanism(fails, ["a", "b"])
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(InvalidInputError, match="TypeError"):
        audit_mechanism(lambda: 0, ["a", "b"])
    with pytest.raises(InvalidInputError, match="features of the reports, got ZeroDivisionError"):
        audit_mechanism(bit, [0, 1], rng=1, samples=100, features=lambda reports: 1 / 0)
    with pytest.raises(InvalidInputError, match="got ndarray"):
        audit_mechanism(bit, [0, 1], rng=1, samples=100, features=lambda reports: 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"randomiser": 3}, "can be called"),
        ({"inputs": []}, "at least 2 inputs, got 0"),
        ({"inputs": [0]}, "at least 2 inputs, got 1"),
        ({"inputs": [0, 1, 0]}, "different inputs, got 0 twice"),
        ({"inputs": [NAN, NAN]}, "twice"),
        ({"inputs": "ab"}, "list of inputs"),
        ({"inputs": {0: 1}}, "list of inputs"),
        ({"inputs": None}, "list of inputs"),
        ({"inputs": 2}, "list of inputs"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": NAN}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": [1.0]}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"delta": NAN}, "delta"),
        ({"delta": None}, "delta"),
        ({"confidence": 0}, "confidence"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": NAN}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"samples": 99}, "at least 100 samples"),
        ({"samples": 0}, "samples"),
        ({"samples": 1e3}, "samples"),
        ({"samples": True}, "samples"),
        ({"rng": True}, "rng"),
        ({"rng": -1}, "rng"),
        ({"rng": "1"}, "rng"),
        ({"rng": np.random.RandomState(1)}, "rng"),
        ({"vectorised": 1}, "vectorised"),
        ({"vectorised": None}, "vectorised"),
        ({"features": 1}, "features"),
        ({"pairs": []}, "at least one pair"),
        ({"pairs": [(0, 0)]}, "different positions"),
        ({"pairs": [(0, 2)]}, "positions from 0 to 1"),
        ({"pairs": [(0, True)]}, "positions"),
        ({"pairs": [(0, 1, 1)]}, "positions"),
        ({"pairs": ["01"]}, "positions"),
        ({"pairs": 3}, "pairs"),
        ({"pairs": "01"}, "pairs"),
        ({"names": ["a"]}, "a name for each of 2"),
        ({"names": [1, 2]}, "a name for each"),
        ({"names": "ab"}, "a name for each"),
        ({"components": []}, "for each component"),
        ({"components": ["a"]}, "for each component"),
        ({"components": "a"}, "for each component"),
        ({"hostile": None}, "hostile"),
        ({"hostile": [0]}, "outside the inputs, got 0"),
        ({"hostile": [None, None]}, "different hostile"),
    ],
)
def test_hostile_arguments(change, message):
    arguments = {"randomiser": bit, "inputs": [0, 1], "samples": 100, "rng": 1} | change
    randomiser, inputs = arguments.pop("randomiser"), arguments.pop("inputs")
    with pytest.raises(InvalidInputError, match=message):
        audit_mechanism(randomiser, inputs, **arguments)
