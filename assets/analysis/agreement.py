"""Agreement of scores with human labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.judges.agreement import confusion, count_labels_needed, kappa
from evaluators.statistics.judges.krippendorff import (
    Alpha,
    alpha_with_interval,
    krippendorff_alpha,
)

if TYPE_CHECKING:
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats

_MAX_RATINGS = 10
"""A metric with at most this many distinct values is a rating scale and gets a weighted kappa."""


@dataclass(frozen=True)
class LabelledScores:
    """One metric's scores and human labels.

    Attributes:
        scores: One row per sample: system, question (its key), value, label (the annotators' mean;
            null without a label) and cluster.
        threshold: The value from which a sample passes; None where there is none.
        metric: The metric.
    """

    scores: pl.DataFrame
    threshold: float | None
    metric: Metric

    @property
    def labelled(self) -> pl.DataFrame:
        """The samples with a label."""
        return self.scores.filter(pl.col("label").is_not_null())

    def passes(self, values: Floats) -> Booleans:
        """Return which values reach the threshold, by default the middle of the scale."""
        low, high = self.metric.bounds
        middle = (low + high) / 2 if np.isfinite(high - low) else 0.5
        threshold = middle if self.threshold is None else self.threshold
        return values >= threshold if self.metric.best == "high" else values <= threshold


def measure_agreement(found: LabelledScores, labels: pl.DataFrame) -> dict[str, Any]:
    """Return the agreement of a metric, or of one judge, with human labels over all systems.

    Args:
        found: The scores with their labels.
        labels: The labels by annotator: system, question, annotator, value.
    """
    labelled = found.labelled
    judge, people = (labelled[name].to_numpy() for name in ("value", "label"))
    judge_passes, people_pass = found.passes(judge), found.passes(people)
    counts = confusion(judge_passes, people_pass)
    agreement = kappa(
        judge_passes.astype(np.float64),
        people_pass.astype(np.float64),
        clusters=labelled["cluster"].to_numpy(),
    )
    labels_needed = count_labels_needed(counts, agreement)
    ratings = len(np.unique(np.concatenate([judge, people])))
    is_rating_scale = 2 < ratings <= _MAX_RATINGS  # noqa: PLR2004 - two values are pass/fail
    weighted = kappa(judge, people, "quadratic").value if is_rating_scale else np.nan
    return {
        "n_compared": counts.n,
        "n_annotators": labels["annotator"].n_unique(),
        "agreement": counts.agreement,
        "constant_agreement": counts.constant_agreement,
        "base_rate": counts.base_rate,
        "kappa": finite_or_none(agreement.value),
        "kappa_low": finite_or_none(agreement.low),
        "kappa_high": finite_or_none(agreement.high),
        "weighted_kappa": finite_or_none(weighted),
        "correlation": finite_or_none(_spearman(labelled)),
        "alpha": _alpha(labels),
        "true_positive_rate": counts.sensitivity,
        "true_negative_rate": counts.specificity,
        "labels_needed": labels_needed,
        "is_calibrated": int(labels_needed == 0),
    }


def _spearman(labelled: pl.DataFrame) -> float:
    correlation = labelled.select(pl.corr("value", "label", method="spearman")).item()
    return np.nan if correlation is None else float(correlation)


def _alpha(labels: pl.DataFrame) -> float | None:
    """Return the agreement between annotators; None with fewer than two."""
    table = labels.pivot("annotator", index=["system", "question"], values="value")
    ratings = table.drop("system", "question").to_numpy().T.astype(np.float64)
    if len(ratings) == 1:
        return None
    return krippendorff_alpha(ratings, "nominal" if is_pass_fail(ratings) else "interval")


def measure_annotators(labels: pl.DataFrame) -> dict[str, Any]:
    """Return the agreement of annotators with each other, from the samples that several labelled.

    Args:
        labels: The labels of one metric: system, question_id, annotator, value.

    Returns:
        n_annotators; n_shared, the samples with two or more labels; Krippendorff's alpha with its
        95 % interval (alpha, alpha_low, alpha_high); and Cohen's kappa of two annotators (kappa).
        Numbers are null where they have no value.
    """
    table = labels.pivot("annotator", index=["system", "question_id"], values="value")
    ratings = table.drop("system", "question_id").to_numpy().T.astype(np.float64)
    shared = ratings[:, np.isfinite(ratings).sum(axis=0) > 1]
    alpha = Alpha(np.nan, np.nan, np.nan)
    agreement = np.nan
    if shared.size:
        alpha = alpha_with_interval(shared)
        if len(shared) == 2:  # noqa: PLR2004 - Cohen's kappa is that of two
            agreement = kappa(shared[0], shared[1]).value
    return {
        "n_annotators": len(ratings),
        "n_shared": shared.shape[1],
        "alpha": finite_or_none(alpha.value),
        "alpha_low": finite_or_none(alpha.low),
        "alpha_high": finite_or_none(alpha.high),
        "kappa": finite_or_none(agreement),
    }


def finite_or_none(value: float) -> float | None:
    """Return a number as a Python float, or None for NaN."""
    return float(value) if np.isfinite(value) else None
