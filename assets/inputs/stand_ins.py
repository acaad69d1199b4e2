"""Stand-ins for answers that systems have not given yet, by which a plan estimates judge calls."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from evaluators.engines.systems.answering import prediction_of
from warehouse.queries.answers import append_answers, fetch_replies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from warehouse.store import Warehouse

EXAMPLES: Final = 50
"""The most earlier answers of a system that stand-ins are made from."""

PASSAGES: Final = 5
"""The passages of a stand-in if the system has not answered anything yet."""


def append_stand_ins(
    warehouse: Warehouse, system: str, target: Path, questions: Sequence[Mapping[str, Any]]
) -> None:
    """Add a stand-in for the answer to each question to a file of predictions.

    It is one of the system's earlier answers, or else the expected answer with `PASSAGES` passages,
    so that every evaluator finds what it reads. The id of the question makes it differ from all
    others, as answers do: so the ledger has no judgment of it.

    Args:
        warehouse: The warehouse with earlier answers.
        system: The system.
        target: The file.
        questions: The questions, by the names of canonical fields.
    """
    replies = fetch_replies(warehouse, system, EXAMPLES)
    examples: Iterator[Mapping[str, Any]] = cycle([prediction_of(each, None) for each in replies])
    made = (
        _like(next(examples), question["question_id"]) if replies else _made_up(question)
        for question in questions
    )
    append_answers(target, zip((each["question_id"] for each in questions), made, strict=True))


def _like(example: Mapping[str, Any], question_id: str) -> dict[str, Any]:
    """Return the texts of an earlier answer, marked with the id of the question."""
    found: dict[str, Any] = {}
    if example.get("answer") is not None:
        found["answer"] = _marked(example["answer"], question_id)
    if example.get("contexts") is not None:
        found["contexts"] = [_marked(each, question_id) for each in example["contexts"]]
    if example.get("retrieved") is not None:
        found["retrieved"] = [
            {**each, **({"text": _marked(each["text"], question_id)} if each.get("text") else {})}
            for each in example["retrieved"]
        ]
    return found


def _made_up(question: Mapping[str, Any]) -> dict[str, Any]:
    question_id = question["question_id"]
    asked = question.get("question") or ""
    expected = question.get("expected_answer") or asked
    answer = expected if isinstance(expected, str) else expected[0]
    return {
        "answer": _marked(answer, question_id),
        "contexts": [_marked(asked, f"{question_id}, {number}") for number in range(PASSAGES)],
    }


def _marked(text: str, mark: str) -> str:
    return f"{text} ({mark})"
