"""False statements on whole pages of pure noise: marks, missed thresholds, and changes by night."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.analysis.statements import count_statements
from assets.leaderboard.marks import add_marks, add_page_p
from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.ranking import RANK_KEY, reconcile_ranks
from assets.leaderboard.score_matrix import ALL
from assets.leaderboard.slice_statistics import SliceStatistics
from assets.project import Benchmark
from benchmarks.simulations.result import Table, rate
from evaluators import catalog
from evaluators.metric import Metric
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.comparisons import BETTER, WORSE, compare, every_pair
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import uncertainty
from evaluators.statistics.mean_bounds import misses_p

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.statistics.arrays import Floats

UNIT = (0.0, 1.0)
NAMES = ("citation", "rouge", "exact_match", "token_f1", "chrf", "edit_similarity", "bleu", "json")


def tables(repeats: int) -> Iterator[Table]:
    """Yield the rates of false statements on pages and over nights."""
    yield _marks(max(1, repeats // 40))
    yield _thresholds(max(1, repeats // 4))
    yield _nights(max(1, repeats // 10))
    yield _first_pages(max(1, repeats // 5))


def false_marks(metrics: int, slices: int, size: int, seed: int) -> tuple[int, int]:
    """Return the false marks of a page of three equal systems: each test alone, and now.

    Args:
        metrics: The number of primary metrics.
        slices: The number of slices.
        size: The number of questions of each.
        seed: The seed.
    """
    draw = np.random.default_rng(seed)
    systems = list("abc")
    benchmark = _benchmark("page", metrics)
    rows, comparisons = [], []
    for evaluator in benchmark.evaluators:
        # Some questions are harder than others, for all systems.
        count = max(1, slices) * size
        level = draw.uniform(0.2, 0.9, size=(count, 1))
        values = draw.beta(4 * level, 4 * (1 - level), size=(count, len(systems)))
        (primary,) = [each for each in evaluator.measured() if each.primary]
        metric = Metric(name=primary.name, summary="Made up.", primary=True)
        described = [
            MetricSlice(
                benchmark="page",
                name=each,
                evaluator=evaluator.name,
                metric=metric,
                systems=systems,
            )
            for each in (ALL, *(f"part={at}" for at in range(slices)))
        ]
        parts = [(described[:1], values)]
        if slices:
            parts.append((described[1:], np.hstack(np.split(values, slices))))
        for own, numbers in parts:
            passes = np.zeros(numbers.shape[1], dtype=np.bool_)
            each = SliceStatistics(own, np.asfortranarray(numbers), Groups(), passes)
            means = pl.Series("mean", numbers.mean(axis=0))
            rows.append(each.uncertainty("t").with_columns(means))
            comparisons.append(each.comparisons())
    ranked = pl.concat(rows).with_columns(
        rank=pl.col("mean").rank("min", descending=True).over(RANK_KEY).cast(pl.Int32)
    )
    compared = add_page_p(pl.concat(comparisons), [benchmark])
    found = add_marks(reconcile_ranks(ranked), compared)
    groups = found.group_by(RANK_KEY).agg(
        before=(pl.col("tied_with_best") == 0).any(), now=(pl.col("mark") == "worse").any()
    )
    return int(groups["before"].sum()), int(groups["now"].sum())


def _benchmark(name: str, metrics: int) -> Benchmark:
    known = [each for each in NAMES if each in catalog.catalogue()]
    known += [each for each in catalog.catalogue() if each not in known]
    chosen = [
        built
        for built in (catalog.build(each, {}) for each in known[: metrics + 12])
        if any(metric.primary and metric.level == "sample" for metric in built.measured())
    ]
    benchmark = Benchmark(
        name=name, questions=None, predictions=None, evaluators=tuple(chosen[:metrics])
    )
    return count_statements({name: benchmark}, has_history=True)[name]


def _marks(trials: int) -> Table:
    rows = []
    for metrics, slices, size in ((1, 0, 300), (8, 0, 300), (8, 29, 100)):
        found = [false_marks(metrics, slices, size, seed) for seed in range(trials)]
        before, now = (np.array(each) for each in zip(*found, strict=True))
        rows.append(
            [
                f"{metrics} and {slices}",
                f"{slices * size or size}",
                str(trials),
                rate(int((before > 0).sum()), trials),
                f"{before.mean():.1f}",
                rate(int((now > 0).sum()), trials),
            ]
        )
    return Table(
        "Pages of three equal systems with any false mark (at most 0.05)",
        ["metrics and slices", "questions", "pages", "each alone", "false marks a page", "now"],
        rows,
    )


def false_high(values: Floats, limit: float, *, passes: bool, statements: int) -> tuple[bool, bool]:
    """Return whether any mean misses a threshold that is its truth: before, and now.

    Args:
        values: Shape (questions, means).
        limit: The threshold.
        passes: Whether the values are passes and failures.
        statements: The number of statements that share the level.
    """
    data = sum_by_cluster(values, Groups())
    found = uncertainty(data, pass_fail=np.full(values.shape[1], passes), bounds=UNIT)
    before = (found.interval.high < limit) & (passes | (len(values) >= 8))
    now = statements * holm(misses_p(data, limit, "high", UNIT)) < LEVEL
    return bool(before.any()), bool(now.any())


def _thresholds(trials: int) -> Table:
    rows = []
    cases: Sequence[tuple[str, int, float]] = (
        ("pass/fail", 3, 0.9),
        ("pass/fail", 50, 0.9),
        ("pass/fail", 500, 0.9),
        ("near 1 (beta 9.5, 0.5)", 30, 0.95),
        ("near 1 (beta 9.5, 0.5)", 500, 0.95),
    )
    for name, n, mean in cases:
        draw = np.random.default_rng(n)
        every = []
        for _ in range(trials):
            if name == "pass/fail":
                values = (draw.random((n, 24)) < mean).astype(np.float64)
            else:
                values = draw.beta(9.5, 0.5, size=(n, 24))
            every.append(false_high(values, mean, passes=name == "pass/fail", statements=3))
        before, now = zip(*every, strict=True)
        rows.append([name, str(n), rate(sum(before), trials), rate(sum(now), trials)])
    return Table(
        "Projects with 24 thresholds that are the true means: any false problem of severity high "
        f"(at most 0.05; {trials:,} repeats)",
        ["scores", "questions", "before", "now"],
        rows,
    )


def false_changes(metrics: int, nights: int, seed: int, *, statements: int) -> tuple[bool, bool]:
    """Return whether any of many nights has a false change: before, and now.

    A system answers 100 pass/fail questions again every night, and is compared with the night
    before by each metric.
    """
    draw = np.random.default_rng(seed)
    level = draw.uniform(0.3, 0.95, size=(100, 1))
    before = now = False
    last = (draw.random((100, metrics)) < level).astype(np.float64)
    for night in range(1, nights + 1):
        present = (draw.random((100, metrics)) < level).astype(np.float64)
        pairs = np.arange(2 * metrics).reshape(metrics, 2)
        values = np.empty((100, 2 * metrics))
        values[:, ::2], values[:, 1::2] = present, last
        # Each metric is a family of its own.
        p = compare(
            *(values, Groups(), pairs),
            best="high",
            pass_fail=True,
            bounds=UNIT,
            families=metrics,
        ).p_adjusted
        before |= bool((p < LEVEL).any())
        now |= bool((p * max(statements, metrics) * night * (night + 1) < LEVEL).any())
        last = present
    return before, now


def _nights(trials: int) -> Table:
    rows = []
    for metrics, nights in ((1, 1), (20, 1), (1, 100), (5, 30)):
        found = [
            false_changes(metrics, nights, seed, statements=2 * metrics) for seed in range(trials)
        ]
        before, now = zip(*found, strict=True)
        rows.append([str(metrics), str(nights), rate(sum(before), trials), rate(sum(now), trials)])
    return Table(
        "An unchanged system compared with the night before: any false change (at most 0.05; "
        f"{trials:,} repeats)",
        ["metrics", "nights", "before", "now"],
        rows,
    )


def false_first_page(benchmarks: int, seed: int) -> tuple[bool, bool, bool]:
    """Return whether the first page of a project of noise has a false winner, high, or change.

    Every benchmark has four equal systems and 200 questions, a threshold at the truth, and a
    publication before the present one, of which one system has answered again.
    """
    draw = np.random.default_rng(seed)
    statements = 3 * benchmarks
    winner = high = changed = False
    for _ in range(benchmarks):
        values = (draw.random((200, 4)) < 0.8).astype(np.float64)
        again = (draw.random(200) < 0.8).astype(np.float64)
        found = compare(values, Groups(), every_pair(4), best="high", pass_fail=True, bounds=UNIT)
        significant = found.p_adjusted * statements < LEVEL
        winner |= bool((significant & np.isin(found.verdict, (BETTER, WORSE))).any())
        data = sum_by_cluster(values, Groups())
        p = statements * holm(misses_p(data, 0.8, "high", UNIT))
        high |= bool((p < LEVEL).any())
        pair = np.column_stack([again, values[:, 0]])
        then = compare(pair, Groups(), every_pair(2), best="high", pass_fail=True, bounds=UNIT)
        changed |= bool((then.p_adjusted * statements * 2 < LEVEL).any())
    return winner, high, changed


def _first_pages(trials: int) -> Table:
    rows = []
    for benchmarks in (1, 5, 20):
        found = np.array([false_first_page(benchmarks, seed) for seed in range(trials)])
        rows.append(
            [
                str(benchmarks),
                *(rate(int(each.sum()), trials) for each in found.T),
                rate(int(found.any(axis=1).sum()), trials),
            ]
        )
    return Table(
        f"First pages of projects of noise: any false statement (at most 0.05; {trials:,} repeats)",
        ["benchmarks", "best system", "severity high", "change", "any of them"],
        rows,
    )
