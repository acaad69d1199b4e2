"""What the columns of a sample are called in the canonical input, for people who write files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.sample import ANSWER_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHERWISE: Mapping[str, tuple[str, ...]] = {
    "expected_answers": ("expected_answer",),
    "document_sentences": ("sentences", "text"),
    "contexts": ("contexts", "retrieved"),
    "retrieved_doc_ids": ("retrieved",),
    "choice_logprobs": ("choice_logprobs", "choice_probs"),
}
"""The fields from which a column is made, any of them, where it is not one of the same name."""

_PREDICTED = ANSWER_COLUMNS | {"system", "latency_s", "cost_usd", "error"}


def fields_of(column: str) -> tuple[str, ...]:
    """The fields of the input from which a column of samples is made; any of them is enough."""
    return OTHERWISE.get(column, (column,))


def file_of(column: str) -> str:
    """The files in which these fields stand: `questions`, `predictions` or `documents`."""
    if column == "document_sentences":
        return "documents"
    return "predictions" if column in _PREDICTED else "questions"
