"""The gate: whether a system is worse than a baseline, by more than noise and a tolerance."""

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
    """One metric of a system beside a baseline's.

    Attributes:
        address: `evaluator.metric`.
        n_pairs: The questions on which both have a number.
        difference: The system's mean less the baseline's.
        low: The lower end of its 95 % interval; NaN where there is none.
        high: The upper end.
        p_value: Of the hypothesis that it is the tolerance at most, adjusted for the metrics.
        detectable: The smallest difference that so many questions show.
        verdict: What to make of it.
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

    A metric has regressed when it is significantly worse by more than the tolerance, and improved
    when it is significantly better, both at 5 % over all metrics (Holm). It is unchanged when
    neither is so, and, with a tolerance, when a loss beyond it can be ruled out. Otherwise, and
    where no answers could have decided, there is not enough data.

    Args:
        source: Where the scores are.
        benchmark: The benchmark.
        system: The system that is to pass.
        baseline: The system that it is held against.
        metrics: The metrics of single samples to look at.
        tolerance: The loss that does not matter, on the metric's scale.

    Raises:
        NotComparable: The two were asked different questions, scored by different configurations,
            or judged by different models, or their scores are out of date.
    """
    questions = load_question_index(source, benchmark)
    pairs = [
        _paired(source, benchmark, system, baseline, evaluator, metric)
        for evaluator, metric in metrics
    ]
    compared = [
        _compared(found, questions, metric, tolerance)
        for found, (_, metric) in zip(pairs, metrics, strict=True)
    ]
    tests = sum(each.n > 0 for each in compared)
    gains = holm(np.array([each.gain_p for each in compared]))
    losses = holm(np.array([each.loss_p for each in compared]))
    return [
        each.gated(f"{evaluator.name}.{metric.name}", float(gain), float(loss), tolerance, tests)
        for each, (evaluator, metric), gain, loss in zip(
            compared, metrics, gains, losses, strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class _Compared:
    """The tests of one metric; gains are counted towards the good end."""

    n: int
    clusters: int
    difference: float
    low: float
    high: float
    detectable: float
    sign: float
    gain_p: float
    loss_p: float

    def gated(
        self, address: str, gain_p: float, loss_p: float, tolerance: float, tests: int
    ) -> GateResult:
        gain = self.sign * self.difference
        worst, best = sorted((self.sign * self.low, self.sign * self.high))
        verdict: Verdict = "unchanged"
        # An interval that does not exist (all differences are equal) contradicts nothing.
        if loss_p < LEVEL and gain < -tolerance and not best >= -tolerance:
            verdict = "regressed"
        elif gain_p < LEVEL and gain > 0 and not worst <= 0:
            verdict = "improved"
        elif not self.decidable(tests) or (tolerance > 0 and worst < -tolerance):
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

    def decidable(self, tests: int) -> bool:
        """Whether any answers to these questions could have been significant among these tests."""
        return self.n > 0 and float(least_p(np.array(self.clusters))) * tests < LEVEL


def _paired(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    evaluator: Evaluator,
    metric: Metric,
) -> pl.DataFrame:
    """The numbers of the two systems side by side, null where one is missing."""
    require_comparable(source, benchmark, system, baseline, evaluator)
    query = paired_scores(benchmark.name, evaluator.name, metric.name, system, baseline)
    return source.fetch(query.sql, query.parameters)


def _compared(
    found: pl.DataFrame, questions: QuestionIndex, metric: Metric, tolerance: float
) -> _Compared:
    sign = 1.0 if metric.best == "high" else -1.0
    values = found.select("one", "other").cast(pl.Float64).fill_null(np.nan).to_numpy()
    groups = questions.groups(found["question"].to_numpy())
    pair = np.array([[0, 1]])
    passing = is_pass_fail(values)
    plain = compare(values, groups, pair, best=metric.best, pass_fail=passing)
    loss_p = float(plain.p_value[0])
    if tolerance:
        # A loss of the tolerance is no difference at all, once it is given back.
        lenient = values + np.array([sign * tolerance, 0.0])
        shifted = compare(lenient, groups, pair, best=metric.best, pass_fail=False)
        loss_p = float(shifted.p_value[0])
    return _Compared(
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
