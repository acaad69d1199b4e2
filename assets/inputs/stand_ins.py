"""Stand-ins for answers that systems have not given yet, by which a plan estimates judge calls."""

from __future__ import annotations

import json
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from warehouse.queries.answers import fetch_replies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from warehouse.store import Warehouse

EXAMPLES: Final = 50
"""The most earlier answers of a system that stand-ins are made from."""

PASSAGES: Final = 5
"""The passages of a stand-in if the system has not answered anything yet."""


def make_stand_ins(
    warehouse: Warehouse, system: str, missing: Sequence[tuple[Mapping[str, Any], int]]
) -> list[Mapping[str, Any]]:
    """Return one prediction, as a mapping of field names, for each answer that is still missing.

    It is one of the system's earlier answers, or else the expected answer with `PASSAGES` passages,
    so that every evaluator finds what it reads. The id of the question and the repeat make it
    differ from all others, as answers do: so the ledger has no judgment of it.

    Args:
        warehouse: The warehouse with earlier answers.
        system: The system.
        missing: The questions, by the names of canonical fields, each with the repeat.
    """
    if not missing:
        return []
    replies = fetch_replies(warehouse, system, EXAMPLES)
    examples: Iterator[Mapping[str, Any]] = cycle(map(json.loads, replies))
    return [
        {
            "question_id": question["question_id"],
            **({"repeat": repeat} if repeat else {}),
            **_stand_in(question, repeat, next(examples, None)),
        }
        for question, repeat in missing
    ]


def _stand_in(
    question: Mapping[str, Any], repeat: int, example: Mapping[str, Any] | None
) -> dict[str, Any]:
    mark = f"{question['question_id']}/{repeat}" if repeat else question["question_id"]
    return _made_up(question, mark) if example is None else _like(example, mark)


def _like(example: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """Return the texts of an earlier answer, marked with what tells it from others."""
    found: dict[str, Any] = {}
    if example.get("answer") is not None:
        found["answer"] = _marked(example["answer"], mark)
    if example.get("contexts") is not None:
        found["contexts"] = [_marked(each, mark) for each in example["contexts"]]
    if example.get("retrieved") is not None:
        found["retrieved"] = [
            {**each, **({"text": _marked(each["text"], mark)} if each.get("text") else {})}
            for each in example["retrieved"]
        ]
    return found


def _made_up(question: Mapping[str, Any], mark: str) -> dict[str, Any]:
    asked = question.get("question") or ""
    expected = question.get("expected_answer") or asked
    answer = expected if isinstance(expected, str) else expected[0]
    return {
        "answer": _marked(answer, mark),
        "contexts": [_marked(asked, f"{mark}, {number}") for number in range(PASSAGES)],
    }


def _marked(text: str, mark: str) -> str:
    return f"{text} ({mark})"
