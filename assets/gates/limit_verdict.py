"""Absolute gates: does the mean of a metric reach a number?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import polars as pl

from assets.analysis.comparability import NotComparable, require_scored
from assets.gates.result import GateResult
from assets.leaderboard.benchmark_scores import load_question_index
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import sum_by_cluster
from evaluators.statistics.mean_bounds import exact_interval
from warehouse.queries.comparisons import paired_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.gates.result import Verdict
    from assets.leaderboard.score_matrix import QuestionIndex
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.queries.benchmarks import Source

EQUAL = 1e-12
"""Numbers that differ by less than this, or by less than this share of them, are equal."""

_MEANS = """
SELECT evaluator, metric, signature, mean, ci_low, ci_high, n_scored
FROM leaderboard
WHERE benchmark = $benchmark AND slice = 'all' AND system = $system
"""


def evaluate_limit(
    source: Source,
    benchmark: Benchmark,
    system: str,
    kind: Literal["min", "max"],
    limit: float,
    metrics: Sequence[tuple[Evaluator, Metric]],
    *,
    confident: bool = False,
) -> list[GateResult]:
    """Compare the means of a system with a number.

    A mean that equals the limit meets it. Without a mean, or without an interval that `confident`
    needs, there is not enough data, which does not pass.

    Args:
        source: The warehouse or its published copy.
        benchmark: The benchmark.
        system: The system that must pass.
        kind: Whether the limit is the smallest or the largest mean that passes.
        limit: The number, on the scale of the metrics.
        metrics: The metrics, of samples or of the whole system.
        confident: Whether the end of the 95 % interval that is nearer to failing must reach the
            limit, too. On a bounded scale, each end holds for any number of questions.

    Raises:
        NotComparable: The system was not scored by the evaluator as configured now, or its
            questions or answers have changed since.
    """
    rows = source.fetch(_MEANS, {"benchmark": benchmark.name, "system": system})
    by_metric = {(row["evaluator"], row["metric"]): row for row in rows.iter_rows(named=True)}
    for evaluator in {evaluator.name: evaluator for evaluator, _ in metrics}.values():
        require_scored(source, benchmark, [system], evaluator)
    questions = load_question_index(source, benchmark) if confident else None
    results = []
    for evaluator, metric in metrics:
        row = by_metric.get((evaluator.name, metric.name))
        if row is None or row["signature"] != evaluator.signature:
            raise NotComparable(
                f"the leaderboard of {benchmark.name!r} has no {evaluator.name}.{metric.name} of "
                f"{system!r} as configured now: run `scoreline run` first"
            )
        mean, low, high = (_number(row[name]) for name in ("mean", "ci_low", "ci_high"))
        is_tested = metric.level == "sample" and all(map(math.isfinite, metric.bounds))
        if questions is not None and is_tested and not math.isnan(mean):
            names = (benchmark.name, system)
            low, high = _exact_interval(source, questions, names, evaluator, metric)
        end = low if kind == "min" else high
        results.append(
            GateResult(
                benchmark=benchmark.name,
                system=system,
                baseline=None,
                evaluator=evaluator.name,
                metric=metric.name,
                kind=kind,
                value=mean,
                limit=limit,
                low=low,
                high=high,
                verdict=_verdict(kind, limit, end if confident else mean),
                n_pairs=row["n_scored"],
                p_value=math.nan,
                detectable=math.nan,
                confident=confident,
            )
        )
    return results


def _exact_interval(
    source: Source,
    questions: QuestionIndex,
    names: tuple[str, str],
    evaluator: Evaluator,
    metric: Metric,
) -> tuple[float, float]:
    """Return an interval of the mean, of which each end fails with at most 2.5 %.

    The interval of the leaderboard is narrower, but holds only approximately.
    """
    benchmark, system = names
    query = paired_scores(benchmark, evaluator.name, metric.name, system, system)
    scores = source.fetch(*query).drop_nulls("one")
    values = scores["one"].cast(pl.Float64).to_numpy()
    clusters = questions.groups(scores["question"].to_numpy())
    return exact_interval(sum_by_cluster(values[:, None], clusters), metric.bounds, LEVEL / 2)


def _verdict(kind: Literal["min", "max"], limit: float, value: float) -> Verdict:
    if math.isnan(value):
        return "not_enough_data"
    reaches = value > limit if kind == "min" else value < limit
    # The order of summation changes the last digits of a mean.
    is_equal = math.isclose(value, limit, rel_tol=EQUAL, abs_tol=EQUAL)
    return "met" if reaches or is_equal else "missed"


def _number(value: float | None) -> float:
    return math.nan if value is None else value
