"""The envelope against exact enumeration, and the search against sorting every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from seepage import InvalidInputError, TradeOff, _envelope, _hull, _search
from seepage._numeric import log_ratio
from seepage.tradeoff import worst_case

EPSILONS = [0.0, 1e-9, 0.1, 1.0, 10.0, 700.0, 1e4, float("inf")]
UNIT = 1 << 1074  # every float is a whole number of these


def subset_sums(row: np.ndarray) -> list[int]:
    sums = [0]
    for value in row.tolist():
        numerator, denominator = value.as_integer_ratio()
        cell = numerator * (UNIT // denominator)
        sums += [old + cell for old in sums]
    return sums


def pareto(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Points (null, alternative) that no other one beats in both."""
    kept: list[tuple[int, int]] = []
    for null, alternative in sorted(points, key=lambda p: (p[0], -p[1])):
        if not kept or alternative > kept[-1][1]:
            kept.append((null, alternative))
    return kept


def brute_force(P: np.ndarray, epsilons: list[float]) -> list[mpf]:
    """Largest leakage over all 2^b events and all ordered pairs, in exact sums and 60 digits."""
    sums = [subset_sums(row) for row in P]
    best = pareto(
        [
            point
            for x, G in enumerate(sums)
            for y, H in enumerate(sums)
            if x != y
            for point in pareto(list(zip(H, G, strict=True)))
        ]
    )
    with mp.workdps(60):
        return [max([mpf(0), *(leakage(a, p, e) for a, p in best if p > a)]) for e in epsilons]


def leakage(null: int, alternative: int, epsilon: float) -> mpf:
    alpha, gap = mpf(null) / UNIT, mpf(alternative - null) / UNIT
    if epsilon == np.inf:
        return mp.log1p(gap / alpha) if null else mp.inf
    t = mp.expm1(mpf(epsilon))
    return mp.log1p(t * gap / (1 + t * alpha))


