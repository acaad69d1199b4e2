"""The accuracy of an answer by the three rule sets, and when it is not applicable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from evaluators.metric import Metric
from evaluators.outcome import Graded
from evaluators.text.rgb import exact, normalized
from evaluators.text.rgb.flexible import NormalizedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.sample import Sample
    from evaluators.text.rgb.exact import Language

ACCURACIES = (
    Metric(
        name="accuracy",
        summary="Whether the answer is right by flexible matching.",
        primary=True,
    ),
    Metric(
        name="accuracy_exact",
        summary="Whether the answer is right by the benchmark's own script, refusals being wrong.",
    ),
    Metric(
        name="accuracy_normalized",
        summary="Whether the answer holds what is expected, however blanks and case are written.",
    ),
)

EXPECTED = frozenset({"expected_answers", "expected_parts"})
"""The columns with the expected answer."""


def other_scenario_reason(scenario: str) -> pl.Expr:
    """Return the reason where a question tests another scenario."""
    found = pl.col("scenario")
    return pl.when(found != scenario).then(pl.format("the scenario is {}", found))


def nothing_expected_reason() -> pl.Expr:
    """Return the reason where the expected answer is unknown."""
    answers = pl.col("expected_answers")
    spellings = pl.col("expected_parts").list.eval(pl.element().explode())
    known = [
        texts.list.eval(pl.element().str.strip_chars().str.len_bytes() > 0).list.any()
        for texts in (answers, spellings)
    ]
    return pl.when(~pl.any_horizontal(part.fill_null(value=False) for part in known)).then(
        pl.lit("no expected_answers")
    )


def expected_parts(sample: Sample) -> list[list[str]]:
    """Return the parts of a right answer, each as a list of spellings.

    Without `expected_parts` there is one part, whose spellings are the expected answers.
    """
    parts = [[text for text in part if text is not None] for part in sample.expected_parts or ()]
    if any(text.strip() for part in parts for text in part):
        return parts
    return [[text for text in sample.expected_answers or () if text is not None]]


def accuracies(answer: str, parts: Sequence[Sequence[str]], language: Language) -> Graded:
    """Return the three accuracies of an answer.

    Returns:
        `ACCURACIES`, with the flexible rule by which each part was found (null: it was not) as
        the evidence.
    """
    reply = NormalizedAnswer(answer)
    rules = [reply.rule_of_any(spellings) for spellings in parts]
    scores = {
        "accuracy": float(bool(rules) and all(rules)),
        "accuracy_exact": float(exact.is_correct(exact.remove_spaces(answer, language), parts)),
        "accuracy_normalized": float(normalized.is_correct(normalized.normalize(answer), parts)),
    }
    return Graded(scores, {"rules": rules})
