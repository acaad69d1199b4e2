"""Document retrieval: ranked document identifiers against the relevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PRIMARY = 5


def _measures(cutoffs: Sequence[int], ndcg_cutoffs: Sequence[int]) -> tuple[Metric, ...]:
    primary = _PRIMARY if _PRIMARY in cutoffs else max(cutoffs)

    def metric(name: str, summary: str, *, main: bool = False) -> Metric:
        return Metric(name=name, summary=summary, threshold=None, primary=main)

    return (
        *(
            metric(
                f"recall_at_{k}",
                f"Share of the relevant documents that are among the first {k}.",
                main=k == primary,
            )
            for k in cutoffs
        ),
        *(
            metric(f"hit_at_{k}", f"Whether a relevant document is among the first {k}.")
            for k in cutoffs
        ),
        *(
            metric(
                f"precision_at_{k}",
                f"Share of the first {k} places that hold a relevant document.",
            )
            for k in cutoffs
        ),
        *(
            metric(
                f"ndcg_at_{k}",
                f"Discounted cumulative gain of the first {k} against that of the ideal order.",
            )
            for k in ndcg_cutoffs
        ),
        metric("mrr", "One over the rank of the first relevant document; 0 if there is none."),
        metric("map", "Mean of the precision at each relevant document, over all relevant ones."),
        metric("r_precision", "Precision of the first R places, where R documents are relevant."),
    )


@dataclass(frozen=True, kw_only=True)
class DocumentRetrieval(FrameEvaluator):
    """Did the right documents come back, and how high up?

    Null and repeated identifiers are removed from the ranking first (the first occurrence stays),
    then places are counted. R is the number of different relevant documents. With `hits(k)` the
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

    metrics = _measures((1, 5, 10), (10,))
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
        """Refuse depths that are no depths.

        Raises:
            ValueError: For an empty list, a depth below 1, or one given twice.
        """
        for depths in (self.cutoffs, self.ndcg_cutoffs):
            if not depths or min(depths) < 1 or len(set(depths)) < len(depths):
                raise ValueError(
                    f"cut-offs must be different whole numbers from 1 on, got {list(depths)}"
                )

    def measured(self) -> tuple[Metric, ...]:
        """The metrics at these cut-offs."""
        return _measures(sorted(self.cutoffs), sorted(self.ndcg_cutoffs))

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Add the ranks of the hits, the sums over hits and over the ideal order, and counts."""
        given = _without_nulls(samples["retrieved_doc_ids"])
        rows = samples.select(
            "gold_doc_ids", "gold_relevance", ranking=_once(given)
        ).with_row_index("row")
        places = rows.select(
            "row", doc_id="ranking", rank=pl.int_ranges(1, pl.col("ranking").list.len() + 1)
        ).explode("doc_id", "rank", empty_as_null=False, keep_nulls=False)
        gold = _relevant(rows).sort("row", "grade", descending=[False, True])
        ideal = (
            gold.with_row_index("line")
            .with_columns(_gain(_place(), k).alias(f"ideal_{k}") for k in self.ndcg_cutoffs)
            .group_by("row")
            .agg(pl.len().alias("relevant"), pl.col("^ideal_.*$").sum())
        )
        rank = pl.col("rank")
        hits = (
            _found(rows, gold.join(ideal.select("row", "relevant"), on="row"), places)
            .sort("row", "rank")
            .with_row_index("line")
            .with_columns(
                (_place() / rank).alias("precision_sum"),
                (rank <= pl.col("relevant")).alias("hits_in_first_r"),
                *(_gain(rank, k).alias(f"gain_{k}") for k in self.ndcg_cutoffs),
            )
            .group_by("row", maintain_order=True)
            .agg(
                rank.cast(pl.UInt32).alias("hit_ranks"),
                pl.col("^(precision_sum|hits_in_first_r|gain_.*)$").sum(),
            )
        )
        return (
            rows.select(
                "row",
                retrieved=pl.col("ranking").list.len(),
                duplicates=given.list.len() - pl.col("ranking").list.len(),
            )
            .join(ideal, on="row", how="left", maintain_order="left")
            .join(hits, on="row", how="left", maintain_order="left")
            .with_columns(pl.col("hit_ranks").fill_null([]))
            .with_columns(pl.col("^(precision_sum|hits_in_first_r|gain_.*)$").fill_null(0))
        )

    def expressions(self) -> Mapping[str, pl.Expr]:
        """The formulas, over the ranks of the hits and the sums that `prepare` adds."""
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


def _relevant(rows: pl.DataFrame) -> pl.DataFrame:
    """The different relevant documents of each row, with their grades: row, doc_id, grade."""
    has_grades = pl.col("gold_relevance").is_not_null()
    judged = rows.filter(has_grades).select("row", judged="gold_relevance")
    listed = rows.filter(~has_grades).select("row", doc_id="gold_doc_ids")
    once = listed.with_columns(_without_nulls(listed["doc_id"]).list.unique())
    binary = once.explode("doc_id", empty_as_null=False, keep_nulls=False)
    graded = judged.explode("judged", empty_as_null=False, keep_nulls=False).unnest("judged")
    positive = graded.filter(pl.col("doc_id").is_not_null() & (pl.col("grade") >= 1))
    best = positive.group_by("row", "doc_id").agg(pl.col("grade").max())
    return pl.concat([best, binary.with_columns(grade=pl.lit(1, pl.Int32))])


def _found(rows: pl.DataFrame, gold: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """The relevant documents that were retrieved, with their ranks.

    Where one document is relevant, which is the rule, it is compared with each place; to join all
    places by their texts takes four times as long.

    Args:
        rows: The rows.
        gold: The relevant documents: row, doc_id, grade, and `relevant`, their number in the row.
        places: The documents that were retrieved: row, doc_id, rank.
    """
    alone, several = gold.filter(relevant=1), gold.filter(pl.col("relevant") > 1)
    sought = rows.select("row").join(alone, on="row", how="left", maintain_order="left")["doc_id"]
    there = places.filter(places["doc_id"] == sought.gather(places["row"]))
    found = alone.join(there.select("row", "rank"), on="row")
    if several.is_empty():
        return found
    return pl.concat([found, several.join(places, on=["row", "doc_id"])])


def _once(lists: pl.Series) -> pl.Series:
    """Drop repeated identifiers, the first stays; to count is cheap, and mostly there are none."""
    repeated = lists.list.n_unique() < lists.list.len()
    return lists.list.unique(maintain_order=True) if repeated.any() else lists


def _without_nulls(lists: pl.Series) -> pl.Series:
    """Drop null identifiers; the look beforehand is cheap, and there hardly ever are any."""
    flat = lists.explode(empty_as_null=False, keep_nulls=False)
    return lists.list.drop_nulls() if flat.has_nulls() else lists


def _place() -> pl.Expr:
    """The place of each line among those of its row, from 1; rows stand together."""
    # A range over each row by itself would say the same twenty times more slowly.
    return pl.col("line") - pl.col("line").min().over("row") + 1


def _gain(rank: pl.Expr, k: int) -> pl.Expr:
    """What a document at a rank adds to the discounted cumulative gain of the first k."""
    return pl.when(rank <= k).then(pl.col("grade") / (rank + 1).log(2)).otherwise(0.0)
