"""The regression gate: is a system significantly worse than a baseline?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from assets.analysis.comparability import require_comparable
from assets.leaderboard.score_matrix import load_question_index
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.comparisons import compare
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.permutation_test import least_p
from warehouse.queries.comparisons import paired_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.leaderboard.score_matrix import QuestionIndex, Source
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric

Verdict: TypeAlias = Literal["improved", "unchanged", "regressed", "not_enough_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The gate's verdict on one metric of a system and its baseline.

    Attributes:
        address: `evaluator.metric`.
        n_pairs: The questions on which both systems have a value.
        difference: The system's mean minus the baseline's.
        low: The lower end of its 95 % interval; NaN where there is none.
        high: The upper end.
        p_value: The p-value of no change beyond the tolerance, adjusted for all metrics.
        detectable: The smallest difference that this number of questions can detect.
        verdict: The verdict.
    """

    address: str
    n_pairs: int
    difference: float
    low: float
    high: float
    p_value: float
    detectable: float
    verdict: Verdict


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
    pairs = [
        _load_pair(source, benchmark, system, baseline, evaluator, metric)
        for evaluator, metric in metrics
    ]
    tests = [
        _test_difference(pair, questions, metric, tolerance)
        for pair, (_, metric) in zip(pairs, metrics, strict=True)
    ]
    n_tests = sum(each.n > 0 for each in tests)
    gains = holm(np.array([each.gain_p for each in tests]))
    losses = holm(np.array([each.loss_p for each in tests]))
    return [
        each.judge(f"{evaluator.name}.{metric.name}", float(gain), float(loss), tolerance, n_tests)
        for each, (evaluator, metric), gain, loss in zip(tests, metrics, gains, losses, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _DifferenceTest:
    """The tests of one metric; `sign` is 1 where a higher value is better, else -1."""

    n: int
    clusters: int
    difference: float
    low: float
    high: float
    detectable: float
    sign: float
    gain_p: float
    loss_p: float

    def judge(
        self, address: str, gain_p: float, loss_p: float, tolerance: float, n_tests: int
    ) -> GateResult:
        """Return the verdict for adjusted p-values of a gain and of a loss."""
        gain = self.sign * self.difference
        worst, best = sorted((self.sign * self.low, self.sign * self.high))
        verdict: Verdict = "unchanged"
        # The interval is NaN if all differences are equal; it then contradicts no verdict.
        if loss_p < LEVEL and gain < -tolerance and not best >= -tolerance:
            verdict = "regressed"
        elif gain_p < LEVEL and gain > 0 and not worst <= 0:
            verdict = "improved"
        elif not self._is_decidable(n_tests) or (tolerance > 0 and worst < -tolerance):
            verdict = "not_enough_data"
        return GateResult(
            address=address,
            n_pairs=self.n,
            difference=self.difference,
            low=self.low,
            high=self.high,
            p_value=loss_p if gain < 0 else gain_p,
            detectable=self.detectable,
            verdict=verdict,
        )

    def _is_decidable(self, n_tests: int) -> bool:
        """Return whether any result on these questions could be significant."""
        return self.n > 0 and float(least_p(np.array(self.clusters))) * n_tests < LEVEL


def _load_pair(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    evaluator: Evaluator,
    metric: Metric,
) -> pl.DataFrame:
    """Load the scores of two systems side by side, null where one is missing."""
    require_comparable(source, benchmark, system, baseline, evaluator)
    query = paired_scores(benchmark.name, evaluator.name, metric.name, system, baseline)
    return source.fetch(query.sql, query.parameters)


def _test_difference(
    scores: pl.DataFrame, questions: QuestionIndex, metric: Metric, tolerance: float
) -> _DifferenceTest:
    sign = 1.0 if metric.best == "high" else -1.0
    values = scores.select("one", "other").cast(pl.Float64).fill_null(np.nan).to_numpy()
    groups = questions.groups(scores["question"].to_numpy())
    pair = np.array([[0, 1]])
    pass_fail = is_pass_fail(values)
    plain = compare(values, groups, pair, best=metric.best, pass_fail=pass_fail)
    loss_p = float(plain.p_value[0])
    if tolerance:
        # Shifting the system by the tolerance turns "a loss beyond the tolerance" into "a loss".
        shifted_values = values + np.array([sign * tolerance, 0.0])
        shifted = compare(shifted_values, groups, pair, best=metric.best, pass_fail=False)
        loss_p = float(shifted.p_value[0])
    return _DifferenceTest(
        n=int(plain.n_pairs[0]),
        clusters=int(plain.clusters[0]),
        difference=float(plain.difference[0]),
        low=float(plain.low[0]),
        high=float(plain.high[0]),
        detectable=float(plain.detectable[0]),
        sign=sign,
        gain_p=float(plain.p_value[0]),
        loss_p=loss_p,
    )
