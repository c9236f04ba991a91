"""Attackers that learn: never better than Bayes, repeatable, good where there is something."""

from __future__ import annotations

import os

import numpy as np
import pytest

from seepage.attack.learned import Lesson, fit_boosting
from seepage.attack.population import Observations
from seepage.attack.scores import proportion
from seepage.collect.designs import independent, sampled_views
from seepage.domain import Domain
from seepage.plan.attacking import attack_plan

REQUIRED = bool(os.environ.get("SEEPAGE_REQUIRE_ALL"))
FAMILY = 1e-3


def quiet(_done, _total):
    pass


@pytest.fixture
def sklearn():
    if not REQUIRED:
        return pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    import sklearn

    return sklearn


@pytest.fixture
def torch():
    """In continuous integration these tests fail without PyTorch; elsewhere they skip."""
    if not REQUIRED:
        return pytest.importorskip("torch", reason="PyTorch is not installed (make test HEAVY=1)")
    import torch

    return torch


def lesson(n, rng, flip=0.0, k=3):
    """Two columns; the first is the truth, wrong with probability `flip`, the second is noise."""
    truth = rng.integers(0, k, n)
    wrong = rng.random(n) < flip
    first = np.where(wrong, rng.integers(0, k, n), truth)
    columns = np.column_stack([first, rng.integers(0, 4, n)])
    return Lesson(Observations((), columns, (k, 4)), truth)


def fitters(name):
    if name == "boosting":
        return fit_boosting
    from seepage.attack.transformer import fit_transformer

    return fit_transformer


@pytest.fixture(params=["boosting", "tabtransformer"])
def attacker(request):
    request.getfixturevalue("sklearn" if request.param == "boosting" else "torch")
    return request.param


def test_learns_what_there_is(attacker, monkeypatch):
    monkeypatch.setattr("seepage.attack.transformer.PASSES", 15_000)
    rng = np.random.default_rng(1)
    steps = []
    train, check, fresh = lesson(3000, rng, 0.3), lesson(300, rng, 0.3), lesson(2000, rng, 0.3)
    model = fitters(attacker)(train, check, 3, 7, lambda *step: steps.append(step))
    beliefs = model.predict_proba(fresh.seen)
    np.testing.assert_allclose(beliefs.sum(axis=1), 1, atol=1e-9)
    # Right with probability .7 + .3/3 by Bayes, who believes the first column.
    found = proportion(int((beliefs.argmax(axis=1) == fresh.truth).sum()), 2000, 1 - FAMILY)
    assert found.lower <= 0.8 <= found.upper
    assert steps
    assert all(done <= total for done, total in steps)


def test_repeats_with_a_seed(attacker):
    train, check = (lesson(n, np.random.default_rng(n), 0.2) for n in (600, 100))
    beliefs = [
        fitters(attacker)(train, check, 3, 5, quiet).predict_proba(check.seen) for _ in range(2)
    ]
    np.testing.assert_array_equal(*beliefs)


def test_leaves_the_generator_of_torch_alone(torch):
    train = lesson(50, np.random.default_rng(0))
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    fitters("tabtransformer")(train, train, 3, 5, quiet)
    assert (torch.rand(3) == expected).all()
    assert torch.get_num_threads() == threads


def test_few_records_and_unmet_values(attacker):
    rng = np.random.default_rng(2)
    train = Lesson(lesson(4, rng).seen, np.array([0, 0, 2, 2]))
    check = Lesson(lesson(1, rng).seen, np.array([1]))
    beliefs = fitters(attacker)(train, check, 4, 5, quiet).predict_proba(check.seen)
    assert beliefs.shape == (1, 4)
    assert beliefs.sum() == pytest.approx(1)


def test_columns_with_many_categories(attacker):
    rng = np.random.default_rng(2)
    columns = np.column_stack([rng.integers(0, 400, 300), np.zeros(300, dtype=np.int64)])
    train = Lesson(Observations((), columns, (400, 1)), rng.integers(0, 2, 300))
    beliefs = fitters(attacker)(train, train, 2, 5, quiet).predict_proba(train.seen)
    assert beliefs.shape == (300, 2)


def settings():
    rng = np.random.default_rng(12)
    for sizes, kind in (((2, 3, 3), "grr"), ((3, 2, 4), "oue"), ((2, 4, 3), "olh")):
        domain = Domain.of({f"x{i}": list(range(k)) for i, k in enumerate(sizes)})
        joint = rng.dirichlet(np.full(np.prod(sizes), 0.3)).reshape(sizes)
        yield independent(domain, 2.0, kind), joint
    yield sampled_views(domain, 3.0, 1), joint


@pytest.mark.parametrize("number", range(4))
def test_none_is_better_than_bayes_or_the_bound(sklearn, number):
    """The limits of eight comparisons share the error `FAMILY`.

    Given reports, Bayes is right at least as often as any other guess; records are the same, so the
    difference of the two numbers of hits has a mean of at most 0.
    """
    plan, joint = list(settings())[number]
    n = 2000
    found = attack_plan(
        None, plan, "x0", ("bayes", "boosting"), joint=joint, draw="model", max_records=n,
        copies=1, rng=number, confidence=1 - FAMILY / 8,
    )  # fmt: skip
    bayes, boosting = found.main.attackers[1:]
    assert boosting.score.accuracy.lower <= found.main.best_possible + 1e-12
    assert boosting.score.accuracy.lower <= found.main.bound.accuracy
    assert boosting.largest_ratio is None
    # Hoeffding for differences in [−1, 1]: more than this has probability below FAMILY / 8.
    slack = np.sqrt(2 * np.log(8 / FAMILY) / n)
    assert boosting.score.accuracy.estimate <= bayes.score.accuracy.estimate + slack
    # And it learns: most of what Bayes gains.
    assert boosting.score.balanced_accuracy > found.baseline_balanced
    assert any("2 simulated reports" in x or "randomised 1 times" in x for x in found.assumptions)


def test_the_transformer_is_not_better_either(torch, monkeypatch):
    monkeypatch.setattr("seepage.plan.attack_case.MAX_ROWS", 60_000)
    plan, joint = next(settings())
    n = 2000
    found = attack_plan(
        None, plan, "x0", ("bayes", "tabtransformer"), joint=joint, draw="model", max_records=n,
        copies=1, rng=1, confidence=1 - FAMILY,
    )  # fmt: skip
    bayes, learned = found.main.attackers[1:]
    slack = np.sqrt(2 * np.log(1 / FAMILY) / n)
    assert learned.score.accuracy.estimate <= bayes.score.accuracy.estimate + slack
    assert learned.score.accuracy.lower <= found.main.best_possible
    assert learned.score.balanced_accuracy > found.baseline_balanced
