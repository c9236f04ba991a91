"""Faults beside the values of reports: lengths, layouts, and randomness that repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seepage.attack import auditing
from seepage.attack._observations import Codebook
from seepage.attack._parts import split
from seepage.attack.auditing import audit_mechanism
from seepage.attack.probing import probe_inputs

LONGER = {
    "text": lambda v, rng: rng.bytes(8 + 2 * v).hex(),
    "bytes": lambda v, rng: rng.bytes(8 + v),
    "list": lambda v, rng: rng.random(3 + v).tolist(),
    "array": lambda v, rng: rng.random(3 + v),
    "set": lambda v, rng: frozenset(rng.random(3 + v).tolist()),
    "in a record": lambda v, rng: {"id": rng.random(), "noise": rng.random(3 + v)},
    "in a tuple": lambda v, rng: ("x", rng.bytes(3 + v)),
    "in a list": lambda v, rng: [rng.random(2).tolist(), rng.random(3 + v).tolist()],
    "keys": lambda v, rng: {"b": 1} if v else {"a": 1},
    "kinds": lambda v, rng: [1, 2] if v else (1, 2),
}


@pytest.mark.parametrize("form", LONGER)
def test_lengths_and_layouts_give_inputs_away(form):
    found = audit_mechanism(LONGER[form], [0, 1], epsilon=1.0, samples=1000, rng=2)
    assert found.exceeds
    assert found.lower > 4


def test_a_length_that_is_randomised_is_measured():
    """Random contents, and a length by randomised response with ε = ln 3."""

    def randomise(value, rng):
        return rng.bytes(2 + (value if rng.random() < 0.75 else 1 - value)).hex()

    found = audit_mechanism(randomise, [0, 1], epsilon=0.5, samples=8000, rng=3)
    assert 0.9 < found.lower <= math.log(3)
    assert "length of the report is" in found.best.event
    assert not found.repeating


def test_arrays_of_texts_have_lengths():
    def randomise(values, rng):
        texts = [[rng.bytes(4).hex(), rng.bytes(4 + int(v)).hex()] for v in values]
        return np.array(texts)

    found = audit_mechanism(randomise, [0, 1], samples=1000, rng=4, vectorised=True)
    assert found.lower > 4
    assert "length of component 1 of the report" in found.best.event


def test_long_lengths_are_in_order():
    """Hundreds of lengths, and every one shifts: a threshold shows what no single one does."""

    def randomise(value, rng):
        return "x" * int(rng.integers(0, 1000) + 500 * value) + str(rng.random())

    found = audit_mechanism(randomise, [0, 1], samples=4000, rng=5)
    assert found.lower > 3


def test_lengths_that_do_not_vary_are_no_component():
    sample = split(["ab", "cd", "ef"], 3)
    assert sample.lengths[0].tolist() == [2, 2, 2]
    book = Codebook.of([sample], [["ab", "cd", "ef"]])
    assert (len(book.columns), book.contents) == (1, 1)
    mixed = split([None, "abc", 5], 3)
    assert mixed.lengths[0].tolist() == [-1, 3, -1]
    book = Codebook.of([mixed, split([1, 2, 3], 3)], [[None, "abc", 5], [1, 2, 3]])
    assert (len(book.columns), book.contents) == (2, 1)
    assert book.name(1) == "0 (length)"
    assert book.encode([7, 8], 2).shape == (2, 2)


def test_the_order_of_keys_is_no_part_of_a_mapping():
    def randomise(value, rng):
        a, b = int(rng.integers(2)), int(rng.integers(2, 4))
        return {"a": a, "b": b} if value else {"b": b, "a": a}

    found = audit_mechanism(randomise, [0, 1], epsilon=0.0, samples=1000, rng=6)
    assert found.faultless
    assert found.lower == 0
    (probe,) = probe_inputs(randomise, [5], inputs=[0], rng=6)
    assert probe.outcome == "accepted"


def response(values, rng):
    return np.where(rng.random(values.size) < 0.39, values, rng.integers(0, 5, values.size))


def test_a_fixed_seed_is_no_randomness():
    found = audit_mechanism(
        lambda values: response(values, np.random.default_rng(42)),
        range(5),
        epsilon=1.6,
        samples=4000,
        vectorised=True,
    )
    assert not found.exceeds
    assert not found.faultless
    assert found.repeating == ("0", "1", "2", "3", "4")
    assert "The randomiser repeats its randomness" in found.verdict
    assert "on 0, 1, 2, 3 and 1 more, so" in found.verdict
    assert found.to_dict()["repeating"] == ["0", "1", "2", "3", "4"]
    page = found.to_html()
    assert 'id="repeats-title"' in page


def test_a_generator_that_is_not_used():
    def randomise(values, rng):
        return response(values, np.random.default_rng(1))

    found = audit_mechanism(randomise, [0, 1], samples=1000, rng=1, vectorised=True)
    assert found.repeating == ("0", "1")


@pytest.mark.parametrize("rng", [None, 7])
def test_randomness_and_constants_do_not_repeat(rng):
    own = np.random.default_rng(7)

    def randomise(values, rng=own):
        return response(values, rng) if values[0] else values

    found = audit_mechanism(randomise, [0, 1, 2], samples=1000, rng=rng, vectorised=True)
    assert found.repeating == ()
    assert "repeats" not in found.verdict
    assert "repeats-title" not in found.to_html()


def test_rare_reports_are_the_same_by_chance_only():
    """One rare report in the same place twice has probability 1/n, so it shows nothing."""

    def once(values):
        return np.arange(values.size) == 17

    found = audit_mechanism(once, [0, 1], samples=2000, vectorised=True)
    assert found.repeating == ()

    def often(values):
        return np.arange(values.size) % 100 == 17  # 20 of 2,000: C(2000, 20) orders

    assert auditing.BY_CHANCE * math.comb(2000, 20) > 1
    assert audit_mechanism(often, [0, 1], samples=2000, vectorised=True).repeating == ("0", "1")
