"""Values outside the domain: refused, treated like a category, or passed on."""

from __future__ import annotations

import itertools
import math
from collections import deque

import numpy as np
import pytest

from seepage import InvalidInputError
from seepage.attack._parts import MAX_DEPTH, key, shown
from seepage.attack.auditing import audit_mechanism
from seepage.attack.probing import HOSTILE, _chance, probe_inputs

CATEGORIES = ("a", "b", "c")
NAN = float("nan")
UNKNOWN = ["d", None, NAN, "1", 1, True]


def respond(value, rng):
    stay = (math.e - 1) / (math.e + 2)  # λ of ε = 1
    return value if rng.random() < stay else CATEGORIES[int(rng.integers(3))]


def strict(value, rng):
    if value not in CATEGORIES:
        msg = f"expected one of {CATEGORIES}, got {value!r}"
        raise ValueError(msg)
    return respond(value, rng)


def passing(value, rng):
    return respond(value, rng) if value in CATEGORIES else value


def falling_back(value, rng):
    return respond(value if value in CATEGORIES else "a", rng)


def outcomes(randomiser, hostile=UNKNOWN, inputs=CATEGORIES, **options):
    return [p.outcome for p in probe_inputs(randomiser, hostile, inputs=inputs, rng=1, **options)]


def test_the_three_outcomes():
    assert outcomes(strict) == ["refused"] * 6
    assert outcomes(passing) == ["passed"] * 6
    assert outcomes(respond) == ["passed"] * 6  # with the probability of a category
    assert outcomes(falling_back) == ["accepted"] * 6


def test_details_say_what_came_out():
    refused, *_ = probe_inputs(strict, ["d"], inputs=CATEGORIES, rng=1)
    assert refused.refusals == 1
    assert refused.detail.startswith("ValueError: expected one of")
    passed = probe_inputs(passing, UNKNOWN, inputs=CATEGORIES, rng=1)
    assert [p.value for p in passed] == ["'d'", "None", "nan", "'1'", "1", "True"]
    assert all(p.detail == "the value itself, in 100% of reports" for p in passed)
    assert all(p.refusals == 0 for p in passed)


def test_audit_finds_values_passed_on():
    found = audit_mechanism(passing, CATEGORIES, epsilon=1.0, samples=3000, rng=2, hostile=UNKNOWN)
    assert not found.faultless
    assert [probe.value for probe in found.passed_on] == ["'d'", "None", "nan", "'1'", "1", "True"]
    assert "6 of 6 values outside the domain came out un-randomised: 'd', None" in found.verdict
    # They are inputs like others for an attacker: the claim does not cover them.
    assert found.exceeds
    assert "'d'" in {found.best.high, found.best.low} or "None" in {
        found.best.high,
        found.best.low,
    }


def test_audit_of_a_strict_randomiser_is_clean():
    found = audit_mechanism(strict, CATEGORIES, epsilon=1.0, samples=3000, rng=2, hostile=HOSTILE)
    assert found.faultless
    assert len(found.probes) == len(HOSTILE)
    assert {p.outcome for p in found.probes} == {"refused"}
    assert len(found.pairs) == 6
    falls_back = audit_mechanism(
        falling_back, CATEGORIES, epsilon=1.0, samples=3000, rng=2, hostile=["d"]
    )
    assert falls_back.faultless
    assert len(falls_back.pairs) == 12


def test_a_constant_for_unknown_values_is_found_in_the_game():
    def constant(value, rng):
        return respond(value, rng) if value in CATEGORIES else "a"

    found = audit_mechanism(constant, CATEGORIES, epsilon=1.0, samples=5000, rng=3, hostile=["d"])
    assert not found.passed_on  # its reports are those of the domain
    assert found.exceeds
    assert found.best.low == "'d'"


def test_direct_encoding_that_releases_a_number_beside_the_value():
    # A fault seen in the wild: 500 of 4 categories comes out as 499 about half of the time.
    def direct(value, rng):
        if rng.random() < math.e / (math.e + 3):
            return value - 1
        return int(rng.integers(4))

    (probe,) = probe_inputs(direct, [500], inputs=[1, 2, 3, 4], rng=4)
    assert probe.outcome == "passed"
    assert probe.detail.startswith("499, seen on no input, in 4")


def test_one_and_true_are_different_values():
    def respond_to_number(value, rng):
        return value if rng.random() < 0.7 else int(rng.integers(2))

    assert outcomes(respond_to_number, [True, 1.0, "1"], [0, 1]) == ["passed"] * 3
    # Made a category before it is randomised, True is 1 and no more.
    assert (
        outcomes(lambda v, rng: respond_to_number(int(v), rng), [True, 1.0], [0, 1])
        == ["accepted"] * 2
    )


def test_many_at_once():
    def numbers(values, rng):
        stay = rng.random(len(values)) < 0.7
        return np.where(stay, values, rng.integers(0, 2, len(values)))

    found = probe_inputs(numbers, [NAN, 7, "x", None], inputs=[0, 1], rng=5, vectorised=True)
    assert [p.outcome for p in found] == ["passed"] * 4

    def checked(values, rng):
        if not isinstance(values, np.ndarray) or not np.isin(values, [0, 1]).all():
            msg = "not a category"
            raise TypeError(msg)
        return numbers(values.astype(int), rng)

    found = probe_inputs(checked, [NAN, 7, "x", None, True], inputs=[0, 1], rng=5, vectorised=True)
    assert [p.outcome for p in found] == ["refused"] * 4 + ["accepted"]