def random_table(rng: np.random.Generator, kind: str) -> np.ndarray:
    a, b = int(rng.integers(2, 7)), int(rng.integers(1, 11))
    P = rng.dirichlet(np.full(b, rng.choice([0.2, 1.0, 5.0])), a)
    if kind == "zero cells":
        P = np.where(rng.random((a, b)) < 0.4, 0.0, P)
        P[np.arange(a), rng.integers(0, b, a)] += 0.1
    elif kind == "zero columns":
        P[:, : b // 2] = 0.0
        P[:, -1] += 0.1
    elif kind == "identical rows":
        P[1:] = P[rng.integers(0, 2, a - 1)]
    elif kind == "close rows":
        P = P[:1] * (1 + rng.uniform(-1, 1, (a, b)) * 10.0 ** -rng.uniform(2, 9))
    elif kind == "huge ratios":
        P = 10.0 ** rng.uniform(-300, 0, (a, b))
        P[np.arange(a), rng.integers(0, b, a)] = 1.0
    elif kind == "subnormal":
        P = np.where(rng.random((a, b)) < 0.5, 10.0 ** rng.uniform(-323, -290, (a, b)), P)
        P[np.arange(a), rng.integers(0, b, a)] = 1.0
    elif kind == "counts":
        P = rng.multinomial(int(rng.integers(1, 60)), np.full(b, 1 / b), a).astype(float)
    elif kind == "one row":
        P = P[:1]
    elif kind == "one column":
        P = np.ones((a, 1))
    return P / P.sum(axis=1, keepdims=True)


KINDS = [
    "dense",
    "zero cells",
    "zero columns",
    "identical rows",
    "close rows",
    "huge ratios",
    "subnormal",
    "counts",
    "one row",
    "one column",
]


def assert_close(found: np.ndarray, truth: np.ndarray, rtol: float, what: str) -> None:
    assert not np.isnan(found).any(), what
    infinite = np.isinf(truth)
    assert (np.isinf(found) == infinite).all(), (what, found, truth)
    found, truth = found[~infinite], truth[~infinite]
    assert (np.abs(found - truth) <= rtol * truth).all(), (what, found, truth)


@pytest.mark.parametrize("kind", KINDS)
def test_leakage_equals_enumeration_of_all_events(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for trial in range(12):
        P = random_table(rng, kind)
        truth = np.array([float(value) for value in brute_force(P, EPSILONS)])
        what = f"{kind}, table {trial}"
        assert_close(TradeOff.envelope(P).leakage(EPSILONS), truth, 1e-12, what)
        single = np.array([worst_case(P, epsilon)[0] for epsilon in EPSILONS])
        assert_close(single, truth, 1e-12, what)


@given(
    st.integers(1, 4).flatmap(
        lambda b: st.lists(
            st.lists(st.integers(0, 6), min_size=b, max_size=b).filter(any), min_size=1, max_size=4
        )
    ),
    st.one_of(st.sampled_from(EPSILONS), st.floats(0, 800)),
)
@settings(max_examples=150)
def test_leakage_equals_enumeration_on_small_counts(table, epsilon):
    P = np.array(table, dtype=float)
    P /= P.sum(axis=1, keepdims=True)
    truth = np.array([float(brute_force(P, [epsilon])[0])])
    found = TradeOff.envelope(P).leakage([epsilon])
    # Equal fractions such as 2/6 and 1/3 are equal floats, so no table is close to another here.
    assert_close(found, truth, 1e-12, str(table))


# ------------------------------------------------------- search and corners against sorting


def large_table(rng: np.random.Generator, kind: str) -> np.ndarray:
    a, b = int(rng.integers(2, 30)), int(rng.integers(2, 40))
    P = rng.dirichlet(np.full(b, {"sparse": 0.05}.get(kind, 1.0)), a)
    if kind == "counts":
        P = rng.multinomial(int(rng.integers(20, 500)), np.full(b, 1 / b), a).astype(float)
    elif kind == "duplicated rows":
        P = P[rng.integers(0, max(1, a // 3), a)]
    elif kind == "near-deterministic":
        P = P * 1e-6 + np.eye(max(a, b))[:a, :b] + 1e-9
    elif kind == "ratios to 1e12":
        P = 10.0 ** rng.uniform(-12, 0, (a, b))
    elif kind == "close rows":
        P = P[:1] * (1 + 10.0 ** -rng.integers(2, 10) * rng.uniform(-1, 1, (a, b)))
    elif kind == "circulant":  # very many ties
        P = np.array([np.roll(P[0], i) for i in range(b)])
    return P / P.sum(axis=1, keepdims=True)


LARGE_KINDS = [
    "dense",
    "sparse",
    "counts",
    "duplicated rows",
    "near-deterministic",
    "ratios to 1e12",
    "close rows",
    "circulant",
]
MANY = np.concatenate(
    ([0.0, 1e-300, 1e-9], np.geomspace(0.01, 60, 25), [600, 700, 750, 1e4, np.inf])
)


def every_pair(P: np.ndarray) -> _hull.Hull:
    xs, ys = np.nonzero(~np.eye(len(P), dtype=bool))
    return _hull.hull_of_pairs(P, xs, ys)


def check_against_sorting(P: np.ndarray) -> None:
    oracle = every_pair(P)
    truth = log_ratio(oracle.alpha, oracle.gap, MANY[:, np.newaxis]).max(axis=1)
    curve = TradeOff.envelope(P)
    assert_close(curve.leakage(MANY), truth, 3e-14, "envelope")
    assert curve.slack == 0
    for epsilon, expected in zip(MANY, truth, strict=True):
        value, pair, event = worst_case(P, float(epsilon))
        assert_close(np.array([value]), np.array([expected]), 3e-14, f"one epsilon {epsilon}")
        assert_witness(P, float(epsilon), value, pair, event)
    grid = np.concatenate((np.linspace(0, 1, 201), oracle.alpha, curve.alpha))
    left = np.interp(grid, oracle.alpha, oracle.gap)
    right = np.interp(grid, curve.alpha, curve.gap)
    # Rows sum to 1 only to rounding, and so does the mirrored half: 1e-15 absolute.
    np.testing.assert_allclose(right, left, rtol=1e-12, atol=2e-15)


def assert_witness(P, epsilon, value, pair, event) -> None:
    if value == 0:
        return
    x, y = pair
    alpha = P[y, event].sum()
    gap = (P[x, event] - P[y, event]).sum()
    again = log_ratio(np.array(alpha), np.array(gap), np.array(epsilon))
    assert_close(np.array([float(again)]), np.array([value]), 1e-13, "witness")


@pytest.mark.parametrize("limit", [0, 10**12], ids=["search", "corners"])
@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_search_equals_sorting_every_pair(kind, limit, monkeypatch):
    monkeypatch.setattr(_envelope, "SMALL", limit)
    rng = np.random.default_rng(100 + LARGE_KINDS.index(kind))
    for _ in range(6):
        check_against_sorting(large_table(rng, kind))


@given(
    st.integers(2, 7).flatmap(
        lambda b: st.lists(
            st.lists(
                st.one_of(st.just(0.0), st.floats(1e-12, 1), st.sampled_from([0.25, 0.5])),
                min_size=b,
                max_size=b,
            ).filter(any),
            min_size=2,
            max_size=7,
        )
    ),
    st.sampled_from([0, 10**12]),
)
@settings(max_examples=120)
def test_search_equals_sorting_property(table, limit):
    P = np.array(table)
    P /= P.sum(axis=1, keepdims=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_envelope, "SMALL", limit)
        check_against_sorting(P)


def test_every_vertex_is_attained_by_its_pair_and_event(monkeypatch):
    rng = np.random.default_rng(5)
    for limit in (0, 10**12):
        monkeypatch.setattr(_envelope, "SMALL", limit)
        for kind in LARGE_KINDS:
            P = large_table(rng, kind)
            curve = TradeOff.envelope(P)
            for alpha, gap, (x, y), event in zip(
                curve.alpha, curve.gap, curve.pairs, curve.events, strict=True
            ):
                if x < 0:
                    assert alpha in (0.0, 1.0)
                    assert gap == 0.0
                    continue
                np.testing.assert_allclose(P[y, event].sum(), alpha, rtol=1e-13, atol=1e-300)
                np.testing.assert_allclose(
                    (P[x, event] - P[y, event]).sum(), gap, rtol=1e-12, atol=2e-15
                )
            witness = curve.witness(1.0)
            if witness is not None:
                x, y, event = witness
                assert_witness(P, 1.0, curve.leakage(1.0), (x, y), event)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6, 1e-3, 0.05, 0.5])
def test_slack_is_honest(tolerance, monkeypatch):
    rng = np.random.default_rng(11)
    for kind in LARGE_KINDS:
        P = large_table(rng, kind)
        truth = TradeOff.envelope(P).leakage(MANY)
        with monkeypatch.context() as patch:
            patch.setattr(_envelope, "SMALL", 0)
            curve = TradeOff.envelope(P, tolerance=tolerance)
        found = curve.leakage(MANY)
        assert curve.slack == (tolerance if len(np.unique(P, axis=0)) > 1 else 0.0)
        infinite = np.isinf(truth)
        assert (np.isinf(found) == infinite).all()
        missing = truth[~infinite] - found[~infinite]
        assert (missing <= curve.slack + 1e-12).all()
        assert (missing >= -1e-12 * truth[~infinite]).all()


@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_support_bounds(kind):
    """The fast table of h with its error bound never lies below the exact value."""
    from fractions import Fraction

    rng = np.random.default_rng(17)
    P = large_table(rng, kind)[:6]
    xs, ys = (i.ravel() for i in np.indices((len(P), len(P))))
    for s in (0.0, 1e-7, 0.3, 4.0, 1e6):
        table, error = _search.support_all(P, s)
        direct = _search.support(P, xs, ys, s)
        for x, y, h in zip(xs, ys, direct, strict=True):
            if x == y:
                continue
            cells = [
                Fraction(g) - (1 + Fraction(s)) * Fraction(q)
                for g, q in zip(P[x].tolist(), P[y].tolist(), strict=True)
            ]
            exact = sum((cell for cell in cells if cell > 0), Fraction(0))
            gap = sum(
                (
                    Fraction(g) - Fraction(q)
                    for g, q, cell in zip(P[x].tolist(), P[y].tolist(), cells, strict=True)
                    if cell > 0
                ),
                Fraction(0),
            )
            # The table uses that rows sum to 1; they do to rounding, which scales with 1 + s.
            total = abs(sum(map(Fraction, P[x].tolist())) - 1) + abs(
                sum(map(Fraction, P[y].tolist())) - 1
            )
            assert table[x, y] + error >= float(exact - total * (2 + Fraction(s)))
            assert abs(Fraction(float(h)) - exact) <= Fraction(_search.ROUNDING) * gap


def test_left_out_pair_is_found_beyond_many_that_tie():
    """A curve of tiny mass that beats the ratio of many others is not lost among their rounding."""
    rng = np.random.default_rng(3)
    a, b = 90, 40
    P = np.full((a, b), 1.0)
    for row in range(a):  # very many pairs with ratio exactly 2
        P[row, rng.permutation(b - 2)[:10]] = 2.0
    P[:, -2:] = 1e-18
    P[7, -1] = 2.2e-18
    P /= P.sum(axis=1, keepdims=True)
    oracle = every_pair(P)
    for epsilon in (30.0, 50.0, 100.0, 800.0, np.inf):
        truth = log_ratio(oracle.alpha, oracle.gap, np.array(epsilon)).max()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_envelope, "SMALL", 0)
            assert worst_case(P, epsilon)[0] == pytest.approx(truth, rel=3e-14)
            assert TradeOff.envelope(P).leakage(epsilon) == pytest.approx(truth, rel=3e-14)


def test_published_tables(data_dir, monkeypatch):
    tables = np.load(data_dir / "published" / "synthetic_conditionals.npz")
    golden = {
        "k4": [0.008957663, 0.04923583, 0.107448546, 0.226247894, 0.312310854, 0.376795469],
        "k7": [0.012397, 0.062707758, 0.123067873, 0.226730621, 0.301855523, 0.385176135],
        "k10": [0.012515393, 0.064233098, 0.127954545, 0.228755533, 0.312168068, 0.38920764],
    }
    epsilons = [0.1, 0.5, 1, 2, 3, 5]
    for limit in (0, 10**9):
        monkeypatch.setattr(_envelope, "SMALL", limit)
        for name, values in golden.items():
            found = TradeOff.envelope(tables[name]).leakage(epsilons)
            np.testing.assert_allclose(found, values, atol=6e-10 if name != "k7" else 5e-7)
    monkeypatch.undo()
    check_against_sorting(tables["k50"])


@pytest.mark.parametrize("tolerance", [-1e-9, float("nan"), float("inf"), "0", [0.0, 1.0], None])
def test_tolerance_is_checked(tolerance):
    with pytest.raises(InvalidInputError, match="tolerance"):
        TradeOff.envelope([[0.5, 0.5], [1, 0]], tolerance=tolerance)
