"""What is said of many relationships: never noise as a finding, and how many records it takes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from seepage.collect.designs import independent, sampled_views
from seepage.collect.relationships import Estimate
from seepage.domain import Domain
from seepage.errors import DomainError
from seepage.plan._clear import POWER, quantity, records_needed, rounded_up, threshold
from seepage.plan.relating import RelationshipEstimates, estimate_relationships, retention_table
from seepage.tables.domain_files import domain_to_yaml, read_domain

TEN = Domain.of({f"x{i}": [1, 2, 3, 4] for i in range(10)})


def nothing(plan, n, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, len(plan.domain)))
    return plan.randomize_codes(codes, rng=rng)


def test_noise_is_no_finding() -> None:
    """45 independent pairs, 20 collections: some pair is told from zero in at most 5 % of them.

    With a free seed the count of 20 is above 4 with a probability of 0.26 %.
    """
    wrong = 0
    for seed in range(20):
        plan = independent(TEN, (1.0, 2.5, 5.0)[seed % 3])
        result = estimate_relationships(nothing(plan, 1500, seed))
        wrong += bool(result.clear)
        if not result.clear:
            assert result.verdict.startswith("None of 45 relationships can be told from zero")
            assert "clearest" not in result.verdict
        for item in result.clear:
            assert item.is_possible
    assert wrong <= 4


def test_few_records_get_a_number_of_records() -> None:
    plan = independent(TEN, 1.0)
    result = estimate_relationships(nothing(plan, 500, 0))
    assert result.needed is not None
    assert result.needed > 500
    assert f"about {result.needed:,} records would be needed for a correlation" in result.verdict
    assert result.to_dict()["records_needed"] == result.needed
    assert {item.recommended for item in result.estimates} == {"uncorrected"}
    assert "For all 45 relationships the uncorrected value" in result.verdict
    assert "e+" not in result.verdict
    page = result.to_html()
    assert f"takes about {result.needed:,} records" in page
    assert "cannot tell which is better" in page
    assert "<h1>reports</h1>" in page


def test_the_needed_number_is_enough() -> None:
    """A correlation of 0.3 is told from zero in about 80 % of collections of that size.

    Over 150 collections the share is between 67 % and 91 % in 99.9 % of runs with a free seed. The
    formula is for no dependence; at 0.3 the variance is a little different.
    """
    domain = Domain.of({"a": [0, 1], "b": [0, 1]})
    plan = independent(domain, 1.5)
    joint = np.array([0.325, 0.175, 0.175, 0.325])  # correlation 0.3, even margins
    n = records_needed(plan, [("a", "b")], 1, 0.95)
    assert n is not None
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(150):
        codes = np.stack(np.unravel_index(rng.choice(4, n, p=joint), (2, 2)), axis=1)
        reports = plan.randomize_codes(codes.astype(np.int64), rng=rng)
        found += bool(estimate_relationships(reports).clear)
    assert 0.67 <= found / 150 <= 0.91


def test_needed_against_the_closed_form() -> None:
    """Binary randomised response at even margins: n = ((z + z') / (0.3 Λ))² from the variance.

    A score ±1/λ at no dependence has variance 1/λ² each, so a corrected correlation has 1/Λ².
    """
    from statistics import NormalDist

    plan = independent(Domain.of({"a": [0, 1], "b": [0, 1]}), {"a": 1.0, "b": 2.0})
    kept = math.tanh(0.5) * math.tanh(1.0)
    for count in (1, 45):
        errors = threshold(count, 0.95) + NormalDist().inv_cdf(POWER)
        wanted = math.ceil((errors / (0.3 * kept)) ** 2)
        assert records_needed(plan, [("a", "b")], count, 0.95) == rounded_up(wanted)
    assert threshold(1, 0.95) == pytest.approx(1.959964, abs=1e-6)
    assert threshold(45, 0.95) == pytest.approx(3.2609, abs=1e-3)
    assert records_needed(sampled_views(TEN, 1.0), combinations(TEN.names, 2), 45, 0.95) is None
    assert records_needed(independent(TEN, 1.0, mechanism="oue"), [("x0", "x1")], 1, 0.95) is None
    one = Domain.of({"a": [0, 1], "only": [1]})
    assert records_needed(independent(one, 1.0), [("a", "only")], 1, 0.95) is None


def test_recommendations_are_taken_together() -> None:
    """Weak reports of strongly related attributes: all pairs are corrected, few are clear."""
    rng = np.random.default_rng(3)
    plan = independent(TEN, 2.0)
    base = rng.integers(0, 4, (700, 1))
    noise = rng.random((700, 10)) < 0.35
    codes = np.where(noise, rng.integers(0, 4, (700, 10)), base)
    result = estimate_relationships(plan.randomize_codes(codes, rng=1))
    assert all(item.recommended == "corrected" for item in result.estimates)
    assert any(item.better == "cannot tell" for item in result.estimates)
    assert "Correcting pays for all 45 relationships; for" in result.verdict
    assert "of them this is judged by their mean strength, as the reports alone" in result.verdict


def test_nothing_is_compared_without_an_uncorrected_value() -> None:
    """Subsets are no categories: an impossible value is not recommended, a possible one is."""
    names = [f"x{i}" for i in range(4)]
    plan = independent(Domain.of({name: [1, 2, 3, 4] for name in names}), 0.5, mechanism="subset")
    codes = np.random.default_rng(1).integers(0, 4, (300, 4))
    result = estimate_relationships(plan.randomize_codes(codes, rng=2))
    beyond = [item for item in result.estimates if abs(item.estimate or 0.0) > 1]
    good = [item for item in result.estimates if item.estimate is not None and item not in beyond]
    assert beyond
    assert good
    for item in beyond:
        assert (item.better, item.recommended, item.chosen) == ("", "", None)
    for item in good:
        assert (item.recommended, item.chosen) == ("corrected", item.estimate)
    assert "Correcting pays" not in result.verdict
    assert "no uncorrected value to compare with" in result.verdict
    assert f"{len(beyond)} of 6 corrected value" in result.verdict
    assert "impossible and not recommended" in result.verdict


def made_up(better: str, recommended: str, *, compared: bool = True) -> Estimate:
    value = 0.1 if compared else None
    return Estimate(
        "correlation", ("a", "b"), 0.2, 0.1, 0.0, 0.4, value, value, 0.01, value, better, 0.95, 100,
        recommended=recommended, gap_error=value, possible=(-1.0, 1.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("items", "advice"),
    [
        ([("corrected", "corrected")] * 2, "Correcting pays for both relationships."),
        ([("uncorrected", "uncorrected")],
         "For the relationship the uncorrected value is expected to have the smaller error."),
        ([("cannot tell", "corrected")],
         "Correcting pays for the relationship; this is judged by its size, as the reports alone "
         "cannot tell."),
        ([("cannot tell", "uncorrected")] * 5 + [("corrected", "corrected")],
         "For 5 of 6 relationships the uncorrected value is expected to have the smaller error, "
         "for the other 1 the corrected one; for 5 of them this is judged by their mean strength, "
         "as the reports alone cannot tell."),
        ([("corrected", "corrected"), ("corrected", "corrected", False)],
         "Correcting pays for the relationship with both values. For 1 of 2 there is no "
         "uncorrected value to compare with."),
        ([("corrected", "corrected", False)], "There is no uncorrected value to compare with."),
    ],
)  # fmt: skip
def test_advice(items, advice) -> None:
    estimates = tuple(made_up(*item[:2], compared=len(item) == 2) for item in items)
    assert RelationshipEstimates(estimates, 100, False, ()).verdict.endswith(f". {advice}")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39320.0, "39,320"), (-2.7, "−2.7"), (0.0, "0"), (0.00012345, "0.0001234"),
        (2.13e-7, "2.13 × 10⁻⁷"), (-1e20, "−1.00 × 10²⁰"), (9999.96, "10,000"), (1.0, "1"),
        (math.inf, "∞"), (-math.inf, "−∞"), (1234.5678, "1235"),
    ],
)  # fmt: skip
def test_quantities(value, text) -> None:
    assert quantity(value) == text


def test_one_relationship_is_told_in_the_singular() -> None:
    plan = independent(TEN, 1.0)
    reports = nothing(plan, 500, 0)
    one = estimate_relationships(reports, relationships=[("x0", "x1")])
    two = estimate_relationships(reports, relationships=[("x0", "x1"), ("x0", "x2")])
    (told,) = [text for text in one.assumptions if text.startswith("Told from zero")]
    assert told == (
        "Told from zero: the limits exclude 0; such a statement holds with a probability of about "
        "95 %."
    )
    assert any("adjusted for 2 relationships (Bonferroni)" in text for text in two.assumptions)
    assert "For both relationships the uncorrected value" in two.verdict
    assert "all 2" not in two.verdict


def test_rounded_up() -> None:
    assert [rounded_up(x) for x in (0.5, 7, 10.5, 99, 101, 4321, 1e6)] == [
        1, 7, 11, 99, 110, 4400, 1_000_000,
    ]  # fmt: skip


def test_strength_is_covariance() -> None:
    assert "of its covariance" in retention_table([2, 2], 1.0).verdict
    assert "of its cross-moment" in retention_table([2, 2, 2], 1.0, orders=[3]).verdict


def test_what_a_domain_file_says_of_itself_comes_along(tmp_path) -> None:
    path = tmp_path / "domain.yaml"
    path.write_text(domain_to_yaml(TEN, read_from="people.csv"), encoding="utf-8")
    for source in (path, str(path), read_domain(path)):
        table = retention_table(source, 1.0)
        assert table.retentions == retention_table(TEN, 1.0).retentions
        told = " ".join(table.assumptions)
        assert "read from the table itself" in told
        assert "was read from 'people.csv': look through it" in told
    assert read_domain(path).was_read
    path.write_text(domain_to_yaml(TEN), encoding="utf-8")
    assert not read_domain(path).was_read
    assert "Categories were declared in domain.yaml." in retention_table(path, 1.0).assumptions
    with pytest.raises(DomainError, match="domain file"):
        retention_table(tmp_path / "none.yaml", 1.0)