def test_vectors_and_other_shapes():
    def unary(value, rng):
        bits = [int(value == c) for c in CATEGORIES]
        return [b if rng.random() < 0.7 else 1 - b for b in bits]

    assert outcomes(unary) == ["accepted"] * 6  # no bit is set, and the reports are possible ones
    assert outcomes(lambda v, rng: unary(v, rng) if v in CATEGORIES else v) == ["passed"] * 6
    assert outcomes(lambda v, rng: unary(v, rng) + [9] * (v not in CATEGORIES)) == ["passed"] * 6
    # Reports of several shapes on inputs: whole reports are compared.
    assert (
        outcomes(lambda v, rng: [0] * (1 + (v == "a")) if v in CATEGORIES else [v])
        == ["passed"] * 6
    )


def test_some_calls_fail():
    def moody(value, rng):
        if value == "d" and rng.random() < 0.5:
            raise ValueError
        return respond("a", rng)

    (probe,) = probe_inputs(moody, ["d"], inputs=CATEGORIES, rng=6)
    assert probe.outcome == "accepted"
    assert 0.4 < probe.refusals < 0.6
    # It is no input of the game, which needs a report for every call.
    found = audit_mechanism(moody, CATEGORIES, samples=200, rng=6, hostile=["d"])
    assert len(found.pairs) == 6


def test_no_false_alarm():
    # 60 values with the reports of the domain, each wrong with a chance below 1e-6 per symbol.
    def wide(value, rng):
        return int(rng.integers(1000)), float(rng.normal())

    found = probe_inputs(wide, range(1, 61), inputs=[0], repeats=200, rng=7)
    assert {p.outcome for p in found} == {"accepted"}


def test_lengths_give_values_away():
    """Random contents never repeat, and say nothing; how long they are does."""

    def sealed(value, rng):
        return rng.bytes(len(str(value)))

    inputs = ["ab", "abcd"]
    found = probe_inputs(sealed, ["abc", "abcdefg", "x", "cd"], inputs=inputs, rng=8)
    assert [p.outcome for p in found] == ["passed", "passed", "passed", "accepted"]
    assert found[0].detail == "length 3, seen on no input, in 100% of reports"
    assert found[1].detail == "length 7, seen on no input, in 100% of reports"
    # All inputs give one length.
    found = probe_inputs(sealed, ["abc", "a", "cd"], inputs=["ab"], rng=8)
    assert [p.outcome for p in found] == ["passed", "passed", "accepted"]
    assert found[0].detail == "lengths above 2, seen on no input, in 100% of reports"
    assert found[1].detail == "lengths below 2, seen on no input, in 100% of reports"


def test_lengths_among_many():
    def padded(value, rng):
        return "x" * int(rng.integers(1, 900) + (2000 if value == "far" else 0)) + str(rng.random())

    far, near = probe_inputs(padded, ["far", "near"], inputs=["a"], repeats=2000, rng=9)
    assert far.outcome == "passed"
    assert far.detail.startswith("lengths above ")
    assert near.outcome == "accepted"


def test_numbers_beyond_all_others():
    def noisy(values, rng):
        return np.asarray(values, dtype=float) + rng.laplace(size=len(values))

    found = probe_inputs(noisy, [10**6, -(10**6), 2.5, NAN], inputs=[0, 5], rng=10, vectorised=True)
    assert [p.outcome for p in found] == ["passed", "passed", "accepted", "passed"]
    assert found[0].detail.startswith("numbers above ")
    assert found[1].detail.startswith("numbers below ")


def test_lengths_inside_of_reports():
    def pair(value, rng):
        return (int(rng.integers(2)), rng.bytes(4 + len(value)))

    found = probe_inputs(pair, ["longer", "b"], inputs=["a", "c"], rng=11)
    assert [p.outcome for p in found] == ["passed", "accepted"]


def test_many_inputs_make_no_false_alarm():
    """One input in a hundred has a rare report; a value like it is no stranger."""

    def rare(values, rng):
        kinds = np.asarray(values)
        return np.where((kinds >= 99) & (rng.random(len(kinds)) < 0.006), 1, 0)

    alarms = 0
    for seed in range(300):
        found = probe_inputs(rare, [100], inputs=range(100), repeats=100, rng=seed, vectorised=True)
        alarms += found[0].outcome == "passed"
    assert alarms == 0  # each with a chance of at most 1e-6


