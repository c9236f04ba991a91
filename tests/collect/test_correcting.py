"""Which of two values to take: bounds of the bias, and a rule that is good on average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.collect.correcting import CANNOT_TELL, SURE, Comparison, recommend

COUNT, RUNS, SIZE = 45, 24, 1000


def compared(theta, error, kept, rng, possible=(-math.inf, math.inf)):
    """Pairs under randomised response: the uncorrected value is the corrected one times kept."""
    values = theta + error * rng.normal(size=len(theta))
    return [
        Comparison(v, error, kept * v, kept * error, (1 - kept) * error, possible, SIZE)
        for v in values.tolist()
    ]


def errors_of(theta, error, kept, possible=(-math.inf, math.inf)):
    """Mean squared errors of always, never and the rule, over runs of one collection."""
    rng = np.random.default_rng(7)
    always, never, rule = [], [], []
    for _ in range(RUNS):
        items = compared(theta, error, kept, rng, possible)
        told = recommend(items)
        both = np.array([[item.corrected, item.uncorrected] for item in items])
        chosen = np.where([value == "corrected" for value in told], both[:, 0], both[:, 1])
        always.append(np.mean((both[:, 0] - theta) ** 2))
        never.append(np.mean((both[:, 1] - theta) ** 2))
        rule.append(np.mean((chosen - theta) ** 2))
    return np.mean(always), np.mean(never), np.mean(rule)


SETTINGS = [
    (shape, scale, kept)
    for shape in ("equal", "normal", "few")
    for scale in (0.0, 0.7, 1.4, 2.0, 3.0, 6.0)
    for kept in (0.02, 0.3, 0.8)
]


def test_the_rule_against_the_better_of_always_and_never():
    """45 relationships, 54 settings: not worse on average, and in no setting by more than 15 %.

    The better of both is known in hindsight only. Where a few strong relationships stand among many
    weak ones the rule takes the better value of each, and gains. Root mean squared errors; fixed
    seed. With a free one the ratio of a setting varies by about 0.03.
    """
    ratios = []
    for shape, scale, kept in SETTINGS:
        rng = np.random.default_rng(3)
        theta = np.full(COUNT, scale)
        if shape == "normal":
            theta = scale * rng.normal(size=COUNT)
        elif shape == "few":
            theta = np.where(np.arange(COUNT) < 5, 3 * scale, 0.0)
        always, never, rule = errors_of(theta, 1.0, kept)
        ratios.append(math.sqrt(rule / min(always, never)))
    assert np.mean(ratios) <= 1.0
    assert max(ratios) <= 1.15


@pytest.mark.parametrize("kept", [0.02, 0.1])
def test_nothing_there(kept):
    """The defect that was found: errors of .750 always, .140 never, .674 by the old rule."""
    always, never, rule = errors_of(np.zeros(COUNT), 0.75, kept, (-1, 1))
    assert never <= rule <= 1.05 * never
    assert rule < 0.02 * always


def test_correlations_within_their_range():
    """As strong as correlations can be, with errors so large that correcting cannot pay."""
    theta = np.linspace(-1, 1, COUNT)
    rng = np.random.default_rng(1)
    items = compared(theta, 2.0, 0.1, rng, (-1, 1))
    assert {item.better for item in items} == {"uncorrected"}
    always, never, rule = errors_of(theta, 2.0, 0.1, (-1, 1))
    assert rule == never < always


def test_decided_and_not():
    far = Comparison(5.0, 1.0, 0.5, 0.1, 0.9, (-math.inf, math.inf), SIZE)
    near = Comparison(1.0, 1.0, 0.1, 0.1, 0.9, (-math.inf, math.inf), SIZE)
    assert far.better == "corrected"
    assert near.better == CANNOT_TELL
    assert recommend([near]) == ["uncorrected"]
    assert recommend([far, near]) == ["corrected", "uncorrected"]
    # Together with others that are strong, the same item is corrected.
    strong = [Comparison(3.0, 1.0, 0.3, 0.1, 0.9, (-math.inf, math.inf), SIZE)] * 10
    assert strong[0].better == CANNOT_TELL
    assert recommend([near, *strong]) == ["corrected"] * 11
    same = Comparison(0.3, 0.1, 0.3, 0.1, 0.0, (-1, 1), SIZE)
    assert same.better == "corrected"
    impossible = Comparison(-2.7, 0.9, -0.02, 0.02, 0.88, (-1, 1), SIZE)
    assert impossible.better == "uncorrected"
    barely = Comparison(1.02, 0.05, 0.3, 0.02, 0.04, (-1, 1), SIZE)
    assert barely.better == "corrected"
    assert recommend([]) == []


@given(
    value=st.floats(-50, 50), error=st.floats(1e-6, 50), kept=st.floats(0, 1),
    bound=st.sampled_from([1.0, 3.0, math.inf]),
)  # fmt: skip
def test_the_bias_is_within_its_limits(value, error, kept, bound):
    item = Comparison(
        value, error, kept * value, kept * error, (1 - kept) * error, (-bound, bound), SIZE
    )
    low, high = item.bias_limits
    assert 0 <= low <= high
    assert low**2 <= item.bias_squared <= high**2
    # No bias is larger than from one end of the range to the uncorrected value and its error.
    assert high <= bound + abs(kept * value) + SURE * kept * error + 1e-9
    assert item.better in {"corrected", "uncorrected", CANNOT_TELL}
    (told,) = recommend([item])
    if item.better != CANNOT_TELL:
        assert told == item.better


def test_scale_does_not_matter():
    rng = np.random.default_rng(2)
    items = compared(rng.normal(size=30), 0.7, 0.2, rng)
    for unit in (1e-6, 1e6):
        scaled = [
            Comparison(
                unit * x.corrected, unit * x.error, unit * x.uncorrected,
                unit * x.uncorrected_error, unit * x.spread, x.possible, x.size,
            )
            for x in items
        ]  # fmt: skip
        assert recommend(scaled) == recommend(items)
