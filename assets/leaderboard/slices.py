"""What many slices show beyond chance: interactions with systems, and shrunken means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.aggregate import METRIC_KEY
from assets.leaderboard.score_matrix import ALL
from evaluators.statistics.slices import interaction_p, shrunken_means

if TYPE_CHECKING:
    from assets.leaderboard.metric_slice import MetricSlices
    from evaluators.statistics.arrays import Booleans

PAIR_KEY = (*METRIC_KEY, "system_a", "system_b")

INTERACTIONS_SCHEMA = {**dict.fromkeys(PAIR_KEY, pl.String), "p_interaction": pl.Float64}
"""The columns of `Interactions.adjusted`."""


@dataclass
class Interactions:
    """Tests of whether the order of two systems on a slice differs from their overall order.

    Only pairs that reverse their order significantly are tested; the others count as tests with
    p = 1, which makes the adjustment conservative and keeps many systems and slices fast.

    Attributes:
        tests: The number of pairs on all slices, whether they reverse their order or not.
        rows: The keys and unadjusted p-values of the tested pairs.
    """

    tests: int = 0
    rows: list[tuple[str | float, ...]] = field(default_factory=list)

    def add(self, overall: MetricSlices, part: MetricSlices) -> Booleans:
        """Test the pairs of systems on some slices.

        Args:
            overall: The metric on all questions.
            part: The same metric on the slices, with `rows`.

        Returns:
            Shape (pairs,): the pairs that reverse their order significantly.
        """
        found, whole = part.outcomes, overall.outcomes
        self.tests += int(np.count_nonzero(found.n_pairs))
        order = np.tile(np.sign(whole.difference), len(part.slices))
        reverses: Booleans = (found.signs != 0) & (np.sign(found.difference) == -order)
        for at in np.flatnonzero(reverses).tolist():
            slice_ = at // len(whole.pairs)
            a, b = whole.pairs[at % len(whole.pairs)].tolist()
            differences = overall.values[:, [a]] - overall.values[:, [b]]
            is_on_slice = np.zeros(len(overall.values), dtype=np.bool_)
            is_on_slice[part.rows[slice_] if part.rows is not None else []] = True
            p = interaction_p(differences, is_on_slice, overall.groups)[0]
            key = (part.slices[slice_], part.evaluator, part.metric.name)
            self.rows.append((*key, part.systems[a], part.systems[b], float(p)))
        return reverses

    def adjusted(self) -> pl.DataFrame:
        """Return the p-values of the tested pairs, adjusted for all (Benjamini-Hochberg)."""
        found = pl.DataFrame(self.rows, schema=INTERACTIONS_SCHEMA, orient="row")
        if found.is_empty():
            return found
        from scipy.stats import false_discovery_control  # half a second

        every = np.ones(self.tests)
        every[: found.height] = found["p_interaction"].to_numpy()
        adjusted = false_discovery_control(every)[: found.height]
        return found.with_columns(p_interaction=pl.Series(adjusted))


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
