"""Composition through privacy loss distributions: never understated, within its declared error."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from seepage import (
    CapacityError,
    InvalidInputError,
    MissingDependencyError,
    Standing,
    TradeOff,
    randomized_response,
)
from seepage.tradeoff import PiecewiseLinear

GRID = np.concatenate((np.logspace(-12, -1, 200), np.linspace(0, 1, 201)))


def check(found, truth):
    excess = found.power(GRID) - truth.power(GRID)
    assert excess.min() >= -1e-14
    assert excess.max() <= found.error
    assert found.error < 1e-3
    assert found.standing is Standing.UPPER
    assert any("privacy loss distributions" in text for text in found.assumptions)


@pytest.fixture(scope="module")
def library():
    module = "dp_accounting.pld.privacy_loss_distribution"
    return pytest.importorskip(module, reason="needs the extra interop: dp-accounting")


@pytest.mark.usefixtures("library")
def test_against_closed_and_exact_compositions():
    one = TradeOff.gaussian(0.7)
    check(one.self_compose(4, method="numerical"), TradeOff.gaussian(1.4))
    response = TradeOff.of_channel(randomized_response(3, 0.8))
    check(response.self_compose(4, method="numerical"), response.self_compose(4))
    uneven = TradeOff.from_distributions([0.5, 0.3, 0.2, 0.0], [0.1, 0.3, 0.5, 0.1])
    both = uneven.compose(uneven, method="numerical")
    check(both, uneven.self_compose(2).symmetrized())


def test_laplace_compositions_agree_with_the_library(library):
    """The library's own profile, at its own settings and both directions of rounding."""
    found = TradeOff.laplace(0.5).self_compose(6)
    high, low = (
        library.from_laplace_mechanism(
            2.0, pessimistic_estimate=up, value_discretization_interval=1e-3, use_connect_dots=up
        ).self_compose(6, 1e-15 if up else 0.0)
        for up in (True, False)
    )
    for epsilon in (0.0, 0.2, 1.0, 2.0, 2.9):
        above, below = high.get_delta_for_epsilon(epsilon), low.get_delta_for_epsilon(epsilon)
        assert below - 1e-9 <= found.delta(epsilon) <= above + found.error
    assert found.relative_risk() == pytest.approx(np.exp(3.0), rel=1e-10)
    assert found.failure == "none"
    assert found.error < 1e-3


@pytest.mark.usefixtures("library")
def test_mixtures_are_above_each_part_and_below_polygons():
    parts = [TradeOff.laplace(0.8), TradeOff.gaussian(0.5), TradeOff.approximate_dp(0.3, 1e-3)]
    found = parts[0].compose(*parts[1:])
    for part in parts:
        assert (found.power(GRID) >= part.power(GRID) - 1e-12).all()
    outer = [part.outer(24) for part in parts]
    polygons = outer[0].compose(outer[1], outer[2])
    assert (found.power(GRID) - found.error <= polygons.power(GRID) + 1e-12).all()
    assert (polygons.power(GRID) - polygons.error <= found.power(GRID) + 1e-12).all()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("null", "alternative", "mu"),
    [
        ([6, 4], [3, 7], 0.1),
        ([5, 4, 1], [6, 4, 0], 0.1),
        ([5, 4, 1], [6, 4, 0], 0.0),
        ([1, 90, 9], [4, 95, 1], 0.0),
    ],
)
def test_no_composition_is_below_what_it_is_made_of(null, alternative, mu):
    """Not below a part, nor below the exact product, whichever hypothesis is called the null."""
    h, g = (np.array(row) / sum(row) for row in (null, alternative))
    one, back = TradeOff.from_distributions(h, g), TradeOff.from_distributions(g, h)
    if mu:
        part = TradeOff.laplace(mu, adjacency=one.adjacency)
        found, truth = one.compose(part), (one, back, part)
    else:
        found = one.self_compose(2, method="numerical")
        truth = (one, back, one.self_compose(2), back.self_compose(2))
    grid = np.concatenate((GRID, *(curve.vertices[:, 0] for curve in (one, back))))
    for curve in truth:
        assert (found.power(grid) >= curve.power(grid) - 1e-14).all()
    assert found.failure == ("catastrophic" if ((h > 0) != (g > 0)).any() else "none")


@pytest.mark.usefixtures("library")
def test_class_of_failure_is_that_of_the_parts():
    """Rounding leaves a power of 1e-13 at α = 0, which proves nothing."""
    mixed = TradeOff.gaussian(0.5).compose(TradeOff.laplace(0.8))
    assert (mixed.failure, mixed.power(0.0), mixed.relative_risk()) == ("graceful", 0.0, np.inf)
    assert mixed.delta(60.0) > 0  # the other readings stay on the safe side
    steep = TradeOff.laplace(300.0).self_compose(3)
    assert (steep.failure, steep.power(0.0)) == ("none", 0.0)
    proven = TradeOff.gaussian(0.5).compose(TradeOff.approximate_dp(0.3, 1e-3))
    assert proven.failure == "catastrophic"
    assert proven.power(0.0) >= 1e-3


@pytest.mark.usefixtures("library")
def test_refusals():
    with pytest.raises(CapacityError, match="nats"):
        TradeOff.laplace(1e4).self_compose(2)
    lower = PiecewiseLinear([0, 0.5, 1], [0, 0.2, 0], standing=Standing.LOWER)
    with pytest.raises(InvalidInputError, match="lower"):
        lower.self_compose(2, method="numerical")
    with pytest.raises(InvalidInputError, match="one adjacency"):
        TradeOff.laplace(1).compose(TradeOff.laplace(1, adjacency="replace one record"))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingDependencyError, match=r"seepage\[interop\]"):
        TradeOff.laplace(1).self_compose(2)
    with pytest.raises(MissingDependencyError, match=r"pip install 'seepage\[interop\]'"):
        TradeOff.laplace(1).subsampled(0.1).self_compose(10)


def test_products_that_are_too_large_are_composed_numerically(library):
    """Sampled noise several times, against the library's own distributions of it."""
    makers = {
        "gaussian": library.from_gaussian_mechanism,
        "laplace": library.from_laplace_mechanism,
    }
    cases = (("gaussian", TradeOff.gaussian, 5, 4e-3), ("laplace", TradeOff.laplace, 10, 3e-4))
    for name, make, times, most in cases:
        found = make(1.0).subsampled(0.1).self_compose(times)
        assert found.standing is Standing.UPPER
        assert 0 < found.error < most
        assert found.failure == make(1.0).failure
        assert any("none overstated by more than" in text for text in found.assumptions)
        low = makers[name](
            1.0, sampling_prob=0.1, pessimistic_estimate=False,
            value_discretization_interval=1e-3, use_connect_dots=False,
        ).self_compose(times, 0.0)  # fmt: skip
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
            truth = low.get_delta_for_epsilon(epsilon)
            assert truth - 1e-12 <= found.delta(epsilon)
