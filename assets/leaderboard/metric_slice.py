"""One metric on one slice: uncertainty per system and pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import polars.selectors as cs

from assets.leaderboard.aggregate import METRIC_KEY
from evaluators.statistics.bootstrap import LARGE, resampled_means
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.comparisons import BETTER, WORSE, compare, every_pair
from evaluators.statistics.intervals import uncertainty
from evaluators.statistics.ranks import rank_intervals

if TYPE_CHECKING:
    from assets.leaderboard.score_matrix import QuestionSet
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Floats
    from evaluators.statistics.clusters import ClusterSums
    from evaluators.statistics.comparisons import Comparisons

UNCERTAINTY_SCHEMA = {
    **dict.fromkeys((*METRIC_KEY, "system"), pl.String),
    **dict.fromkeys(("std_error", "ci_low", "ci_high"), pl.Float64),
    "ci_method": pl.String,
    **dict.fromkeys(("n_clusters", "tied_with_best"), pl.Int64),
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
        pass_fail: Whether the metric is pass/fail.
        question_sets: For a system metric, the questions of each system.
    """

    slice_: str
    evaluator: str
    metric: Metric
    systems: list[str]
    values: Floats
    groups: Groups
    pass_fail: bool = False
    question_sets: list[QuestionSet] | None = None

    @cached_property
    def cluster_sums(self) -> ClusterSums:
        """The values, summed within clusters."""
        return sum_by_cluster(self.values, self.groups)

    def uncertainty(self, method: Literal["bootstrap", "t"]) -> pl.DataFrame:
        """Return the uncertainty of each system's mean and rank; see `UNCERTAINTY_SCHEMA`.

        Args:
            method: The interval method for metrics that are not pass/fail.
        """
        sums, is_single = self.cluster_sums, len(self.systems) == 1
        # A single system needs no rank interval, and Wilson's interval needs no bootstrap.
        needs_no_draws = is_single and (self.pass_fail or method == "t" or len(sums.sums) > LARGE)
        draws = np.empty((0, len(self.systems))) if needs_no_draws else resampled_means(sums)
        clusters = sums.clusters
        if self.question_sets is not None:
            clusters = np.array([each.counts[1] for each in self.question_sets])
        found = uncertainty(
            sums,
            draws,
            pass_fail=self.pass_fail,
            bounds=self.metric.bounds,
            method=method,
            clusters=clusters,
        )
        if is_single:
            low = high = np.isfinite(sums.means).astype(np.int64)
        else:
            low, high = rank_intervals(sums.means, draws, self.metric.best)
        has_interval = np.isfinite(found.interval.low)
        return self._to_frame(
            {
                "system": self.systems,
                "std_error": found.std_error,
                "ci_low": found.interval.low,
                "ci_high": found.interval.high,
                "ci_method": [found.method if each else None for each in has_interval],
                "n_clusters": clusters,
                "rank_low": [int(rank) or None for rank in low],
                "rank_high": [int(rank) or None for rank in high],
                "tied_with_best": self._tied_with_best(),
            },
            UNCERTAINTY_SCHEMA,
        )

    @cached_property
    def pairwise(self) -> Comparisons:
        """The comparisons of all pairs of systems."""
        pairs = every_pair(len(self.systems))
        return compare(
            self.values, self.groups, pairs, best=self.metric.best, pass_fail=self.pass_fail
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

    def _tied_with_best(self) -> list[int | None]:
        """Return 1 for the best system and those not significantly worse, 0 for all others."""
        means = self.cluster_sums.means
        tied: list[int | None] = [1 if np.isfinite(mean) else None for mean in means]
        if not np.isfinite(means).any() or len(means) == 1:
            return tied
        best = int(np.nanargmax(means) if self.metric.best == "high" else np.nanargmin(means))
        for (a, b), verdict in zip(
            self.pairwise.pairs.tolist(), self.pairwise.verdict, strict=True
        ):
            if (best, verdict) in ((a, BETTER), (b, WORSE)):
                tied[b if best == a else a] = 0
        return tied

    def _to_frame(self, columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
        key = {"slice": self.slice_, "evaluator": self.evaluator, "metric": self.metric.name}
        count = len(next(iter(columns.values())))
        repeated = {name: [value] * count for name, value in key.items()}
        frame = pl.DataFrame(repeated | columns, schema=schema, strict=False)
        return frame.with_columns(cs.float().fill_nan(None))
