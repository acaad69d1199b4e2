"""A question has the key that it had before its fields were known, so it is not asked again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from records.question import Question
from systems.processes.requests import LATER_FIELDS, request_of_question
from tests.warehouse.ingesting import ingest_questions
from warehouse.queries.answers import fetch_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path


MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
TOOLS = [{"name": "find", "description": "Finds rooms.", "parameters": {"type": "object"}}]


@pytest.mark.parametrize("others", [{}, {"floor": 3}])
def test_later_fields_count_as_unknown_ones(tmp_path: Path, others: dict[str, Any]) -> None:
    later = {"messages": MESSAGES, "tools": TOOLS, "user_messages": ["Hello", "Where?"]}
    assert later.keys() == set(LATER_FIELDS) <= Question.model_fields.keys()
    file = tmp_path / "questions.jsonl"
    row = {"question_id": "a", "question": "Where?", "expected_answer": ["Hall 3"]}
    file.write_text(json.dumps({**row, **later, **others}), encoding="utf-8")
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    ingest_questions(warehouse, benchmark="b", format="canonical", questions=[file])
    (question,) = fetch_questions(warehouse, "b")
    request = request_of_question(question)
    earlier = {"question_id": "a", "question": "Where?", "extra": {**later, **others}}
    assert request.key == earlier
    # The system gets them by their names, and what is right as well.
    assert request.sent == {**row, **later, **({"extra": others} if others else {})}


def test_a_question_without_them_has_no_extra() -> None:
    assert request_of_question({"question_id": "a"}).key == {"question_id": "a"}
