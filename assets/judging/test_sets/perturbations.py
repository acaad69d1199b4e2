"""Perturbations: variants of questions that must be answered in the same way."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from assets.judging.test_sets.result import GeneratedRows
from evaluators.components.test_sets.draws import Draws
from evaluators.components.test_sets.perturbations import (
    DISTRACTORS,
    PERTURBATIONS,
    VERSION,
    Variant,
    add_distractor,
)
from evaluators.flows.reply import digest_of
from evaluators.outcome import Undefined
from evaluators.text.words import compose
from warehouse.formats.test_sets import GENERATED, question_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from records.question import Question


def perturb_questions(
    questions: Sequence[Question],
    kinds: Sequence[str],
    *,
    seed: int = 0,
    distractors: Sequence[str] = DISTRACTORS,
) -> GeneratedRows:
    """Make a variant of every question and kind.

    A variant follows from the seed, the kind, and the id and text of its question alone. Letters
    are composed (NFC), so that all forms of a text have the same variants.

    Args:
        questions: The questions. Those that perturb others get no variants.
        kinds: Keys of `PERTURBATIONS`.
        seed: The seed.
        distractors: The sentences of the kind `distractor`.
    """
    made = GeneratedRows()
    skipped: Counter[tuple[str, str]] = Counter()
    ways: dict[str, Callable[[str, Draws], Variant]] = {
        **PERTURBATIONS,
        "distractor": partial(add_distractor, sentences=distractors),
    }
    for question in originals(questions, skipped):
        text = compose(question.question or "")
        for kind in kinds:
            draws = Draws(VERSION, seed, kind, question.question_id, text)
            try:
                variant = ways[kind](text, draws)
            except Undefined as reason:
                skipped[kind, reason.reason] += 1
                continue
            generated = {"seed": seed, "version": VERSION, "edits": list(variant.edits)}
            made.rows.append(variant_row(question, kind, variant, generated))
    made.notes = skipped_notes(skipped)
    return made


def originals(
    questions: Sequence[Question], skipped: Counter[tuple[str, str]]
) -> Iterator[Question]:
    """Yield the questions that can have variants; count the others by kind and reason."""
    for question in questions:
        if question.perturbs is not None:
            skipped["all kinds", "perturbs another"] += 1
        elif not (question.question or "").strip():
            skipped["all kinds", "no text"] += 1
        else:
            yield question


def skipped_notes(skipped: Counter[tuple[str, str]]) -> list[str]:
    """Return a note for each kind and reason of questions without a variant."""
    return [
        f"{kind}: no variant of {count:,} question{'' if count == 1 else 's'}: {reason}"
        for (kind, reason), count in sorted(skipped.items())
    ]


def variant_row(
    question: Question, kind: str, variant: Variant, generated: dict[str, Any]
) -> dict[str, Any]:
    """Return the row of a variant: that of the question, with another id and text.

    The id contains a digest of the text, so that no answer to another text is taken for its own.
    """
    row = question_row(question)
    return row | {
        "question_id": f"{question.question_id}~{kind}-{digest_of(variant.text)[:6]}",
        "question": variant.text,
        "perturbs": question.question_id,
        "perturbation": kind,
        GENERATED: {"by": "scoreline generate perturbations", **generated},
    }
