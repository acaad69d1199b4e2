"""The uncertainty of a leaderboard: intervals, rank sets and comparisons of all metrics."""

from __future__ import annotations

import math
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.analysis.statements import problem_thresholds
from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.score_matrix import ALL, QuestionIndex
from assets.leaderboard.slice_statistics import (
    COMPARISONS_SCHEMA,
    UNCERTAINTY_SCHEMA,
    SliceStatistics,
)
from assets.leaderboard.slices import PAIR_KEY, Interactions
from assets.project import threshold_of
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import LARGE
from evaluators.statistics.intervals import is_pass_fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assets.leaderboard.benchmark_scores import BenchmarkScores
    from assets.leaderboard.metric_slice import PartValues
    from assets.leaderboard.pseudo_values import PseudoValues
    from assets.leaderboard.score_matrix import ScoreMatrices
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Floats, Integers
    from evaluators.statistics.intervals import Choice

_MOST_WAITING = 4_000_000
"""The scores of metrics on slices that are held until they are joined."""

_MOST_NUMBERS = 1_000_000
"""The most numbers of systems on slices that are compared at once."""


def measure_uncertainty(
    scores: BenchmarkScores, pseudo: Mapping[str, PseudoValues]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute intervals, rank sets and comparisons of every metric on every slice.

    Args:
        scores: The scores of the benchmarks.
        pseudo: The pseudo-values of their system metrics, by benchmark.

    Returns:
        One row per benchmark, slice, system, evaluator and metric (see `UNCERTAINTY_SCHEMA`), and
        one row per pair of systems (see `COMPARISONS_SCHEMA`).
    """
    per_system = [pl.DataFrame(schema=UNCERTAINTY_SCHEMA)]
    comparisons = [pl.DataFrame(schema=COMPARISONS_SCHEMA)]
    interactions = Interactions()
    overall: dict[tuple[str, str, str], SliceStatistics] = {}
    for method, each in _every_slice(scores, pseudo):
        per_system.append(each.uncertainty(method))
        first, chosen = each.slices[0], None
        if first.name == ALL:
            overall |= {slice_.key: each for slice_ in each.slices}
        elif first.metric.primary and each.own is None and each.n_systems > 1:
            reverses = interactions.add(overall, each)
            if (reverses & ~each.is_stored).any():
                chosen = reverses | each.is_stored
        comparisons.append(each.comparisons(chosen))
    compared = pl.concat(comparisons).join(interactions.adjusted(), on=PAIR_KEY, how="left")
    return pl.concat(per_system), compared


def _every_slice(
    scores: BenchmarkScores, pseudo: Mapping[str, PseudoValues]
) -> Iterator[tuple[Choice, SliceStatistics]]:
    """Yield all metrics on all slices with the interval method, each on all questions first."""
    for method in dict.fromkeys(each.intervals for each in scores.benchmarks):
        every = [
            (benchmark, evaluator)
            for benchmark in scores.benchmarks
            if benchmark.intervals == method
            for evaluator in benchmark.evaluators
        ]
        # Those of a large benchmark need much memory, and are large enough.
        groups = [every] if len(scores.benchmarks) > 1 else [[each] for each in every]
        for group in groups:
            found = (
                each
                for benchmark, evaluator in group
                for each in chain(
                    sample_metric_slices(
                        scores, benchmark, evaluator, pseudo[benchmark.name].questions
                    ),
                    system_metric_slices(benchmark, evaluator, pseudo[benchmark.name]),
                )
            )
            for each in join_alike(found):
                yield method, each


def join_alike(found: Iterable[SliceStatistics]) -> Iterator[SliceStatistics]:
    """Join slices of the same size and clusters, also of several metrics and benchmarks.

    Computing many small ones together takes a fraction of the time.

    Args:
        found: Metrics on slices, those on all questions before those on the slices of the same.
    """
    waiting: list[SliceStatistics] = []
    for each in found:
        waiting.append(each)
        if sum(each.values.size for each in waiting) > _MOST_WAITING:
            yield from _join(waiting)
            waiting = []
    yield from _join(waiting)


def _join(found: Sequence[SliceStatistics]) -> Iterator[SliceStatistics]:
    alike: dict[tuple[object, ...], list[SliceStatistics]] = {}
    for each in found:
        first = each.slices[0]
        key = (
            first.name != ALL,
            (len(each.values), each.n_systems, each.groups.key),
            (each.own is not None, bool(np.isfinite(each.values).all())),
            (first.metric.bounds, first.metric.best, first.metric.primary, first.by_common),
        )
        alike.setdefault(key, []).append(each)
    for _, members in sorted(alike.items(), key=lambda item: bool(item[0][0])):
        most = _most_slices(members[0].n_systems, len(members[0].values))
        some: list[SliceStatistics] = []
        for each in members:
            if some and sum(len(own.slices) for own in [*some, each]) > most:
                yield _concat(some)
                some = []
            some.append(each)
        yield _concat(some)


def _concat(parts: Sequence[SliceStatistics]) -> SliceStatistics:
    if len(parts) == 1:
        return parts[0]
    return SliceStatistics(
        slices=[slice_ for each in parts for slice_ in each.slices],
        values=np.hstack([np.asfortranarray(each.values) for each in parts]),
        groups=parts[0].groups,
        pass_fail=np.concatenate([each.pass_fail for each in parts]),
        own=None if parts[0].own is None else [own for each in parts for own in each.own or ()],
    )


def sample_metric_slices(
    scores: BenchmarkScores,
    benchmark: Benchmark,
    evaluator: Evaluator,
    questions: QuestionIndex,
    slices: Sequence[str] | None = None,
) -> Iterator[SliceStatistics]:
    """Yield the sample metrics of an evaluator, first on all questions, then on the slices.

    Args:
        scores: The scores of the benchmark.
        benchmark: The benchmark.
        evaluator: The evaluator.
        questions: The clusters and slices of the questions.
        slices: Only these slices; None: all.
    """
    matrices = scores.matrices(benchmark, evaluator)
    if not matrices.systems:
        return
    systems = len(matrices.systems)
    passing = {
        name: np.array([is_pass_fail(column) for column in values.T])
        for name, values in matrices.values.items()
    }
    describe = partial(_describe, benchmark, evaluator, matrices.systems)
    for names, rows, groups in _alike(matrices, questions, slices):
        for metric in evaluator.sample_metrics:
            values = matrices.means_of(metric, rows)
            pass_fail = passing[metric.name] & (metric.bounds == (0.0, 1.0))
            if isinstance(rows, slice):
                yield SliceStatistics([describe(metric, names[0])], values, groups, pass_fail)
                continue
            is_complete = np.isfinite(values).all(axis=(1, 2))
            for which in (np.flatnonzero(is_complete), np.flatnonzero(~is_complete)):
                step = _most_slices(systems, rows.shape[1])
                for start in range(0, len(which), step):
                    some = which[start : start + step]
                    yield SliceStatistics(
                        [describe(metric, names[at], rows[at]) for at in some],
                        # Columns by slice, then by system, each of them contiguous.
                        np.hstack([np.asfortranarray(each) for each in values[some]]),
                        groups,
                        np.tile(pass_fail, len(some)),
                    )


def _describe(
    benchmark: Benchmark,
    evaluator: Evaluator,
    systems: Sequence[str],
    metric: Metric,
    name: str,
    rows: Integers | None = None,
) -> MetricSlice:
    thresholds = {
        (of.name, own.name): threshold_of(benchmark, of, own)
        for of, own in problem_thresholds(benchmark)
        if own.level == "sample"
    }
    return MetricSlice(
        benchmark=benchmark.name,
        name=name,
        evaluator=evaluator.name,
        metric=metric,
        systems=systems,
        baselines=gate_baselines(benchmark),
        by_common=benchmark.missing.may_skip,
        rows=rows,
        # Metrics of a whole set have no test that holds for few questions.
        threshold=thresholds.get((evaluator.name, metric.name)) if name == ALL else None,
    )


def gate_baselines(benchmark: Benchmark) -> frozenset[str]:
    """Return the baselines of a benchmark's gates."""
    return frozenset(gate.baseline for gate in benchmark.gates if gate.baseline is not None)


def _alike(
    matrices: ScoreMatrices, questions: QuestionIndex, slices: Sequence[str] | None
) -> Iterator[tuple[tuple[str, ...], Integers | slice, Groups]]:
    """Yield slices of the same size and clusters, with their rows: shape (slices, questions)."""
    chosen = (ALL, *questions.slices) if slices is None else slices
    if ALL in chosen:
        yield (ALL,), slice(None), questions.groups(matrices.questions)
    alike: dict[tuple[int, bytes], list[tuple[str, Integers]]] = {}
    groups: dict[tuple[int, bytes], Groups] = {}
    for name in chosen:
        rows = matrices.rows(name, questions)
        if isinstance(rows, slice):
            continue
        found = questions.groups(matrices.questions[rows])
        key = (len(rows), b"" if found.codes is None else found.codes.tobytes())
        groups[key] = found
        alike.setdefault(key, []).append((name, rows))
    for key, members in alike.items():
        rows_of_all = np.stack([rows for _, rows in members])
        yield tuple(name for name, _ in members), rows_of_all, groups[key]


def _most_slices(systems: int, questions: int) -> int:
    """Return how many slices to compare at once; this bounds the memory."""
    pairs = math.comb(systems, 2)
    if pairs > LARGE:
        return 1
    return max(1, _MOST_NUMBERS // max(1, questions * systems))


def system_metric_slices(
    benchmark: Benchmark, evaluator: Evaluator, pseudo: PseudoValues
) -> Iterator[SliceStatistics]:
    """Yield the system metrics of an evaluator on the slices of `pseudo`."""
    metrics = {metric.name: metric for metric in evaluator.system_metrics}
    alike: dict[
        tuple[str, tuple[str, ...], int, bool, bool], list[tuple[str, Floats, list[PartValues]]]
    ] = {}
    for (name, slice_), by_metric in pseudo.values.items():
        if name != evaluator.name:
            continue
        for metric, by_system in by_metric.items():
            systems = sorted(by_system)
            own = [pseudo.own[name, slice_][metric][system] for system in systems]
            values = np.stack([by_system[system] for system in systems], axis=1)
            is_complete = bool(np.isfinite(values).all())
            key = (metric, tuple(systems), len(values), is_complete, slice_ == ALL)
            alike.setdefault(key, []).append((slice_, values, own))
    for (metric, systems_of_all, size, *_), members in alike.items():
        describe = partial(_describe, benchmark, evaluator, systems_of_all, metrics[metric])
        step = _most_slices(len(systems_of_all), size)
        for start in range(0, len(members), step):
            some = members[start : start + step]
            yield SliceStatistics(
                [describe(slice_) for slice_, _, _ in some],
                np.hstack([np.asfortranarray(values) for _, values, _ in some]),
                Groups(),
                np.zeros(len(systems_of_all) * len(some), dtype=np.bool_),
                own=[part for _, _, own in some for part in own],
            )
