"""Paired gains of a system over its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.analysis.comparability import NotComparable, require_comparable
from assets.leaderboard.benchmark_scores import load_question_index
from evaluators.statistics.clusters import ClusterSums, Groups, sum_by_cluster
from warehouse.queries.comparisons import paired_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.leaderboard.score_matrix import Keys, QuestionIndex
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Floats, Integers
    from warehouse.queries.benchmarks import Source


@dataclass(frozen=True)
class PairedScores:
    """The scores of a system and its baseline on the questions where both have one.

    Attributes:
        values: Shape (questions, 2): the system's scores and the baseline's.
        clusters: Shape (questions,): the key of each question's cluster.
        metric: The metric.
    """

    values: Floats
    clusters: Keys
    metric: Metric

    @property
    def sign(self) -> float:
        """1 where high scores are better, otherwise -1."""
        return 1.0 if self.metric.best == "high" else -1.0

    @property
    def reach(self) -> float:
        """The largest possible gain or loss on a question; infinite on an unbounded scale."""
        low, high = self.metric.bounds
        return high - low

    @cached_property
    def keys(self) -> Keys:
        """The distinct keys of the clusters, in the order of the rows of `gains`."""
        return np.unique(self.clusters)

    @property
    def groups(self) -> Groups:
        """The clusters of the questions."""
        return Groups(self._codes)

    @cached_property
    def gains(self) -> ClusterSums:
        """The gains of the system, positive where it is better, summed within clusters."""
        order = np.argsort(self.clusters, kind="stable")
        gains = self.sign * (self.values[order, :1] - self.values[order, 1:])
        return sum_by_cluster(gains, Groups(self._codes[order]))

    @cached_property
    def _codes(self) -> Integers:
        return np.searchsorted(self.keys, self.clusters).astype(np.int64)

    @property
    def gain(self) -> float:
        """The mean gain; NaN without questions."""
        return float(self.gains.means[0])


def load_comparable_scores(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    metrics: Sequence[tuple[Evaluator, Metric]],
) -> list[PairedScores]:
    """Load the scores of a system and its baseline by each metric.

    Raises:
        NotComparable: The systems have different questions, configurations or judges, their scores
            are out of date, or a failed answer has no worst value.
    """
    questions = load_question_index(source, benchmark)
    scores = []
    for evaluator, metric in metrics:
        require_comparable(source, benchmark, system, baseline, evaluator)
        names = (benchmark.name, system, baseline)
        scores.append(load_paired_scores(source, questions, names, evaluator, metric))
    return scores


def load_paired_scores(
    source: Source,
    questions: QuestionIndex,
    names: tuple[str, str, str],
    evaluator: Evaluator,
    metric: Metric,
) -> PairedScores:
    """Load the scores of a system and its baseline.

    Args:
        source: The warehouse or its published copy.
        questions: The clusters of the questions.
        names: The benchmark, the system and the baseline.
        evaluator: The evaluator.
        metric: The metric.

    Raises:
        NotComparable: The system failed to answer questions, and the metric has no worst value:
            without these questions the system would gain by failing.
    """
    benchmark, system, baseline = names
    query = paired_scores(benchmark, evaluator.name, metric.name, system, baseline)
    every = source.fetch(*query)
    failed = every.filter("has_failed", pl.col("other").is_not_null()).height
    if failed and metric.worst is None:
        raise NotComparable(
            f"{system!r} failed to answer {failed} of the questions that {baseline!r} answered, "
            f"and {evaluator.name}.{metric.name} has no worst value for a failed answer: answer "
            "them, or leave it out of the gate's metrics"
        )
    scores = every.drop_nulls(("one", "other"))
    values = scores.select("one", "other").cast(pl.Float64).to_numpy()
    return PairedScores(values, questions.cluster_keys(scores["question"].to_numpy()), metric)
