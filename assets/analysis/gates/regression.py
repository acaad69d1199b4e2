"""The regression gate: is a system significantly worse than a baseline?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.analysis.comparability import require_comparable
from assets.analysis.gates.result import GateResult
from assets.leaderboard.score_matrix import load_question_index
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.comparisons import compare
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.permutation_test import least_p
from warehouse.queries.comparisons import paired_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.analysis.gates.result import Verdict
    from assets.leaderboard.score_matrix import QuestionIndex, Source
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.comparisons import Comparisons


def evaluate_gate(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    metrics: Sequence[tuple[Evaluator, Metric]],
    tolerance: float = 0.0,
) -> list[GateResult]:
    """Compare a system with a baseline, question by question.

    A metric has regressed if it is significantly worse by more than the tolerance, and improved if
    it is significantly better, both at 5 % over all metrics (Holm). Otherwise it is unchanged; with
    a tolerance, only if a loss beyond it can be ruled out. In all other cases, and if the questions
    are too few for any significant result, there is not enough data.

    Args:
        source: The warehouse or its published copy.
        benchmark: The benchmark.
        system: The system that must pass.
        baseline: The system to compare it with.
        metrics: The sample metrics to compare.
        tolerance: The acceptable loss, on the metric's scale.

    Raises:
        NotComparable: The systems have different questions, configurations or judges, or their
            scores are out of date.
    """
    questions = load_question_index(source, benchmark)
    tests = []
    for evaluator, metric in metrics:
        require_comparable(source, benchmark, system, baseline, evaluator)
        query = paired_scores(benchmark.name, evaluator.name, metric.name, system, baseline)
        tests.append(_test_difference(source.fetch(*query), questions, metric, tolerance))
    n_tests = sum(int(found.n_pairs[0] > 0) for found, _ in tests)
    gains = holm(np.array([found.p_value[0] for found, _ in tests]))
    losses = holm(np.array([loss_p for _, loss_p in tests]))
    names = (benchmark.name, system, baseline)
    return [
        _judge(names, evaluator, metric, found, float(gain_p), float(loss_p), tolerance, n_tests)
        for (evaluator, metric), (found, _), gain_p, loss_p in zip(
            metrics, tests, gains, losses, strict=True
        )
    ]


def _test_difference(
    scores: pl.DataFrame, questions: QuestionIndex, metric: Metric, tolerance: float
) -> tuple[Comparisons, float]:
    """Return the comparison of two systems, and the p-value of a loss beyond the tolerance."""
    values = scores.select("one", "other").cast(pl.Float64).fill_null(np.nan).to_numpy()
    groups = questions.groups(scores["question"].to_numpy())
    pair = np.array([[0, 1]])
    found = compare(values, groups, pair, best=metric.best, pass_fail=is_pass_fail(values))
    if not tolerance:
        return found, float(found.p_value[0])
    # Shifting the system by the tolerance turns "a loss beyond the tolerance" into "a loss".
    shifted_values = values + np.array([_sign(metric) * tolerance, 0.0])
    shifted = compare(shifted_values, groups, pair, best=metric.best, pass_fail=False)
    return found, float(shifted.p_value[0])


def _judge(
    names: tuple[str, str, str],
    evaluator: Evaluator,
    metric: Metric,
    found: Comparisons,
    gain_p: float,
    loss_p: float,
    tolerance: float,
    n_tests: int,
) -> GateResult:
    """Return the verdict for adjusted p-values of a gain and of a loss."""
    difference, low, high = (float(each[0]) for each in (found.difference, found.low, found.high))
    sign, n_pairs = _sign(metric), int(found.n_pairs[0])
    gain = sign * difference
    worst, best = sorted((sign * low, sign * high))
    is_decidable = n_pairs > 0 and float(least_p(found.clusters)[0]) * n_tests < LEVEL
    verdict: Verdict = "unchanged"
    # The interval is NaN if all differences are equal; it then contradicts no verdict.
    if loss_p < LEVEL and gain < -tolerance and not best >= -tolerance:
        verdict = "regressed"
    elif gain_p < LEVEL and gain > 0 and not worst <= 0:
        verdict = "improved"
    elif not is_decidable or (tolerance > 0 and worst < -tolerance):
        verdict = "not_enough_data"
    return GateResult(
        benchmark=names[0],
        system=names[1],
        baseline=names[2],
        evaluator=evaluator.name,
        metric=metric.name,
        kind="regression",
        value=difference,
        limit=tolerance,
        n_pairs=n_pairs,
        low=low,
        high=high,
        p_value=loss_p if gain < 0 else gain_p,
        detectable=float(found.detectable[0]),
        verdict=verdict,
    )


def _sign(metric: Metric) -> float:
    return 1.0 if metric.best == "high" else -1.0
