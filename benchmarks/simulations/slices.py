"""Slices that differ by chance: reversed orders, and the lowest of many slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.slice_statistics import SliceStatistics
from assets.leaderboard.slices import Interactions
from benchmarks.simulations.result import Table, rate
from evaluators.metric import Metric
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import BETTER, WORSE
from evaluators.statistics.slices import shrunken_means

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers

MEAN = 0.7
METRIC = Metric(name="score", summary="Made up.")


def tables(repeats: int) -> Iterator[Table]:
    """Yield false alarms and power of reversed orders, and the bias of the lowest slice."""
    yield _reversed_orders(repeats)
    yield _lowest_slice(repeats)


def _reversed_orders(repeats: int) -> Table:
    rows = []
    for slices, size, effect in (
        (40, 10, 0.0),
        (40, 25, 0.0),
        (10, 100, 0.0),
        (10, 30, 0.3),
        (10, 100, 0.3),
    ):
        for passes, trials in ((True, repeats // 5), (False, repeats // 20)):
            significant = tested = 0
            for seed in range(trials):
                values = _equal_systems(slices, size, seed, passes=passes)
                if effect > 0:
                    values[:size, 1] = _worse(values[:size, 1], effect, seed, passes=passes)
                    values[size:, 0] = _worse(values[size:, 0], 0.1, seed, passes=passes)
                alone, beyond = _find_reversed(values, np.arange(slices).repeat(size), passes)
                significant += alone
                tested += beyond
            rows.append(
                [
                    f"{slices} of {size}",
                    "pass/fail" if passes else "continuous",
                    f"{effect} worse on one, 0.1 better on others" if effect else "equal",
                    str(trials),
                    rate(significant, trials),
                    rate(tested, trials),
                ]
            )
    return Table(
        "Two systems: the share of benchmarks with a slice that reverses their order (target where "
        "they are equal: at most 0.05)",
        ["slices", "scores", "systems", "benchmarks", "significant slice (before)", "interaction"],
        rows,
    )


def _equal_systems(slices: int, size: int, seed: int, *, passes: bool) -> Floats:
    """Return the scores of two equal systems, which share the difficulty of questions."""
    draw = np.random.default_rng(seed)
    level = draw.beta(6 * MEAN, 6 * (1 - MEAN), size=(slices * size, 1))
    if passes:
        return (draw.random((slices * size, 2)) < level).astype(np.float64)
    return np.clip(level + draw.normal(0, 0.2, size=(slices * size, 2)), 0, 1)


def _worse(scores: Floats, effect: float, seed: int, *, passes: bool) -> Floats:
    if passes:
        return scores * (np.random.default_rng([seed, 1]).random(len(scores)) >= effect / MEAN)
    return np.maximum(scores - effect, 0)


def _find_reversed(values: Floats, codes: Integers, passes: bool) -> tuple[bool, bool]:  # noqa: FBT001
    """Return whether a slice reverses the order: significant alone, and as an interaction."""

    def slice_of(name: str, rows: Booleans) -> SliceStatistics:
        slice_ = MetricSlice(
            benchmark="made_up",
            name=name,
            evaluator="made_up",
            metric=METRIC,
            systems=["a", "b"],
            rows=np.flatnonzero(rows),
        )
        return SliceStatistics(
            slices=[slice_],
            values=values[rows],
            groups=Groups(),
            pass_fail=np.full(2, passes),
        )

    overall = slice_of("all", np.ones(len(values), dtype=np.bool_))
    interactions = Interactions()
    order = np.sign(overall.stored.difference[0])
    significant = False
    for code in range(codes[-1] + 1):
        part = slice_of(f"slice={code}", codes == code)
        interactions.add({overall.slices[0].key: overall}, part)
        found = part.stored
        is_reversed = np.sign(found.difference[0]) == -order
        significant |= bool(is_reversed and found.verdict[0] in (BETTER, WORSE))
    adjusted = interactions.adjusted()["p_interaction"]
    return significant, bool((adjusted < LEVEL).any())


def _lowest_slice(repeats: int) -> Table:
    rows = []
    for slices, size, spread in ((40, 10, 0.0), (40, 10, 0.1), (40, 100, 0.1)):
        draw = np.random.default_rng(slices + size)
        truth = draw.normal(MEAN, spread, size=(repeats, slices)).clip(0, 1)
        means = draw.binomial(size, truth) / size
        variance = np.full(slices, MEAN * (1 - MEAN) / size)
        shrunken = np.array([shrunken_means(row, variance, row.mean()) for row in means])
        at = (np.arange(repeats), means.argmin(axis=1))
        errors = [np.sqrt(((each - truth) ** 2).mean()) for each in (means, shrunken)]
        rows.append(
            [
                f"{slices} of {size}",
                f"{spread:g}",
                *(f"{each[at].mean():.3f}" for each in (truth, means, shrunken)),
                *(f"{error:.3f}" for error in errors),
            ]
        )
    return Table(
        f"The lowest of many slices with a mean of {MEAN}: its true, observed and shrunken mean, "
        f"and the root mean squared error of all slices ({repeats:,} repeats)",
        ["slices", "spread", "true", "observed", "shrunken", "error, observed", "error, shrunken"],
        rows,
    )
