"""A field that no name is for is kept in every format, also one that is itself called `extra`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.formats.catalog import format_named
from warehouse.formats.format import Read, Source

if TYPE_CHECKING:
    from pathlib import Path

ROWS: dict[str, dict[str, Any]] = {
    "canonical": {"question_id": "q", "answer": "a"},
    "deepeval": {"input": "?", "actual_output": "a"},
    "langfuse": {"id": "t", "input": "?", "output": "a"},
    "lm-eval": {"doc_id": 0, "doc": {}, "arguments": [["p", {}]], "resps": [["a"]]},
    "promptfoo": {"vars": {"q": "?"}, "provider": "p", "response": {"output": "a"}},
    "ragas": {"user_input": "?", "response": "a"},
    "rgb": {"id": 1, "query": "?", "response": "a"},
    "trace": {"question": "?", "documents_sentences": [], "response": "a"},
}


@pytest.mark.parametrize("own", ["a text", {"a": 1}, [1]], ids=["text", "object", "list"])
@pytest.mark.parametrize("name", ROWS)
def test_a_field_of_that_name_is_a_field_like_others(tmp_path: Path, name: str, own: Any) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({**ROWS[name], "extra": own, "other": 5}))
    (read,) = format_named(name).predictions(Source(path, "s"))
    assert isinstance(read, Read)
    kept = read.record.extra or {}
    assert {field: kept.get(field) for field in ("extra", "other")} == {"extra": own, "other": 5}


def test_the_questions_of_rgb_keep_it_too(tmp_path: Path) -> None:
    path = tmp_path / "en.json"
    path.write_text(json.dumps({"id": 1, "query": "?", "answer": "a", "extra": "a text"}))
    (read,) = format_named("rgb").questions(Source(path))
    assert isinstance(read, Read)
    assert read.record.extra == {"extra": "a text"}
