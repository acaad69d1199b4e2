"""One metric on one slice, and a system metric by parts of the questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assets.leaderboard.score_matrix import ALL
from evaluators.statistics.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.leaderboard.score_matrix import QuestionSet
    from evaluators.metric import Metric
    from evaluators.outcome import Chance
    from evaluators.statistics.arrays import Floats, Integers


@dataclass(frozen=True)
class PartValues:
    """A system metric by parts of the system's questions.

    Attributes:
        values: The pseudo-value of each part.
        sizes: The number of questions in each part.
        questions: The questions.
        chance: What noise alone gives, for a metric that noise moves off its best value.
        is_debiased: Whether the metric is the excess over the chance level.
    """

    values: Floats
    sizes: Floats
    questions: QuestionSet
    chance: Chance | None = None
    is_debiased: bool = False

    def cover_noise(self, ends: Interval) -> Interval:
        """Return the interval of the true value of a metric that noise increases.

        The metric with noise is larger than the truth, on average by at most its chance level. So
        the lower end is the metric less the most that noise gives (consistency resampling), and the
        upper end that of the metric with noise. The debiased metric estimates the same truth.

        Args:
            ends: The interval of the expectation of the metric, from its pseudo-values.

        Source: Bröcker and Smith, "Increasing the reliability of reliability diagrams", 2007.
        """
        if self.chance is None or np.isnan(self.values).all():
            return ends
        removed = self.chance.level if self.is_debiased else 0.0
        low = np.nanmean(self.values) + removed - self.chance.high
        return Interval(np.where(np.isnan(ends.low), np.nan, low), ends.high + removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSlice:
    """One metric on one slice of a benchmark: the family of tests of Holm's adjustment.

    Attributes:
        benchmark: The benchmark.
        name: The slice.
        evaluator: The evaluator's name.
        metric: The metric.
        systems: The systems.
        baselines: The systems with which all others are compared in the stored rows.
        by_common: Whether systems are ranked by the questions that all of them have.
        rows: Of a sample metric on a slice: its rows in the matrix of all questions.
        threshold: The threshold of the mean that is tested; None without one.
    """

    benchmark: str
    name: str
    evaluator: str
    metric: Metric
    systems: Sequence[str]
    baselines: frozenset[str] = frozenset()
    by_common: bool = False
    rows: Integers | None = None
    threshold: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The benchmark, the evaluator and the metric."""
        return self.benchmark, self.evaluator, self.metric.name

    @property
    def stores_all(self) -> bool:
        """Whether every pair is stored, not only those with the best system and the baselines."""
        return self.metric.primary and self.name == ALL
