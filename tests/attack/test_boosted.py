"""Boosted trees for rows of categories."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seepage.attack.boosted import MAX_BOOSTED, BoostedTrees, Rows, installed

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


def rows(n, rng, k=3):
    columns = rng.integers(0, 4, (n, 3))
    return Rows(columns, (columns.sum(axis=1) + (columns[:, 0] == 2)) % k)


def fit(train, check, k=3, leaf=5, **options):
    return BoostedTrees.fit(train, check, sizes=(4, 4, 4), k=k, seed=1, leaf=leaf, **options)


def test_finds_a_rule_and_repeats():
    rng = np.random.default_rng(0)
    train, check, fresh = rows(2000, rng), rows(200, rng), rows(500, rng)
    found = fit(train, check).predict(fresh.columns)
    assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) == fresh.truth).all()
    assert (fit(train, check).predict(fresh.columns) == found).all()
    assert installed()


def test_rare_values_do_not_let_the_loss_explode():
    """Two rows of a value among two thousand; without a penalty boosting stopped early, far off."""
    rng = np.random.default_rng(1)
    train, check, fresh = rows(2000, rng, 4), rows(200, rng, 4), rows(500, rng, 4)
    truth = np.where(train.truth == 3, 2, train.truth)
    truth[:2] = 3
    train = Rows(train.columns, truth)
    check, fresh = (
        Rows(each.columns, np.where(each.truth == 3, 2, each.truth)) for each in (check, fresh)
    )
    model = fit(train, check, k=4, leaf=20)
    assert model.rounds > 60
    found = model.predict(fresh.columns)[np.arange(500), fresh.truth]
    assert -np.log(found).mean() < 0.05


def test_values_and_weights_that_are_not_met():
    rng = np.random.default_rng(2)
    train = rows(200, rng)
    even = Rows(train.columns, 2 * (train.truth > 0))
    found = fit(even, Rows(train.columns[:5], np.full(5, 1)), k=4).predict(train.columns)
    assert found.shape == (200, 4)
    assert (found[:, [1, 3]] == 0).all()
    # A value of more weight is believed more.
    heavy = Rows(even.columns, even.truth, np.where(even.truth == 2, 5.0, 1.0))
    beliefs = [fit(each, None, rounds=3).predict(train.columns) for each in (even, heavy)]
    assert beliefs[1][:, 2].mean() > beliefs[0][:, 2].mean() + 0.05


def test_rounds_are_bounded_and_many_categories_taken_by_order():
    rng = np.random.default_rng(3)
    train = rows(300, rng)
    assert fit(train, None, rounds=10**6).rounds == 200
    assert fit(train, None, k=21).rounds == 60
    wide = Rows(rng.integers(0, MAX_BOOSTED + 50, (300, 1)), train.truth)
    model = BoostedTrees.fit(wide, None, sizes=(MAX_BOOSTED + 50,), k=3, seed=0, leaf=5, rounds=2)
    assert model.predict(wide.columns).shape == (300, 3)
