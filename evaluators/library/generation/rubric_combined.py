"""Rubric and evidence combined: the grade of an answer and the evidence that it cites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.kinds.composite import CompositeEvaluator
from evaluators.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping

_ANSWER = "rubric_judge.answer_score"
_EVIDENCE = "evidence_overlap.evidence_recall"


@dataclass(frozen=True, kw_only=True)
class RubricCombined(CompositeEvaluator):
    """Is the answer right, and does the evidence that it cites support it?

    The weighted mean λ a + (1 - λ) e of the rubric's answer score a and the evidence recall e.

    Source: the combined score of document-grounded question answering, with λ = 0.5.

    Edges: if one of the two has no value, neither has the combined score; its reason names the
    missing one. A system that never cites has no evidence recall and thus no combined score.

    Attributes:
        answer_weight: The weight λ of the answer score, from 0 to 1.
    """

    metrics = (
        Metric(
            name="combined",
            summary="Weighted mean of the rubric's answer score and the evidence recall.",
            primary=True,
        ),
    )
    parts = (_ANSWER, _EVIDENCE)

    answer_weight: float = 0.5

    def __post_init__(self) -> None:
        """Validate the weight.

        Raises:
            ValueError: It is not from 0 to 1.
        """
        if not 0 <= self.answer_weight <= 1:
            raise ValueError(f"answer_weight: expected 0 to 1, got {self.answer_weight}")

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return the weighted mean."""
        weight = self.answer_weight
        return {"combined": weight * pl.col(_ANSWER) + (1 - weight) * pl.col(_EVIDENCE)}
