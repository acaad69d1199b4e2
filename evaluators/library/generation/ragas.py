"""RAGAS: one number for retrieval and generation together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.kinds.composite import CompositeEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Scores, Undefined

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTS = {
    "faithfulness": "faithfulness.faithfulness",
    "answer_relevancy": "answer_relevancy.answer_relevancy",
    "context_precision": "context_precision.context_precision",
    "context_recall": "context_recall.context_recall",
}


@dataclass(frozen=True, kw_only=True)
class Ragas(CompositeEvaluator):
    """How good are retrieval and answer taken together?

    The harmonic mean of faithfulness, answer relevancy, context precision and context recall of
    each sample: 4 / (1/F + 1/A + 1/P + 1/R). It is near the smallest of the four. The evaluator
    also gives the four metrics. `ragas_of_means` is the harmonic mean of the four means of a
    system, which is never smaller than the mean of its samples where all four have a value
    everywhere.

    Sources: RAGAS of Eval Studio, per sample; ragas before 0.1, which took the means of the data
    set.

    Edges: one of the four is 0: 0. if one of the four has no value, neither has the harmonic mean;
    its reason names the missing metric. In `ragas_of_means` each mean runs over the samples in
    which that metric has a value, 0 for a failed answer; a metric without a value for any answered
    question leaves it undefined.
    """

    metrics = (
        Metric(
            name="ragas",
            summary="Harmonic mean of faithfulness, answer relevancy, context precision and "
            "context recall.",
            primary=True,
        ),
        Metric(
            name="faithfulness",
            summary="Share of the answer's statements that follow from the retrieved context.",
        ),
        Metric(
            name="answer_relevancy",
            summary="Mean similarity of the question with questions that the answer answers, "
            "0 if it evades.",
        ),
        Metric(
            name="context_precision",
            summary="Average precision of the ranking; useful is what leads to the expected "
            "answer.",
        ),
        Metric(
            name="context_recall",
            summary="Share of the expected answer's sentences that the context holds.",
        ),
        Metric(
            name="ragas_of_means",
            summary="Harmonic mean of the system's means of the four metrics.",
            level="system",
        ),
    )
    parts = tuple(_PARTS.values())

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return the harmonic mean and the four parts."""
        parts = [pl.col(part) for part in self.parts]
        # If a part is 0, its inverse is infinite and the mean 0; this makes it explicit.
        mean = len(parts) / pl.sum_horizontal(1 / part for part in parts)
        whole = pl.when(pl.min_horizontal(parts) > 0).then(mean).otherwise(0.0)
        return {"ragas": whole, **{name: pl.col(part) for name, part in _PARTS.items()}}

    def counted(self) -> pl.Expr:
        """Return the samples in which one of the four has a value; failed answers have 0."""
        return pl.any_horizontal(pl.col(name).is_not_null() for name in _PARTS)

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Return the harmonic mean of the means."""
        answered = rows.filter(~pl.col("failed"))
        gone = [name for name in _PARTS if answered[name].null_count() == answered.height]
        if gone:
            raise Undefined(f"no sample has a value of {', '.join(gone)}")
        values = rows.select(pl.col(name).mean() for name in _PARTS).row(0)
        if min(values) <= 0:
            return {"ragas_of_means": 0.0}
        return {"ragas_of_means": len(values) / sum(1 / value for value in values)}
