"""A block: the numbers of one metric on one slice, and what can be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import polars.selectors as cs

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

PLACE = ("slice", "evaluator", "metric")

UNCERTAINTY = {
    **dict.fromkeys((*PLACE, "system"), pl.String),
    **dict.fromkeys(("std_error", "ci_low", "ci_high"), pl.Float64),
    "ci_method": pl.String,
    **dict.fromkeys(("n_clusters", "rank_low", "rank_high", "tied_with_best"), pl.Int64),
}
"""The columns of `Block.standings`."""

COMPARISONS = {
    **dict.fromkeys((*PLACE, "system_a", "system_b"), pl.String),
    **dict.fromkeys(("n_pairs", "n_clusters"), pl.Int64),
    **dict.fromkeys(("difference", "ci_low", "ci_high", "p_value", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "detectable_difference": pl.Float64,
}
"""The columns of `Block.comparisons`."""


@dataclass(frozen=True)
class MetricSlice:
    """One metric on one slice of a benchmark.

    Attributes:
        slice_: The slice.
        evaluator: The evaluator's name.
        metric: The metric.
        systems: The systems, in the order of the columns.
        values: Shape (questions, systems); NaN where there is no number. For a system metric, one
            pseudo-value for each part of the questions.
        groups: Which rows belong together.
        pass_fail: Whether the metric's numbers are passes and failures.
        whole: For a system metric, what each system was asked.
    """

    slice_: str
    evaluator: str
    metric: Metric
    systems: list[str]
    values: Floats
    groups: Groups
    pass_fail: bool = False
    whole: list[QuestionSet] | None = None

    @cached_property
    def data(self) -> ClusterSums:
        """The numbers, summed within clusters."""
        return sum_by_cluster(self.values, self.groups)

    def uncertainty(self, method: Literal["bootstrap", "t"]) -> pl.DataFrame:
        """How sure each system's mean and rank are; the columns of `STANDINGS`.

        Args:
            method: How to find the intervals of numbers that are not passes and failures.
        """
        data, alone = self.data, len(self.systems) == 1
        # One system has no rank to be unsure of, and Wilson's interval needs no draws.
        spared = alone and (self.pass_fail or method == "t" or len(data.sums) > LARGE)
        draws = np.empty((0, len(self.systems))) if spared else resampled_means(data)
        bounds = self.metric.bounds
        known = np.isfinite(data.means)
        clusters = data.clusters
        if self.whole is not None:
            clusters = np.array([asked.counts[1] for asked in self.whole])
        sure = uncertainty(
            data,
            draws,
            pass_fail=self.pass_fail,
            bounds=bounds,
            method=method,
            clusters=clusters,
        )
        if alone:
            low = high = known.astype(np.int64)
        else:
            low, high = rank_intervals(data.means, draws, self.metric.best)
        has_interval = np.isfinite(sure.interval.low)
        return self._framed(
            {
                "system": self.systems,
                "std_error": sure.std_error,
                "ci_low": sure.interval.low,
                "ci_high": sure.interval.high,
                "ci_method": [sure.method if there else None for there in has_interval],
                "n_clusters": clusters,
                "rank_low": [int(rank) or None for rank in low],
                "rank_high": [int(rank) or None for rank in high],
                "tied_with_best": self._tied(),
            },
            UNCERTAINTY,
        )

    @cached_property
    def compared(self) -> Comparisons:
        """Every pair of systems."""
        pairs = every_pair(len(self.systems))
        return compare(
            self.values, self.groups, pairs, best=self.metric.best, pass_fail=self.pass_fail
        )

    def comparisons(self) -> pl.DataFrame:
        """Every pair of systems; the columns of `COMPARISONS`."""
        if len(self.systems) == 1:
            return pl.DataFrame(schema=COMPARISONS)
        found = self.compared
        n_pairs, clusters = found.n_pairs, found.clusters
        if self.whole is not None:
            shared = [self.whole[a].shared(self.whole[b]) for a, b in found.pairs.tolist()]
            n_pairs, clusters = np.array(shared).T
        return self._framed(
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
            COMPARISONS,
        )

    def _tied(self) -> list[int | None]:
        """1 for each system that the best one is not significantly better than, itself included."""
        means = self.data.means
        tied: list[int | None] = [1 if np.isfinite(mean) else None for mean in means]
        if not np.isfinite(means).any() or len(means) == 1:
            return tied
        best = int(np.nanargmax(means) if self.metric.best == "high" else np.nanargmin(means))
        for (a, b), verdict in zip(
            self.compared.pairs.tolist(), self.compared.verdict, strict=True
        ):
            if (best, verdict) in ((a, BETTER), (b, WORSE)):
                tied[b if best == a else a] = 0
        return tied

    def _framed(self, columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
        place = {"slice": self.slice_, "evaluator": self.evaluator, "metric": self.metric.name}
        count = len(next(iter(columns.values())))
        repeated = {name: [value] * count for name, value in place.items()}
        frame = pl.DataFrame(repeated | columns, schema=schema, strict=False)
        return frame.with_columns(cs.float().fill_nan(None))
