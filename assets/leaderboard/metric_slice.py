"""One metric on one slice: uncertainty per system and pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from assets.leaderboard.aggregate import METRIC_KEY
from evaluators.statistics.clusters import ClusterSums, Groups, Independence, sum_by_cluster
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.intervals import Interval, uncertainty
from evaluators.statistics.ranks import RankSets, rank_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.leaderboard.score_matrix import QuestionSet
    from evaluators.metric import Metric
    from evaluators.outcome import Chance
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.comparisons import Comparisons
    from evaluators.statistics.intervals import Choice

UNCERTAINTY_SCHEMA = {
    **dict.fromkeys((*METRIC_KEY, "system"), pl.String),
    **dict.fromkeys(("std_error", "ci_low", "ci_high"), pl.Float64),
    "ci_method": pl.String,
    "n_clusters": pl.Int64,
    "effective_clusters": pl.Float64,
    **dict.fromkeys(("rank_low", "rank_high"), pl.Int32),
}
"""The columns of `MetricSlice.uncertainty`."""

COMPARISONS_SCHEMA = {
    **dict.fromkeys((*METRIC_KEY, "system_a", "system_b"), pl.String),
    **dict.fromkeys(("n_pairs", "n_clusters"), pl.Int64),
    **dict.fromkeys(("difference", "ci_low", "ci_high", "p_value", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "detectable_difference": pl.Float64,
}
"""The columns of `MetricSlice.comparisons`."""


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

    def independence(self) -> Independence:
        """How much independent data the metric rests on."""
        sizes = self.sizes[:, None]
        return Independence(
            np.array([self.questions.counts[1]]),
            np.array([self.questions.effective_clusters]),
            ClusterSums(sizes, sizes).degrees_of_freedom,
        )


@dataclass(frozen=True)
class MetricSlice:
    """One metric on one slice of a benchmark.

    Attributes:
        slice_: The slice.
        evaluator: The evaluator's name.
        metric: The metric.
        systems: The systems, in the order of the columns.
        values: Shape (questions, systems), NaN for missing values. For a system metric, one row
            of pseudo-values per part of the questions.
        groups: The clusters of the rows.
        pass_fail: Shape (systems,): whether all of a system's values are passes or failures.
        own: For a system metric, each system by parts of its own questions.
        question_sets: For a system metric, the questions of each system.
        rows: For a sample metric on a slice, the rows of the matrix of all questions.
    """

    slice_: str
    evaluator: str
    metric: Metric
    systems: list[str]
    values: Floats
    groups: Groups
    pass_fail: Booleans
    own: list[PartValues] | None = None
    question_sets: list[QuestionSet] | None = None
    rows: Integers | None = None

    @cached_property
    def cluster_sums(self) -> ClusterSums:
        """The values, summed within clusters."""
        return sum_by_cluster(self.values, self.groups)

    def uncertainty(self, method: Choice) -> pl.DataFrame:
        """Return the uncertainty of each system's mean and rank; see `UNCERTAINTY_SCHEMA`.

        Args:
            method: The interval method for values that are not passes and failures.
        """
        columns: dict[str, list[Any]] = {}
        for systems, data, basis in self._independent_columns():
            found = uncertainty(
                data,
                pass_fail=self.pass_fail[systems],
                bounds=self.metric.bounds,
                method=method,
                independence=basis,
            )
            ends = found.interval
            if self.own is not None:
                covered = self.own[systems[0]].cover_noise(ends)
                ends = Interval(*(np.clip(end, *self.metric.bounds) for end in covered))
            measured = {
                "std_error": found.std_error.tolist(),
                "ci_low": ends.low.tolist(),
                "ci_high": ends.high.tolist(),
                "ci_method": found.methods,
                "n_clusters": basis.clusters.tolist(),
                "effective_clusters": basis.effective.tolist(),
            }
            for name, values in measured.items():
                column = columns.setdefault(name, [None] * len(self.systems))
                for system, value in zip(systems, values, strict=True):
                    column[system] = value
        ranks = self._rank_sets()
        return self._to_frame(
            {
                "system": self.systems,
                **columns,
                "rank_low": [int(rank) or None for rank in ranks.low],
                "rank_high": [int(rank) or None for rank in ranks.high],
            },
            UNCERTAINTY_SCHEMA,
        )

    def _independent_columns(self) -> Iterator[tuple[list[int], ClusterSums, Independence]]:
        """Yield systems with their own clusters.

        The uncertainty of a system must not depend on the questions of others, so only systems with
        the same questions share a matrix.
        """
        if self.own is not None:
            for system, part in enumerate(self.own):
                data = sum_by_cluster(part.values[:, None], Groups())
                yield [system], data, part.independence()
            return
        present = np.isfinite(self.values)
        by_questions: dict[bytes, list[int]] = {}
        for system, column in enumerate(np.packbits(present, axis=0).T):
            by_questions.setdefault(column.tobytes(), []).append(system)
        for systems in by_questions.values():
            rows = present[:, systems[0]]
            groups = self.groups if rows.all() else self.groups.subset(rows)
            values = self.values[:, systems]
            data = sum_by_cluster(values if rows.all() else values[rows], groups)
            yield systems, data, data.independence

    def _rank_sets(self) -> RankSets:
        """Return the ranks that the comparisons allow; a single cluster allows no statement."""
        sums = self.cluster_sums
        return rank_sets(self.pairwise, np.isfinite(sums.means) & (sums.clusters > 1))

    @cached_property
    def pairwise(self) -> Comparisons:
        """The comparisons of all pairs of systems."""
        pairs = every_pair(len(self.systems))
        return compare(
            self.values,
            self.groups,
            pairs,
            best=self.metric.best,
            pass_fail=self.pass_fail,
            bounds=self.metric.bounds,
        )

    def comparisons(self) -> pl.DataFrame:
        """Return the comparisons of all pairs of systems; see `COMPARISONS_SCHEMA`."""
        if len(self.systems) == 1:
            return pl.DataFrame(schema=COMPARISONS_SCHEMA)
        found = self.pairwise
        n_pairs, clusters = found.n_pairs, found.clusters
        if self.question_sets is not None:
            sets = self.question_sets
            counts = [sets[a].shared_counts(sets[b]) for a, b in found.pairs.tolist()]
            n_pairs, clusters = np.array(counts).T
        return self._to_frame(
            {
                "system_a": [self.systems[a] for a in found.pairs[:, 0]],
                "system_b": [self.systems[b] for b in found.pairs[:, 1]],
                "n_pairs": n_pairs,
                "n_clusters": clusters,
                "difference": found.difference,
                "ci_low": found.low,
                "ci_high": found.high,
                "p_value": found.p_value,
                "p_adjusted": found.p_adjusted,
                "verdict": found.verdict,
                "detectable_difference": found.detectable,
            },
            COMPARISONS_SCHEMA,
        )

    def _to_frame(self, columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
        key = {"slice": self.slice_, "evaluator": self.evaluator, "metric": self.metric.name}
        count = len(next(iter(columns.values())))
        repeated = {name: [value] * count for name, value in key.items()}
        frame = pl.DataFrame(repeated | columns, schema=schema, strict=False)
        return frame.with_columns(cs.float().fill_nan(None))
