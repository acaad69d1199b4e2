"""Metrics on slices: uncertainty per system and pairwise comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.leaderboard.ranking import RANK_KEY, SAME
from evaluators.statistics.clusters import ClusterSums, Groups, Independence, sum_by_cluster
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.intervals import Interval, uncertainty
from evaluators.statistics.mean_bounds import misses_p
from evaluators.statistics.ranks import rank_sets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from assets.leaderboard.metric_slice import MetricSlice, PartValues
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.comparisons import Comparisons, Outcomes
    from evaluators.statistics.intervals import Choice

UNCERTAINTY_SCHEMA = {
    **dict.fromkeys((*RANK_KEY, "system"), pl.String),
    **dict.fromkeys(("std_error", "ci_low", "ci_high"), pl.Float64),
    "ci_method": pl.String,
    "n_clusters": pl.Int64,
    "effective_clusters": pl.Float64,
    **dict.fromkeys(("rank_low", "rank_high"), pl.Int32),
    "threshold_p": pl.Float64,
}
"""The columns of `MetricSlice.uncertainty`."""

COMPARISONS_SCHEMA = {
    **dict.fromkeys((*RANK_KEY, "system_a", "system_b"), pl.String),
    **dict.fromkeys(("n_pairs", "n_clusters"), pl.Int64),
    **dict.fromkeys(("difference", "ci_low", "ci_high", "p_value", "p_adjusted"), pl.Float64),
    "verdict": pl.String,
    "detectable_difference": pl.Float64,
}
"""The columns of `MetricSlice.comparisons`."""


@dataclass(frozen=True)
class SliceStatistics:
    """Metrics on slices that have equally many questions and systems, which are computed together.

    The columns of the matrices are the systems on the first slice, then those on the second, and so
    on. What is computed for one slice does not depend on the others.

    Attributes:
        slices: The slices. Their metrics have the same bounds and direction, and either all of them
            store all pairs or none does.
        values: Shape (questions, columns), NaN for missing values. For a system metric, one row of
            pseudo-values per part of the questions.
        groups: The clusters of the rows, the same on all slices.
        pass_fail: Shape (columns,): whether all of a system's values are passes or failures.
        own: For a system metric, each system by parts of its own questions.
    """

    slices: Sequence[MetricSlice]
    values: Floats
    groups: Groups
    pass_fail: Booleans
    own: Sequence[PartValues] | None = None

    @property
    def metric(self) -> Metric:
        """The metric of the first slice, whose bounds and direction are those of all."""
        return self.slices[0].metric

    @cached_property
    def systems(self) -> list[str]:
        """The system of each column."""
        return [system for each in self.slices for system in each.systems]

    @property
    def n_systems(self) -> int:
        """The number of systems on each slice."""
        return len(self.slices[0].systems)

    @cached_property
    def cluster_sums(self) -> ClusterSums:
        """The values, summed within clusters."""
        return sum_by_cluster(self.values, self.groups)

    def uncertainty(self, method: Choice) -> pl.DataFrame:
        """Return the uncertainty of each system's mean and rank; see `UNCERTAINTY_SCHEMA`.

        Args:
            method: The interval method for values that are not passes and failures.
        """
        count = self.values.shape[1]
        numbers = np.full((4, count), np.nan)
        methods = np.full(count, None, dtype=object)
        clusters = np.zeros(count, dtype=np.int64)
        for columns, data, basis in self._independent_columns():
            found = uncertainty(
                data,
                pass_fail=self.pass_fail[columns],
                bounds=self.metric.bounds,
                method=method,
                independence=basis,
            )
            ends = found.interval
            if self.own is not None:
                ends = self._cover_noise(columns, ends)
            numbers[:, columns] = found.std_error, *ends, basis.effective
            methods[columns] = found.methods
            clusters[columns] = basis.clusters
        sums = self.cluster_sums
        threshold_p = [
            np.full(self.n_systems, np.nan)
            if each.threshold is None
            else misses_p(data, each.threshold, each.metric.best, each.metric.bounds)
            for each, data in zip(self.slices, self._sums_by_slice(), strict=True)
        ]
        # A single cluster allows no statement.
        is_ranked = np.isfinite(sums.means) & (sums.clusters > 1)
        ranks = rank_sets(self.outcomes, is_ranked, len(self.slices))
        return self._to_frame(
            np.arange(len(self.slices)).repeat(self.n_systems),
            {
                "system": self.systems,
                "std_error": numbers[0],
                "ci_low": numbers[1],
                "ci_high": numbers[2],
                "ci_method": pl.Series(methods.tolist(), dtype=pl.String),
                "n_clusters": clusters,
                "effective_clusters": numbers[3],
                "rank_low": _rank_column(ranks.low, is_ranked),
                "rank_high": _rank_column(ranks.high, is_ranked),
                "threshold_p": np.concatenate(threshold_p),
            },
            UNCERTAINTY_SCHEMA,
        )

    def _sums_by_slice(self) -> Iterator[ClusterSums]:
        """Yield the values of each slice, summed within clusters."""
        for at in range(len(self.slices)):
            own = slice(at * self.n_systems, (at + 1) * self.n_systems)
            yield ClusterSums(self.cluster_sums.sums[:, own], self.cluster_sums.counts[:, own])

    def _independent_columns(self) -> Iterator[tuple[Integers, ClusterSums, Independence]]:
        """Yield columns with their own clusters.

        The uncertainty of a system must not depend on the questions of others, so only systems with
        the same questions share a matrix.
        """
        if self.own is not None:
            by_parts: dict[int, list[int]] = {}
            for column, part in enumerate(self.own):
                by_parts.setdefault(len(part.values), []).append(column)
            for columns in by_parts.values():
                parts = [self.own[column] for column in columns]
                data = sum_by_cluster(np.stack([each.values for each in parts], axis=1), Groups())
                sizes = np.stack([each.sizes for each in parts], axis=1)
                basis = Independence(
                    np.array([each.questions.counts[1] for each in parts]),
                    np.array([each.questions.effective_clusters for each in parts]),
                    ClusterSums(sizes, sizes).degrees_of_freedom,
                )
                yield np.array(columns), data, basis
            return
        present = np.isfinite(self.values)
        if present.all():
            data = self.cluster_sums
            yield np.arange(self.values.shape[1]), data, data.independence
            return
        by_questions: dict[bytes, list[int]] = {}
        for system, column in enumerate(np.packbits(present, axis=0).T):
            by_questions.setdefault(column.tobytes(), []).append(system)
        for columns in by_questions.values():
            rows = present[:, columns[0]]
            groups = self.groups if rows.all() else self.groups.subset(rows)
            values = self.values[:, columns]
            data = sum_by_cluster(values if rows.all() else values[rows], groups)
            yield np.array(columns), data, data.independence

    def _cover_noise(self, columns: Integers, ends: Interval) -> Interval:
        parts = self.own or []
        if all(parts[column].chance is None for column in columns):
            covered = ends
        else:
            pairs = [
                parts[column].cover_noise(Interval(*(end[[at]] for end in ends)))
                for at, column in enumerate(columns)
            ]
            covered = Interval(*(np.concatenate(each) for each in zip(*pairs, strict=True)))
        return Interval(*(np.clip(end, *self.metric.bounds) for end in covered))

    def compare(self, chosen: Booleans) -> Comparisons:
        """Return the comparisons of some pairs of systems, with the outcomes of all.

        Args:
            chosen: Shape (pairs,): the pairs.
        """
        return compare(
            self.values,
            self.groups,
            self._pairs,
            best=self.metric.best,
            pass_fail=self.pass_fail,
            bounds=self.metric.bounds,
            families=len(self.slices),
            is_wanted=chosen,
        )

    @cached_property
    def stored(self) -> Comparisons:
        """The comparisons to store."""
        return self.compare(self.is_stored)

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of all pairs of systems."""
        return self.stored.outcomes

    @cached_property
    def _pairs(self) -> Integers:
        return every_pair(self.n_systems, len(self.slices))

    @property
    def pairs_each(self) -> int:
        """The number of pairs on each slice."""
        return len(self._pairs) // len(self.slices)

    @cached_property
    def is_stored(self) -> Booleans:
        """Shape (pairs,): whether the table has the pair.

        Equal means share the first place; the first of these systems by name is the best.
        """
        if self.slices[0].stores_all:
            return np.ones(len(self._pairs), dtype=np.bool_)
        means = self._ranking_means()
        sign = 1.0 if self.metric.best == "high" else -1.0
        gain = np.where(np.isnan(means), -np.inf, sign * means)
        size = np.abs(np.nan_to_num(means)).max(axis=1, initial=1.0, keepdims=True)
        best = (gain >= gain.max(axis=1, keepdims=True) - SAME * size).argmax(axis=1)
        is_kept = np.array(
            [[system in each.baselines for system in each.systems] for each in self.slices],
            dtype=np.bool_,
        )
        is_kept[np.arange(len(best)), best] = True
        return np.asarray(is_kept.ravel()[self._pairs].any(axis=1))

    def _ranking_means(self) -> Floats:
        """Return the means that determine the best system: shape (slices, systems)."""
        shape = (len(self.slices), self.n_systems)
        if not self.slices[0].by_common:
            return self.cluster_sums.means.reshape(shape)
        values = self.values.reshape(-1, *shape)
        known = np.isfinite(values)
        common = (known | ~known.any(axis=0)).all(axis=2, keepdims=True) & known
        counts = common.sum(axis=0)
        sums = np.where(common, values, 0.0).sum(axis=0)
        means: Floats = np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0)
        return means

    def is_pair(self, slice_: str, systems: Collection[str]) -> Booleans:
        """Return which pair is that of two systems on one of the slices: shape (pairs,)."""
        columns = [
            at * self.n_systems + place
            for at, each in enumerate(self.slices)
            if each.name == slice_
            for place, name in enumerate(each.systems)
            if name in systems
        ]
        return np.asarray(np.isin(self._pairs, columns).all(axis=1))

    def comparisons(self, chosen: Booleans | None = None) -> pl.DataFrame:
        """Return comparisons of pairs of systems; see `COMPARISONS_SCHEMA`.

        Args:
            chosen: Shape (pairs,): the pairs; None: those to store.
        """
        found = self.stored if chosen is None else self.compare(chosen)
        pairs, n_pairs, clusters = found.pairs, found.n_pairs, found.clusters
        if self.own is not None and len(pairs):
            sets = [each.questions for each in self.own]
            counts = [sets[a].shared_counts(sets[b]) for a, b in pairs.tolist()]
            n_pairs, clusters = np.array(counts).T
        names = pl.Series(self.systems, dtype=pl.String)
        a, b = pairs.T
        return self._to_frame(
            a // max(1, self.n_systems),
            {
                "system_a": names[a],
                "system_b": names[b],
                "n_pairs": n_pairs,
                "n_clusters": clusters,
                "difference": found.difference,
                "ci_low": found.low,
                "ci_high": found.high,
                "p_value": found.p_value,
                "p_adjusted": found.p_adjusted,
                "verdict": pl.Series(found.verdict, dtype=pl.String),
                "detectable_difference": found.detectable,
            },
            COMPARISONS_SCHEMA,
        )

    def _to_frame(
        self, slices: Integers, columns: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> pl.DataFrame:
        """Return columns as a frame with the key of each slice, null for NaN."""
        keys = zip(*((each.name, *each.key) for each in self.slices), strict=True)
        names = ("slice", "benchmark", "evaluator", "metric")
        key = {
            name: pl.Series(values, dtype=pl.String)[slices]
            for name, values in zip(names, keys, strict=True)
        }
        every = key | dict(columns)
        return pl.DataFrame(
            [
                pl.Series(name, every[name], dtype, nan_to_null=isinstance(every[name], np.ndarray))
                for name, dtype in schema.items()
            ]
        )


def _rank_column(numbers: Integers, is_ranked: Booleans) -> pl.Series:
    """Return numbers, null for systems without a rank."""
    known = np.where(is_ranked, numbers, np.nan)
    return pl.Series(known, nan_to_null=True).cast(pl.Int32)
