"""Large families: the verdicts and adjusted p-values are those of all pairs together."""

from __future__ import annotations

import numpy as np
import pytest

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import Comparisons, compare, every_pair
from evaluators.statistics.holm import holm
from evaluators.statistics.large_families import compare_some
from tests.services import takes_minutes

SYSTEMS = 36
PAIRS = every_pair(SYSTEMS)
COLUMNS = [name for name in Comparisons.__dataclass_fields__ if name not in ("pairs", "verdict")]


def scores(questions: int, kind: str, *, has_gaps: bool) -> np.ndarray:
    """Scores of systems of rising skill."""
    draw = np.random.default_rng([questions, has_gaps])
    level = draw.random((questions, 1)) * 0.3 + np.linspace(0.1, 0.6, SYSTEMS)
    values = np.clip(level + draw.normal(0, 0.3, (questions, SYSTEMS)), 0, 1)
    if kind == "pass_fail":
        values = (values > 0.5).astype(np.float64)
    if kind == "coarse":
        values = np.round(values * 2) / 2
    if has_gaps:
        values[draw.random(values.shape) < 0.1] = np.nan
    return values


@takes_minutes
@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("cluster", [1, 3])
@pytest.mark.parametrize("kind", ["pass_fail", "coarse", "continuous"])
@pytest.mark.parametrize("questions", [18, 90])
def test_some_pairs_are_compared_as_among_all(
    questions: int, kind: str, cluster: int, has_gaps: bool
) -> None:
    values = scores(questions, kind, has_gaps=has_gaps)
    groups = Groups() if cluster == 1 else Groups(np.arange(questions) // cluster)
    passes = np.full(SYSTEMS, kind == "pass_fail")
    chosen = (PAIRS == SYSTEMS - 1).any(axis=1)

    def compared(is_wanted: np.ndarray) -> tuple[Comparisons, np.ndarray]:
        found, outcomes = compare_some(
            values, groups, PAIRS, is_wanted, best="high", pass_fail=passes, bounds=(0.0, 1.0)
        )
        return found, outcomes.signs

    some, signs = compared(chosen)
    every, signs_of_all = compared(np.ones(len(PAIRS), dtype=bool))
    for name in COLUMNS:
        assert np.array_equal(getattr(some, name), getattr(every, name)[chosen], equal_nan=True)
    assert np.array_equal(signs, signs_of_all)
    assert np.array_equal(signs, every.outcomes.signs)
    adjusted = holm(every.p_value)
    significant = adjusted < 0.05
    assert np.array_equal(every.p_adjusted < 0.05, significant)
    assert np.array_equal(every.p_adjusted[significant], adjusted[significant])
    assert (every.p_adjusted >= adjusted * (1 - 1e-12)).all()
    # More patterns matter for small p-values only.
    whole = compare(values, groups, PAIRS, best="high", pass_fail=passes, bounds=(0.0, 1.0))
    for name in ("n_pairs", "clusters", "difference", "std_error", "low", "high", "detectable"):
        expected = getattr(whole, name)
        assert getattr(every, name) == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)
    frequent = whole.p_value > 0.01
    assert every.p_value[frequent] == pytest.approx(whole.p_value[frequent], rel=1e-9)


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("cluster", [1, 3])
@pytest.mark.parametrize("questions", [1, 4, 60])
def test_families_are_compared_as_if_alone(questions: int, cluster: int, has_gaps: bool) -> None:
    groups = Groups() if cluster == 1 else Groups(np.arange(questions) // cluster)
    draw = np.random.default_rng(questions)
    values = np.round(draw.random((questions, 12)), 1)
    if has_gaps:
        values[draw.random(values.shape) < 0.2] = np.nan
    pairs, passes = every_pair(3), np.zeros(3, dtype=bool)
    together = compare(
        values, groups, every_pair(3, 4), best="high", pass_fail=np.tile(passes, 4), families=4
    )
    for family in range(4):
        columns = values[:, 3 * family : 3 * family + 3]
        if np.isfinite(columns).all() != np.isfinite(values).all():
            continue
        alone = compare(columns, groups, pairs, best="high", pass_fail=passes)
        own = slice(3 * family, 3 * family + 3)
        assert together.verdict[own] == alone.verdict
        for name in COLUMNS:
            found = getattr(together, name)[own]
            assert np.array_equal(found, getattr(alone, name), equal_nan=True), name
