"""The facts of metrics that stand beside their values: direction, scale, threshold, order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from assets.project import source_threshold, threshold_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator


def metric_facts(
    evaluators: Sequence[Evaluator], benchmark: Benchmark | None = None
) -> pl.DataFrame:
    """Return the facts of each metric of some evaluators.

    Args:
        evaluators: The evaluators, with their parameters.
        benchmark: The benchmark, whose thresholds apply; without one, those of the sources.

    Returns:
        One row per metric: evaluator, signature, metric, summary, best, bound_low and bound_high
        (null for an unbounded scale), best_value and worst_value (the same by direction),
        threshold, is_primary (1 or 0), position, level. Positions number the metrics from 1 in the
        order in which they are shown: the headline metric, the primary metrics in the order of the
        evaluators, all others.
    """
    rank_by = benchmark.rank_by if benchmark else None
    rows = [
        {
            "evaluator": evaluator.name,
            "signature": evaluator.signature,
            "metric": metric.name,
            "summary": metric.summary,
            "best": metric.best,
            "bound_low": _finite(metric.bounds[0]),
            "bound_high": _finite(metric.bounds[1]),
            "best_value": _finite(metric.bounds[metric.best == "high"]),
            "worst_value": _finite(metric.bounds[metric.best == "low"]),
            "threshold": (
                threshold_of(benchmark, evaluator, metric)
                if benchmark
                else source_threshold(metric)
            ),
            "is_primary": int(metric.primary),
            "level": metric.level,
        }
        for evaluator in evaluators
        for metric in (*evaluator.sample_metrics, *evaluator.system_metrics)
    ]
    rows.sort(key=lambda row: _order(row, rank_by))
    rows = [{**row, "position": position} for position, row in enumerate(rows, 1)]
    schema = {
        **dict.fromkeys(("evaluator", "signature", "metric", "summary", "best"), pl.String),
        **dict.fromkeys(("bound_low", "bound_high", "best_value", "worst_value"), pl.Float64),
        "threshold": pl.Float64,
        **dict.fromkeys(("is_primary", "position"), pl.Int32),
        "level": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def _order(row: Mapping[str, object], rank_by: str | None) -> tuple[bool, bool]:
    address = f"{row['evaluator']}.{row['metric']}"
    return address != rank_by, not row["is_primary"]


def mark_headline(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column `is_headline`: 1 for the metric by which systems are ordered.

    That is the first metric by position. If it has no ranks (the judge is missing), it is the next
    primary one that has ranks over all questions.

    Args:
        rows: The leaderboard rows of benchmarks: benchmark, slice, rank, is_primary and position.
    """
    candidate = (pl.col("slice") == "all") & pl.col("rank").is_not_null()
    candidate &= (pl.col("position") == 1) | (pl.col("is_primary") == 1)
    first = pl.col("position").filter(candidate).min().over("benchmark").fill_null(1)
    return rows.with_columns(is_headline=(pl.col("position") == first).cast(pl.Int32))


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
