"""The rows of a generated test set, and what there is to say about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assets.judging.call_judge import JudgingResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from records.question import Question


@dataclass(slots=True)
class GeneratedRows:
    """The rows of a generated test set.

    Attributes:
        rows: The questions, as rows of a canonical file.
        rejected: What a check rejected, each with its reason.
        unanswered: How many of the rejected rows only lack a reply of the judge.
        notes: Why there are fewer rows than wanted.
        calls: The judge calls, if there were any.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    unanswered: int = 0
    notes: list[str] = field(default_factory=list)
    calls: JudgingResult | None = None

    def merged_with(
        self, other: GeneratedRows, questions: Sequence[Question], kinds: Sequence[str]
    ) -> GeneratedRows:
        """Return the variants of both, in the order of their questions and then of kinds."""
        position = {question.question_id: at for at, question in enumerate(questions)}
        return GeneratedRows(
            rows=sorted(
                (*self.rows, *other.rows),
                key=lambda row: (position[row["perturbs"]], kinds.index(row["perturbation"])),
            ),
            rejected=[*self.rejected, *other.rejected],
            unanswered=self.unanswered + other.unanswered,
            notes=list(dict.fromkeys((*self.notes, *other.notes))),
        )
