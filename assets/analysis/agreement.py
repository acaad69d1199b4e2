"""Agreement of scores with human labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.judges.agreement import (
    confusion,
    count_labels_needed,
    kappa_of_tables,
    kappas,
    rating_tables,
)
from evaluators.statistics.judges.krippendorff import Alpha, alpha_with_interval
from warehouse.ingest.labels import UNCERTAIN

if TYPE_CHECKING:
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Floats

_MAX_RATINGS = 10
"""A metric with at most this many distinct values is a rating scale and gets a weighted kappa."""


CHOSEN = (
    "the labelled answers were chosen because their verdicts are uncertain: label answers at "
    "random, too (`scoreline annotate` does)"
)
"""Why labels give no number although there are some."""

_UNIT = ("system", "question")


@dataclass(frozen=True)
class LabelledScores:
    """One metric's scores and human labels.

    Attributes:
        scores: One row per sample: system, question (its key), value, cluster, label (the
            annotators' mean) and weight; both null if there is no label, or if it is not known how
            the sample was drawn.
        labels: The labels by annotator of the samples with a weight: system, question, annotator,
            value.
        n_chosen: The labelled samples without a weight.
        threshold: The value from which a sample passes; None where there is none.
        metric: The metric.
    """

    scores: pl.DataFrame
    labels: pl.DataFrame
    n_chosen: int
    threshold: float | None
    metric: Metric

    @classmethod
    def of(
        cls, scores: pl.DataFrame, labels: pl.DataFrame, threshold: float | None, metric: Metric
    ) -> LabelledScores:
        """Join scores with labels.

        Args:
            scores: system, question, repeat, value and cluster. A label is for the first answer.
            labels: As `human_labels` returns them, of this metric.
            threshold: The value from which a sample passes; None where there is none.
            metric: The metric.
        """
        first = scores.with_columns(is_first=pl.col("repeat") == 0).drop("repeat")
        joined = weigh_labels(first, labels)
        has_weight = pl.col("weight").is_not_null()
        known = joined.with_columns(label=pl.when(has_weight).then("label"))
        return cls(
            scores=known.drop("is_first"),
            labels=labels.join(known.filter(has_weight).select(_UNIT), on=_UNIT, how="semi"),
            n_chosen=joined["label"].count() - known["label"].count(),
            threshold=threshold,
            metric=metric,
        )

    @property
    def labelled(self) -> pl.DataFrame:
        """The samples with a label."""
        return self.scores.filter(pl.col("label").is_not_null())

    @cached_property
    def is_pass_fail(self) -> bool:
        """Whether all scores are passes or failures: labels are then the share of one of them."""
        return self.metric.bounds == (0.0, 1.0) and is_pass_fail(self.scores["value"].to_numpy())

    def passes(self, values: Floats) -> Floats:
        """Return the share of each value that passes: 1 or 0 from the threshold on.

        Without a threshold, the middle of the scale counts. A label of a metric that passes or
        fails may be in between: a share of it passes.
        """
        low, high = self.metric.bounds
        is_high = self.metric.best == "high"
        if self.is_pass_fail:
            return values if is_high else 1 - values
        middle = (low + high) / 2 if np.isfinite(high - low) else 0.5
        threshold = middle if self.threshold is None else self.threshold
        found: Floats = (values >= threshold if is_high else values <= threshold).astype(np.float64)
        return found


def weigh_labels(units: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Add the mean label of each sample, and its weight by how the sample was drawn.

    The labels of samples drawn at random have equal weights, others the inverse of their
    probability. If a system has both, each kind gives an estimate, and they count by the number of
    equal labels with the same information.

    Args:
        units: system, question and `is_first`, whether it is the answer that has the labels.
        labels: As `human_labels` returns them, of one metric.

    Returns:
        The units with `label` (null without) and `weight`, scaled within each system as by
        `scale_weights`; null without a label, or if it is not known how the sample was drawn.
    """
    is_drawn = pl.col("probability").is_not_null()
    drawn = labels.group_by(*_UNIT, is_first=pl.lit(value=True)).agg(
        label=pl.col("value").mean(),
        is_random=(~is_drawn & (pl.col("selection") != UNCERTAIN).fill_null(value=True)).any(),
        inverse=(1 / pl.col("probability")).min(),
    )
    weight = pl.col("is_random").cast(pl.Float64) + _scaled("inverse").fill_null(0.0)
    return (
        units.join(drawn, on=[*_UNIT, "is_first"], how="left", maintain_order="left")
        .with_columns(weight=weight)
        .with_columns(weight=pl.when(pl.col("weight") > 0).then("weight"))
        .with_columns(weight=_scaled("weight"))
        .drop("is_random", "inverse")
    )


def _scaled(name: str) -> pl.Expr:
    """Return the weights of each system; see `scale_weights`."""
    column = pl.col(name)
    return column * (column.sum() / (column**2).sum()).over("system")


def measure_agreement(found: LabelledScores, n_annotators: int) -> dict[str, Any]:
    """Return the agreement of a metric, or of one judge, with human labels over all systems.

    Each annotator's label counts, with the weight of its sample divided by the number of its
    labels: agreement is that with an annotator at random.

    Args:
        found: The scores with their labels.
        n_annotators: The number of annotators.
    """
    labelled = found.labelled.with_row_index("sample")
    weights, clusters = (labelled[name].to_numpy() for name in ("weight", "cluster"))
    single = found.labels.join(
        labelled.select(*_UNIT, "sample", "weight", score="value"), on=_UNIT
    ).with_columns(weight=pl.col("weight") / pl.len().over("sample"))
    samples = single["sample"].to_numpy().astype(np.int64)
    scores, given, shares = (single[name].to_numpy() for name in ("score", "value", "weight"))
    judge_passes = found.passes(labelled["value"].to_numpy()) == 1
    passed = np.bincount(samples, shares * found.passes(given), len(labelled)) / weights
    counts = confusion(judge_passes, passed, weights)
    cells = np.stack([1 - passed, passed], axis=1) * weights[:, None]
    tables = np.zeros((len(labelled), 2, 2))
    tables[np.arange(len(labelled)), judge_passes.astype(np.int64)] = cells
    agreement = kappa_of_tables(tables, clusters=clusters)
    labels_needed = count_labels_needed(counts, agreement)
    distinct = len(np.unique(np.concatenate([scores, given])))
    is_rating_scale = 2 < distinct <= _MAX_RATINGS  # noqa: PLR2004 - two values are pass/fail
    weighted = np.nan
    if is_rating_scale:
        table = rating_tables(scores, given, samples, shares).sum(axis=0)
        weighted = float(kappas(table[None], "quadratic")[0])
    ratings, rated = _ratings(found.labels, found.labelled)
    return {
        "n_compared": len(labelled),
        "n_annotators": n_annotators,
        "agreement_reason": CHOSEN if found.n_chosen and not len(labelled) else None,
        "agreement": counts.agreement,
        "constant_agreement": counts.constant_agreement,
        "base_rate": counts.base_rate,
        "kappa": finite_or_none(agreement.value),
        "kappa_low": finite_or_none(agreement.low),
        "kappa_high": finite_or_none(agreement.high),
        "weighted_kappa": finite_or_none(weighted),
        "correlation": finite_or_none(rank_correlation(labelled)),
        "alpha": finite_or_none(alpha_with_interval(ratings, weights=rated).value),
        "true_positive_rate": counts.sensitivity,
        "true_negative_rate": counts.specificity,
        "labels_needed": labels_needed,
        "is_calibrated": int(labels_needed == 0),
    }


def rank_correlation(labelled: pl.DataFrame) -> float:
    """Return the weighted correlation of the ranks of two scores; NaN where it has no value.

    Args:
        labelled: One row per sample: value, label (the other score) and weight.
    """
    if len(labelled) < 2:  # noqa: PLR2004 - one has no order
        return np.nan
    weights = labelled["weight"].to_numpy()
    ranks = np.stack(
        [_weighted_ranks(labelled[name].to_numpy(), weights) for name in ("value", "label")]
    )
    if np.ptp(ranks, axis=1).min() == 0:
        return np.nan
    ranks -= np.average(ranks, axis=1, weights=weights)[:, None]
    table = (ranks * weights) @ ranks.T
    return float(table[0, 1] / np.sqrt(table[0, 0] * table[1, 1]))


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Return the ranks of values, of which each stands for so many; equal ones share a rank."""
    codes = np.unique(values, return_inverse=True)[1]
    sizes = np.bincount(codes, weights)
    ranks: Floats = (np.cumsum(sizes) - sizes / 2)[codes]
    return ranks


def _ratings(labels: pl.DataFrame, units: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return the labels of each annotator, shape (annotators, samples), and the samples' weights.

    Args:
        labels: system, question, annotator and value.
        units: system, question and weight; samples without a weight are left out.
    """
    weights = units.filter(pl.col("weight").is_not_null()).select(*_UNIT, "weight")
    table = labels.pivot("annotator", index=list(_UNIT), values="value").join(
        weights, on=_UNIT, maintain_order="left"
    )
    ratings: Floats = table.drop(*_UNIT, "weight").to_numpy().T.astype(np.float64)
    return ratings, table["weight"].to_numpy()


def measure_annotators(labels: pl.DataFrame) -> dict[str, Any]:
    """Return the agreement of annotators with each other, from the samples that several labelled.

    Args:
        labels: The labels of one metric, as `labels_of_metric` returns them.

    Returns:
        n_annotators; n_shared, the samples with two or more labels; Krippendorff's alpha with its
        95 % interval (alpha, alpha_low, alpha_high); and Cohen's kappa of two annotators (kappa).
        Numbers are null where they have no value. Samples count by how they were drawn, and not at
        all if that is not known.
    """
    given = labels.rename({"question_id": "question"})
    units = given.select(*_UNIT, is_first=pl.lit(value=True)).unique(maintain_order=True)
    ratings, weights = _ratings(given, weigh_labels(units, given))
    is_shared = np.isfinite(ratings).sum(axis=0) > 1
    shared, weights = ratings[:, is_shared], weights[is_shared]
    alpha = Alpha(np.nan, np.nan, np.nan)
    agreement = np.nan
    if shared.size:
        alpha = alpha_with_interval(shared, weights=weights)
        if len(shared) == 2:  # noqa: PLR2004 - Cohen's kappa is that of two
            tables = rating_tables(shared[0], shared[1], np.zeros(len(weights), np.int64), weights)
            agreement = float(kappas(tables)[0])
    return {
        "n_annotators": labels["annotator"].n_unique(),
        "n_shared": shared.shape[1],
        "alpha": finite_or_none(alpha.value),
        "alpha_low": finite_or_none(alpha.low),
        "alpha_high": finite_or_none(alpha.high),
        "kappa": finite_or_none(agreement),
    }


def finite_or_none(value: float) -> float | None:
    """Return a number as a Python float, or None for NaN."""
    return float(value) if np.isfinite(value) else None
