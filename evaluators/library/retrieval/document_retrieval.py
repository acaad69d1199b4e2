"""Document retrieval: ranked document identifiers against the relevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.components.ranking import rank_hits
from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PRIMARY = 5


def _metrics(cutoffs: Sequence[int], ndcg_cutoffs: Sequence[int]) -> tuple[Metric, ...]:
    """Return the metrics at these cut-offs."""
    main = f"recall_at_{_PRIMARY if _PRIMARY in cutoffs else max(cutoffs)}"
    summaries = {
        **{
            f"recall_at_{k}": f"Share of the relevant documents that are among the first {k}."
            for k in cutoffs
        },
        **{f"hit_at_{k}": f"Whether a relevant document is among the first {k}." for k in cutoffs},
        **{
            f"precision_at_{k}": f"Share of the first {k} places that hold a relevant document."
            for k in cutoffs
        },
        **{
            f"ndcg_at_{k}": f"Discounted cumulative gain of the first {k} against that of the "
            "ideal order."
            for k in ndcg_cutoffs
        },
        "mrr": "One over the rank of the first relevant document; 0 if there is none.",
        "map": "Mean of the precision at each relevant document, over all relevant ones.",
        "r_precision": "Precision of the first R places, where R documents are relevant.",
    }
    return tuple(
        Metric(
            name=name,
            summary=summary,
            threshold=None,
            pass_fail=name.startswith("hit_"),
            primary=name == main,
        )
        for name, summary in summaries.items()
    )


@dataclass(frozen=True, kw_only=True)
class DocumentRetrieval(FrameEvaluator):
    """Did the right documents come back, and how high up?

    Null and repeated identifiers are removed from the ranking first (the first occurrence stays),
    then ranks are counted. R is the number of different relevant documents. With `hits(k)` the
    relevant documents among the first k: recall is hits(k) / R, precision is hits(k) / k even when
    fewer than k came back, hit is 1 if hits(k) > 0. Average precision sums the precision at the
    rank of each hit and divides by R. nDCG uses the grade itself as the gain and log2(rank + 1) as
    the discount; its ideal order is that of all judged documents.

    Sources: Manning, Raghavan and Schütze, "Introduction to Information Retrieval", chapter 8;
    Järvelin and Kekäläinen, 2002 (nDCG); the definitions of NIST's trec_eval.

    Edges: identifiers are compared exactly. No relevant document known (none, or all grades below
    1): not applicable. Nothing retrieved: 0. An unjudged document counts as not relevant.

    Attributes:
        cutoffs: The depths k of recall, hit and precision. Recall at 5 is the primary metric, or
            at the deepest cut-off where 5 is not among them.
        ndcg_cutoffs: The depths of nDCG.
    """

    metrics = _metrics((1, 5, 10), (10,))
    reads = frozenset({"gold_doc_ids", "retrieved_doc_ids"})
    optional = frozenset({"gold_relevance"})
    non_empty = frozenset({"gold_doc_ids"})
    evidence: ClassVar[Mapping[str, type[pl.DataType] | pl.DataType]] = {
        "hit_ranks": pl.List(pl.UInt32),
        "relevant": pl.UInt32,
        "retrieved": pl.UInt32,
        "duplicates": pl.UInt32,
    }

    undefined = "no relevant document is known"

    cutoffs: tuple[int, ...] = (1, 5, 10)
    ndcg_cutoffs: tuple[int, ...] = (10,)

    def __post_init__(self) -> None:
        """Validate the depths.

        Raises:
            ValueError: A list is empty, a depth is below 1, or a depth is repeated.
        """
        for depths in (self.cutoffs, self.ndcg_cutoffs):
            if not depths or min(depths) < 1 or len(set(depths)) < len(depths):
                raise ValueError(
                    f"cut-offs must be different whole numbers from 1 on, got {list(depths)}"
                )

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics at these cut-offs."""
        return _metrics(sorted(self.cutoffs), sorted(self.ndcg_cutoffs))

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Rank the hits of each sample."""
        return rank_hits(samples, self.ndcg_cutoffs)

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return the formulas over the columns of `rank_hits`."""
        relevant = pl.col("relevant")
        known = relevant.is_not_null()
        ranks = pl.when(known).then("hit_ranks")
        values: dict[str, pl.Expr] = {}
        for k in self.cutoffs:
            hits = ranks.list.eval(pl.element() <= k).list.sum()
            values[f"recall_at_{k}"] = hits / relevant
            values[f"hit_at_{k}"] = hits > 0
            values[f"precision_at_{k}"] = hits / k
        for k in self.ndcg_cutoffs:
            values[f"ndcg_at_{k}"] = pl.col(f"gain_{k}") / pl.col(f"ideal_{k}")
        values["mrr"] = pl.when(known).then((1 / ranks.list.first()).fill_null(0.0))
        values["map"] = pl.col("precision_sum") / relevant
        values["r_precision"] = pl.col("hits_in_first_r") / relevant
        return values
