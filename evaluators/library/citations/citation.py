"""Citation: cited sentence identifiers against the gold evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Scores, TargetError
from evaluators.statistics.clusters import subtract_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.statistics.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Citation(FrameEvaluator):
    """Does the answer cite the sentences that prove it, and only those?

    Precision is the share of the cited sentences that are gold evidence, recall the share of the
    gold evidence that is cited, F1 their harmonic mean, 0 where both are 0. A sample's identifiers
    are sets: repeated, null and empty ones do not count. Means over samples are macro averages, so
    that macro F1 is the mean of the samples' F1; the micro metrics pool the counts instead.

    Source: the citation metrics of document-grounded question answering with sentence identifiers.

    Edges: no gold evidence: not applicable. Nothing cited: 0, 0, 0. A failed answer counts as
    having found nothing in micro recall. An answer can cite any number of wrong sentences, so there
    is no worst contribution to micro precision and micro F1: a system with a failed answer has
    neither. Identifiers are compared
    exactly: `s1` and `S01` are not `S1`. Bare identifiers do not identify the document; cite
    `document#sentence` if a system may cite several documents.
    """

    metrics = (
        Metric(name="precision", summary="Share of the cited sentences that are gold evidence."),
        Metric(name="recall", summary="Share of the gold evidence that is cited."),
        Metric(name="f1", summary="Harmonic mean of citation precision and recall.", primary=True),
        Metric(
            name="micro_precision",
            summary="Citation precision of all samples' counts taken together.",
            level="system",
        ),
        Metric(
            name="micro_recall",
            summary="Citation recall of all samples' counts taken together.",
            level="system",
        ),
        Metric(
            name="micro_f1",
            summary="Citation F1 of all samples' counts taken together.",
            level="system",
        ),
    )
    reads = frozenset({"gold_sentence_ids", "cited_sentence_ids"})
    non_empty = frozenset({"gold_sentence_ids"})
    evidence: ClassVar[Mapping[str, type[pl.DataType] | pl.DataType]] = {
        "right": pl.UInt32,
        "cited": pl.UInt32,
        "gold": pl.UInt32,
    }
    undefined = "the gold evidence has only empty identifiers"
    version = 2

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Count the distinct sentences that are cited, gold, and both."""
        gold, cited = (
            _named(samples[name]) for name in ("gold_sentence_ids", "cited_sentence_ids")
        )
        return pl.DataFrame({"gold": gold, "cited": cited}).select(
            right=pl.col("gold").list.set_intersection("cited").list.len(),
            cited=pl.col("cited").list.n_unique(),
            gold=pl.col("gold").list.n_unique(),
        )

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return precision, recall and F1 from the counts."""
        right, cited, gold = pl.col("right"), pl.col("cited"), pl.col("gold")
        known = gold > 0
        return {
            "precision": pl.when(known).then(pl.when(cited > 0).then(right / cited).otherwise(0.0)),
            "recall": pl.when(known).then(right / gold),
            "f1": pl.when(known).then(2 * right / (cited + gold)),
        }

    def counted(self) -> pl.Expr:
        """Return the samples with gold evidence, those of failed answers included."""
        return pl.col("gold") > 0

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Pool the counts of all samples with gold evidence."""
        right, cited, gold = (int(rows[name].sum()) for name in ("right", "cited", "gold"))
        failed = int(rows["failed"].sum())
        unknown = TargetError(f"the failed answers ({failed}) cite an unknown number of sentences")
        return {
            "micro_precision": unknown if failed else right / cited if cited else 0.0,
            "micro_recall": right / gold,
            "micro_f1": unknown if failed else 2 * right / (cited + gold),
        }

    def aggregate_without(
        self, rows: pl.DataFrame, parts: Integers, count: int
    ) -> Mapping[str, Floats]:
        """Subtract the counts of each part from those of all samples."""

        def rest(name: str) -> Floats:
            counts = rows[name].cast(pl.Float64).to_numpy()
            return subtract_parts(counts, parts, count)

        right, cited, gold = rest("right"), rest("cited"), rest("gold")
        unknown = np.where(rest("failed") > 0, np.nan, 0.0)
        return {
            "micro_precision": right / np.maximum(cited, 1.0) + unknown,
            "micro_recall": right / gold,
            "micro_f1": 2 * right / (cited + gold) + unknown,
        }


def _named(lists: pl.Series) -> pl.Series:
    """Drop null and empty identifiers; checking first is cheap, and there are hardly any."""
    flat = lists.explode(empty_as_null=False, keep_nulls=False)
    if not (flat.is_null() | (flat == "")).any():
        return lists
    named = pl.element().filter(pl.element().is_not_null() & (pl.element() != ""))
    return lists.list.eval(named)
