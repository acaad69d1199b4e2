"""Compare two systems whose comparison is not stored, with the same numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from assets.leaderboard.benchmark_scores import BenchmarkScores
from assets.leaderboard.score_matrix import ALL
from assets.leaderboard.slice_statistics import COMPARISONS_SCHEMA
from assets.leaderboard.system_metrics import compute_system_metrics
from assets.leaderboard.uncertainty import sample_metric_slices, system_metric_slices

if TYPE_CHECKING:
    from collections.abc import Collection

    from assets.project import Benchmark
    from warehouse.queries.benchmarks import Source


def compare_pair(
    source: Source,
    benchmark: Benchmark,
    slice_: str,
    systems: tuple[str, str],
    metrics: Collection[tuple[str, str]],
) -> pl.DataFrame:
    """Compute the comparisons of two systems on one slice.

    The table has all pairs only for primary metrics on all questions. The numbers of another pair
    depend on all systems (Holm's adjustment), and are those that the table would have. The order of
    a pair that it lacks is never significantly reversed on the slice, so there is no
    `p_interaction`.

    Args:
        source: The warehouse or its published copy.
        benchmark: The benchmark.
        slice_: The slice.
        systems: The two systems.
        metrics: The metrics, as (evaluator, metric).

    Returns:
        One row per metric that both systems have; see `COMPARISONS_SCHEMA`.
    """
    tag = slice_.partition("=")[0]
    sliced = replace(benchmark, slices=() if slice_ == ALL else (tag,))
    scores = BenchmarkScores(source, [sliced])
    needed = tuple(
        each
        for each in benchmark.evaluators
        if any((each.name, metric.name) in metrics for metric in each.system_metrics)
    )
    system = compute_system_metrics(scores, [replace(sliced, evaluators=needed)])
    pseudo = system.pseudo[sliced.name]
    found = [pl.DataFrame(schema=COMPARISONS_SCHEMA)]
    if slice_ != ALL and slice_ not in pseudo.questions.slices:
        return found[0]
    for evaluator in benchmark.evaluators:
        wanted = {name for of, name in metrics if of == evaluator.name}
        if not wanted:
            continue
        every = chain(
            sample_metric_slices(scores, sliced, evaluator, pseudo.questions, (slice_,)),
            system_metric_slices(sliced, evaluator, pseudo),
        )
        found += [
            each.comparisons(each.is_pair(slice_, systems))
            for each in every
            if each.metric.name in wanted and slice_ in [own.name for own in each.slices]
        ]
    return pl.concat(found)