def test_the_chance_of_a_false_alarm_by_enumeration():
    n, others, often = 4, 5, 3
    hits = [
        sum(each < n for each in chosen) == often
        for chosen in itertools.combinations(range(n + others), often)
    ]
    assert _chance(often, n, others) == pytest.approx(sum(hits) / len(hits), rel=1e-12)
    assert _chance(0, n, others) == pytest.approx(1)
    assert _chance(20, 20, 20) == pytest.approx(1 / math.comb(40, 20))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hostile": "abc"}, "list of hostile values"),
        ({"hostile": 3}, "list of hostile values"),
        ({"hostile": ["a"]}, "outside the inputs"),
        ({"hostile": [None, None]}, "different hostile values"),
        ({"inputs": []}, "at least 1 inputs"),
        ({"repeats": 19}, "repeats of at least 20"),
        ({"repeats": 20.0}, "repeats"),
        ({"rng": True}, "rng"),
    ],
)
def test_hostile_arguments(change, message):
    arguments = {"hostile": ["d"], "inputs": CATEGORIES, "rng": 1} | change
    hostile = arguments.pop("hostile")
    with pytest.raises(InvalidInputError, match=message):
        probe_inputs(respond, hostile, **arguments)


def test_no_hostile_values_no_probes():
    assert probe_inputs(respond, [], inputs=CATEGORIES, rng=1) == ()
    with pytest.raises(InvalidInputError, match="input 'd'"):
        probe_inputs(strict, ["e"], inputs=["a", "d"], rng=1)


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ("", "''"),
        (["a", 1], "['a', 1]"),
        ((1,), "(1,)"),
        ((), "()"),
        (deque(["x"]), "['x']"),
        ({"t": [b"x"], "s": None}, "{'s': None, 't': [b'x']}"),
        ({"b", "a"}, "{'a', 'b'}"),
        ([NAN], "[nan]"),
        (bytearray(b"y"), "b'y'"),
        (np.array([["p", "q"]], dtype=object), "array(['p', 'q'])"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
    ],
)
def test_reports_are_shown_as_they_were_written(report, text):
    assert shown(key(report)) == text


@pytest.mark.parametrize(
    "report", ["", [""], [[], ["x"]], {"t": ""}, deque([3]), bytearray(b"long"), {"set"}]
)
def test_details_are_words_not_keys(report):
    def odd(value, rng):
        tokens = ["t", ["t"], ["t", "u"]]
        return tokens[int(rng.integers(3))] if value in CATEGORIES else report

    found = audit_mechanism(odd, CATEGORIES, hostile=["d"], samples=300, rng=1)
    (probe,) = found.probes
    assert probe.outcome == "passed"
    assert not probe.itself
    assert "seen on no input, in 100% of reports" in probe.detail
    for name in ("('str'", "('list'", "ndarray", "frozenset", "('dict'"):
        assert name not in probe.detail
    assert "1 of 1 values outside the domain could be recognised in their reports: 'd'." in (
        found.verdict
    )
    assert "un-randomised" not in found.verdict


def test_only_lengths_tell():
    """Encrypted values come out randomised, and give their length away."""

    def encrypted(value, rng):
        return rng.bytes(len(str(value))).hex()

    found = audit_mechanism(encrypted, ["apple", "grape"], hostile=["fig"], samples=300, rng=1)
    assert found.probes[0].detail == "lengths below 10, seen on no input, in 100% of reports"
    assert "could be recognised in their reports: 'fig'." in found.verdict
    both = audit_mechanism(
        lambda v, rng: v if v == 7 else respond(v, rng) if v in CATEGORIES else "other",
        CATEGORIES, hostile=[7, "d"], samples=300, rng=1,
    )  # fmt: skip
    assert "1 of 2 values outside the domain came out un-randomised: 7." in both.verdict
    assert "1 of 2 values outside the domain could be recognised in their reports: 'd'." in (
        both.verdict
    )


def nested(depth):
    made = "x"
    for _ in range(depth):
        made = [made]
    return made


def holding_itself(kind=list):
    made = kind()
    made.append(made)
    return made


Short = type("Short", (str,), {"__len__": lambda _self: -5})


class Broken(list):
    def __iter__(self):
        raise RuntimeError

    def __len__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "make",
    [
        holding_itself,
        lambda: holding_itself(deque),
        lambda: {"a": holding_itself()},
        lambda: np.array([holding_itself(), None], dtype=object),
        lambda: nested(MAX_DEPTH + 2),
        lambda: Short("abc"),
        lambda: [Short("abc"), 1],
        lambda: Broken([1]),
        lambda: [Broken([1])],
    ],
)
def test_reports_that_cannot_be_looked_at(make):
    for randomiser in (
        lambda _v, _rng=None, **_: make(),
        lambda v, **_: make() if v else "plain",
    ):
        with pytest.raises(InvalidInputError, match=r"^expected reports"):
            audit_mechanism(randomiser, [0, 1], samples=100, rng=1)


def test_nested_reports_are_fine_up_to_a_depth():
    assert shown(key(nested(MAX_DEPTH - 1))).startswith("[[[")
    found = audit_mechanism(lambda _v, rng: nested(20), [0, 1], samples=100, rng=1)
    assert found.faultless
    for kind in (bytearray, deque):
        found = audit_mechanism(
            lambda v, rng, kind=kind: kind([v, int(rng.integers(2))]), [0, 1], samples=200, rng=1
        )
        assert found.lower > 2
    assert key(bytearray(b"x")) != key(b"x")
