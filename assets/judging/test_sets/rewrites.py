"""Perturbations that a judge model writes: paraphrases and translations of questions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from assets.judging.test_sets.perturbations import originals, skipped_notes, variant_row
from assets.judging.test_sets.result import GeneratedRows
from evaluators.components.test_sets.perturbations import Variant
from evaluators.components.test_sets.rewrites import (
    REWRITES,
    SAME_QUESTION,
    Rewrite,
    rewrite_question,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.judging.test_sets.judge import JudgeSession
    from evaluators.components.test_sets.kinds import RewriteKind
    from records.question import Question

NAME: Final = "generate_perturbations"
"""The name in the origins of judge calls, as in files of recorded replies."""


def rewrite_questions(
    session: JudgeSession,
    questions: Sequence[Question],
    kinds: Sequence[RewriteKind],
    *,
    language: str | None = None,
    seed: int = 0,
) -> GeneratedRows:
    """Let the judge rewrite every question in every kind, and check the results.

    Args:
        session: The judge.
        questions: The questions. Those that perturb others get no variants.
        kinds: The kinds.
        language: The language to translate into, for the kind `language`.
        seed: The seed; another one makes other calls.

    Raises:
        EvaluatorError: The judge cannot be called; replies received before are kept.
    """
    made = GeneratedRows()
    skipped: Counter[tuple[str, str]] = Counter()
    wanted = [(each, kind) for each in originals(questions, skipped) for kind in kinds]
    targets: dict[RewriteKind, str | None] = {"paraphrase": None, "language": language}
    flows = [
        (
            f"{kind}/{question.question_id}",
            rewrite_question(kind, question.question or "", targets[kind], seed),
        )
        for question, kind in wanted
    ]
    for (question, kind), rewrite in zip(wanted, session.run(NAME, flows), strict=True):
        generated: dict[str, Any] = {
            "seed": seed,
            "judge": session.identity,
            "prompts": {"rewrite": REWRITES[kind].digest, "check": SAME_QUESTION.digest},
        }
        if targets[kind] is not None:
            generated["language"] = targets[kind]
        _add(made, question, kind, rewrite, generated)
    made.notes = skipped_notes(skipped)
    return made


def _add(
    made: GeneratedRows,
    question: Question,
    kind: RewriteKind,
    rewrite: Rewrite,
    generated: dict[str, Any],
) -> None:
    row = None
    if rewrite.text is not None:
        row = variant_row(question, kind, Variant(rewrite.text, ()), generated)
    if row is not None and rewrite.rejection is None:
        made.rows.append(row)
        return
    made.unanswered += rewrite.is_unanswered
    rejected = {"rejected": rewrite.rejection, "proposal": row, "perturbs": question.question_id}
    made.rejected.append({**rejected, "kind": kind})
