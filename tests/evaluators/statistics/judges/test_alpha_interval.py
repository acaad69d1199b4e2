"""The interval of Krippendorff's alpha: known truth, other implementations, and its limits."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest

from evaluators.statistics.judges.krippendorff import Alpha, alpha_with_interval
from tests.support.services import takes_minutes

REPEATS = 300


def draw_verdicts(
    generator: np.random.Generator, units: int, raters: int, base: float, skill: float
) -> np.ndarray:
    """Verdicts of raters who each find the truth with probability `skill`."""
    truth = generator.random(units) < base
    return (truth ^ (generator.random((raters, units)) > skill)).astype(np.float64)


def true_alpha(base: float, skill: float) -> float:
    """1 - the chance that two raters differ / the chance that two verdicts at random do."""
    passes = base * skill + (1 - base) * (1 - skill)
    return 1 - skill * (1 - skill) / (passes * (1 - passes))


@takes_minutes
@pytest.mark.parametrize("units", [20, 60])
@pytest.mark.parametrize(("base", "skill"), [(0.5, 0.9), (0.8, 0.9), (0.7, 0.7), (0.5, 0.97)])
@pytest.mark.parametrize("raters", [2, 3])
def test_intervals_of_verdicts_cover_the_truth(
    units: int, base: float, skill: float, raters: int
) -> None:
    generator = np.random.default_rng([units, raters])
    truth, held = true_alpha(base, skill), 0
    for _ in range(REPEATS):
        found = alpha_with_interval(draw_verdicts(generator, units, raters, base, skill))
        held += not math.isfinite(found.low) or found.low <= truth <= found.high
    assert held / REPEATS > 0.90


@pytest.mark.parametrize("deviation", [0.3, 1.0])
@pytest.mark.parametrize("raters", [2, 3])
def test_intervals_of_numbers_cover_the_truth(deviation: float, raters: int) -> None:
    generator = np.random.default_rng(5)
    truth, held = 1 / (1 + deviation**2), 0
    for _ in range(REPEATS):
        numbers = generator.normal(size=30) + deviation * generator.normal(size=(raters, 30))
        found = alpha_with_interval(numbers)
        held += found.low <= truth <= found.high
    assert 0.90 < held / REPEATS < 0.99


@takes_minutes
def test_intervals_of_clusters_cover_the_truth() -> None:
    """In every cluster, the raters are all good or all bad."""
    generator = np.random.default_rng(6)
    skills = np.array([0.75, 0.95])
    passes = 0.6 * 0.85 + 0.4 * 0.15
    truth = 1 - float((skills * (1 - skills)).mean()) / (passes * (1 - passes))
    clusters = np.arange(100) // 5
    held, ignored = 0, 0
    for _ in range(REPEATS):
        skill = np.repeat(generator.choice(skills, size=20), 5)
        right = np.repeat(generator.random(20) < 0.6, 5)
        verdicts = (right ^ (generator.random((3, 100)) > skill)).astype(np.float64)
        found = alpha_with_interval(verdicts, clusters)
        held += found.low <= truth <= found.high
        alone = alpha_with_interval(verdicts)
        ignored += alone.low <= truth <= alone.high
    assert held / REPEATS > 0.89
    assert held > ignored


@pytest.mark.parametrize("scale", [None, 5.0])
def test_the_value_is_that_of_the_definition(scale: float | None) -> None:
    generator = np.random.default_rng(8)
    ratings = draw_verdicts(generator, 40, 4, 0.6, 0.8)
    if scale is not None:
        ratings = np.round(scale * (ratings + generator.random(ratings.shape)))
    ratings[generator.random(ratings.shape) < 0.3] = np.nan
    level = "nominal" if scale is None else "interval"
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement=level)
    assert alpha_with_interval(ratings).value == pytest.approx(expected, rel=1e-12)


def test_perfect_agreement_may_still_be_chance() -> None:
    verdicts = np.tile(np.r_[np.zeros(4), np.ones(6)], (3, 1))
    few = alpha_with_interval(verdicts)
    assert (few.value, few.high) == (1.0, 1.0)
    many = alpha_with_interval(np.tile(verdicts, (1, 20)))
    assert few.low < 0.9 < many.low < 1.0


def test_what_has_no_interval() -> None:
    nothing = [np.full((3, 4), 0.7), np.array([[1.0, np.nan], [np.nan, 0.0]])]
    assert all(np.isnan(alpha_with_interval(each)).all() for each in nothing)
    numbers = np.array([[0.2, 0.5, 0.9], [0.2, 0.5, 0.9]])
    assert str(alpha_with_interval(numbers)) == str(Alpha(1.0, math.nan, math.nan))
    one = alpha_with_interval(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([3, 3]))
    assert math.isfinite(one.value)
    assert math.isnan(one.low)


def test_order_and_unrated_units_do_not_matter() -> None:
    generator = np.random.default_rng(9)
    numbers = generator.normal(size=(3, 30)).round(2)
    found = alpha_with_interval(numbers)
    more = np.hstack([numbers, np.array([[7.0], [np.nan], [np.nan]])])[::-1]
    assert alpha_with_interval(more) == pytest.approx(found, rel=1e-9)
