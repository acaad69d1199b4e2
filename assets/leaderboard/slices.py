"""What many slices show beyond chance: interactions with systems, and shrunken means."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.ranking import RANK_KEY
from assets.leaderboard.score_matrix import ALL
from evaluators.statistics.slices import interaction_p, shrunken_means

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from assets.leaderboard.metric_slice import MetricSlice
    from assets.leaderboard.slice_statistics import SliceStatistics
    from evaluators.statistics.arrays import Booleans

    MetricKey: TypeAlias = tuple[str, str, str]

PAIR_KEY = (*RANK_KEY, "system_a", "system_b")

INTERACTIONS_SCHEMA = {**dict.fromkeys(PAIR_KEY, pl.String), "p_interaction": pl.Float64}
"""The columns of `Interactions.adjusted`."""


@dataclass
class Interactions:
    """Tests of whether the order of two systems on a slice differs from their overall order.

    Only pairs that reverse their order significantly are tested; the others count as tests with
    p = 1, which makes the adjustment conservative and keeps many systems and slices fast.

    Attributes:
        tests: By benchmark, the number of pairs on all slices, whether they reverse their order or
            not.
        rows: By benchmark, the keys and unadjusted p-values of the tested pairs.
    """

    tests: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[tuple[str | float, ...]]] = field(default_factory=dict)

    def add(self, overall: Mapping[MetricKey, SliceStatistics], part: SliceStatistics) -> Booleans:
        """Test the pairs of systems on some slices.

        Args:
            overall: The metrics on all questions, by `MetricSlice.key`.
            part: Some of these metrics on slices, with `rows`.

        Returns:
            Shape (pairs,): the pairs that reverse their order significantly.
        """
        found = part.outcomes
        reverses = np.zeros(len(found.pairs), dtype=np.bool_)
        for at, slice_ in enumerate(part.slices):
            own = slice(at * part.pairs_each, (at + 1) * part.pairs_each)
            self.tests[slice_.benchmark] += int(np.count_nonzero(found.n_pairs[own]))
            if not found.signs[own].any():
                continue
            whole, place = _find(overall[slice_.key], slice_)
            order = np.sign(whole.outcomes.difference[place])
            reverses[own] = (found.signs[own] != 0) & (np.sign(found.difference[own]) == -order)
            for pair in np.flatnonzero(reverses[own]).tolist():
                self._test(whole, slice_, whole.outcomes.pairs[place][pair].tolist())
        return reverses

    def _test(self, whole: SliceStatistics, slice_: MetricSlice, pair: tuple[int, int]) -> None:
        a, b = pair
        differences = whole.values[:, [a]] - whole.values[:, [b]]
        is_on_slice = np.zeros(len(whole.values), dtype=np.bool_)
        is_on_slice[slice_.rows if slice_.rows is not None else []] = True
        p = interaction_p(differences, is_on_slice, whole.groups)[0]
        names = (whole.systems[a], whole.systems[b])
        row = (slice_.benchmark, slice_.name, *slice_.key[1:], *names, float(p))
        self.rows.setdefault(slice_.benchmark, []).append(row)

    def adjusted(self) -> pl.DataFrame:
        """Return the p-values of the tested pairs, adjusted for all (Benjamini-Hochberg)."""
        nothing = pl.DataFrame(schema=INTERACTIONS_SCHEMA)
        return pl.concat([nothing, *(self._adjust(benchmark) for benchmark in self.rows)])

    def _adjust(self, benchmark: str) -> pl.DataFrame:
        """Adjust the p-values of a benchmark for all of its tests."""
        from scipy.stats import false_discovery_control  # half a second

        found = pl.DataFrame(self.rows[benchmark], schema=INTERACTIONS_SCHEMA, orient="row")
        every = np.ones(self.tests[benchmark])
        every[: found.height] = found["p_interaction"].to_numpy()
        adjusted = false_discovery_control(every)[: found.height]
        return found.with_columns(p_interaction=pl.Series(adjusted))


def _find(overall: SliceStatistics, slice_: MetricSlice) -> tuple[SliceStatistics, slice]:
    """Return where the pairs of the metric of a slice stand among those on all questions."""
    at = next(at for at, each in enumerate(overall.slices) if each.key == slice_.key)
    return overall, slice(at * overall.pairs_each, (at + 1) * overall.pairs_each)


def add_shrunken_means(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column `shrunken_mean` to leaderboard rows; null for all questions.

    The slices of one tag or column are compared with each other. The noise of a slice's mean is
    that of all questions, scaled to the slice's effective clusters: a small slice may show too
    little variation of its own.

    Args:
        rows: benchmark, slice, system, evaluator, metric, mean, std_error and effective_clusters.
    """
    key = ["benchmark", "system", "evaluator", "metric"]
    overall = rows.filter(pl.col("slice") == ALL).select(
        *key,
        overall="mean",
        variance=pl.col("std_error") ** 2 * pl.col("effective_clusters"),
    )
    slices = (
        rows.filter(pl.col("slice") != ALL, pl.col("effective_clusters") > 0)
        .join(overall, on=key)
        .select(
            *("slice", *key, "mean", "overall"),
            tag=pl.col("slice").str.split("=").list.first(),
            variance=pl.col("variance") / pl.col("effective_clusters"),
        )
        .filter(pl.all_horizontal(pl.col("mean", "overall").is_not_null()), pl.col("variance") > 0)
    )
    groups = (
        slices.group_by(*key, "tag", maintain_order=True)
        .agg("slice", "mean", "variance", pl.first("overall"))
        .filter(pl.col("slice").list.len() > 1)
    )
    shrunken = [
        shrunken_means(np.array(means), np.array(variances), overall)
        for means, variances, overall in groups.select("mean", "variance", "overall").iter_rows()
    ]
    found = groups.select(
        *key, "slice", pl.Series("shrunken_mean", shrunken, pl.List(pl.Float64))
    ).explode("slice", "shrunken_mean", empty_as_null=False)
    return rows.join(found, on=["slice", *key], how="left")
