"""Messages, calls of tools and turns: what is read, stored and shown as steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.errors import InputError
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.queries.samples import samples
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

ASKED: list[dict[str, Any]] = [
    {
        "question_id": "c#2",
        "conversation_id": "c",
        "turn": 2,
        "messages": [{"role": "user", "content": "Hello."}],
        "tools": [{"name": "search"}],
        "expected_tool_calls": [{"name": "search", "arguments": {"q": {"ignore": True}}}],
        "user_goal": "a boat",
        "topics": ["boats"],
        "user_messages": ["Hello.", "A boat?"],
    },
    {"question_id": "d", "cluster": "own", "conversation_id": "e"},
]
DONE: list[dict[str, Any]] = [
    {"role": "assistant", "agent": "a", "tool_calls": [{"id": "1", "name": "search"}]},
    {
        "role": "tool",
        "tool_call_id": "1",
        "content": [{"type": "text", "text": "none"}, {"type": "image_url", "image_url": "x"}],
        "error": "timeout",
    },
    {
        "role": "assistant",
        "tool_calls": [{"id": "2", "function": {"name": "open", "arguments": '{"x": 1}'}}],
    },
    {"role": "assistant", "content": "A boat.", "tokens_in": 5, "cost_usd": 0.5},
]
ANSWER = {
    "question_id": "c#2",
    "messages": DONE,
    "started_at": "2026-01-01T01:00:00+01:00",
    "ended_at": 1767225601.5,
    "trace_id": "t",
    "tokens_in": 7,
    "error_kind": "system",
    "reported": {"passed": True, "score": 0.5},
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def ingested(tmp_path: Path, answer: dict[str, Any]) -> Warehouse:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = BenchmarkFiles(
        benchmark="t",
        format="canonical",
        questions=[write(tmp_path / "q.jsonl", ASKED)],
        predictions=[(write(tmp_path / "s.jsonl", [answer, {"question_id": "d"}]), "s")],
    )
    ingest(warehouse, [files])
    return warehouse


def test_questions_are_turns_of_a_conversation(tmp_path: Path) -> None:
    found = ingested(tmp_path, ANSWER).fetch("SELECT * FROM questions ORDER BY question_id")
    turn, other = found.iter_rows(named=True)
    assert (turn["cluster"], other["cluster"]) == ("c", "own")
    assert (turn["turn"], turn["topics"], turn["user_goal"]) == (2, ["boats"], "a boat")
    assert json.loads(turn["messages"]) == ASKED[0]["messages"]
    expected = [{"name": "search", "arguments": {"q": {"ignore": True}}, "optional": False}]
    assert json.loads(turn["expected_tool_calls"]) == expected


def test_the_last_text_of_the_assistant_is_the_answer(tmp_path: Path) -> None:
    found = ingested(tmp_path, ANSWER).fetch("SELECT * FROM predictions WHERE question_id = 'c#2'")
    (row,) = found.iter_rows(named=True)
    assert row["answer"] == "A boat."
    assert (row["started_at"], row["ended_at"]) == (1767225600.0, 1767225601.5)
    assert (row["trace_id"], row["tokens_in"], row["error_kind"]) == ("t", 7, "system")
    assert json.loads(row["reported"]) == {"passed": True, "score": 0.5}


def test_steps_are_messages_calls_and_results(tmp_path: Path) -> None:
    found = ingested(tmp_path, ANSWER).fetch(
        "SELECT step, role, agent, name, call_id, content, arguments::VARCHAR AS arguments, error "
        "FROM steps ORDER BY step"
    )
    assert found.rows() == [
        (1, "assistant", "a", None, None, None, None, None),
        (2, "assistant", "a", "search", "1", None, None, None),
        (3, "tool", None, None, "1", "none\n[image]", None, "timeout"),
        (4, "assistant", None, None, None, None, None, None),
        (5, "assistant", None, "open", "2", None, json.dumps('{"x": 1}'), None),
        (6, "assistant", None, None, None, "A boat.", None, None),
    ]


def test_a_sample_has_the_conversation_that_counts(tmp_path: Path) -> None:
    query = samples("t", ["history", "messages"])
    warehouse = ingested(tmp_path, ANSWER)
    history = {row["question_id"]: row["history"] for row in rows(warehouse, query)}
    assert json.loads(history["c#2"]) == ASKED[0]["messages"]
    own = [{"role": "user", "content": "Hi."}]
    warehouse = ingested(tmp_path, {**ANSWER, "history": own})
    history = {row["question_id"]: row["history"] for row in rows(warehouse, query)}
    assert json.loads(history["c#2"]) == own


def rows(warehouse: Warehouse, query: Any) -> list[dict[str, Any]]:
    return warehouse.fetch(*query).to_dicts()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"messages": [{"content": "x"}]}, "messages[0].role: missing"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role: expected"),
        ({"messages": [{"role": "tool", "content": [1]}]}, "expected text or parts with a type"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"name": "f", "arguments": 5}]}]},
            "expected an object, or its JSON as text, found the number 5",
        ),
        ({"started_at": "yesterday"}, "expected a time with its zone"),
        ({"ended_at": "2026-01-01T00:00:00"}, "expected a time with its zone"),
        ({"reported": {"x": "y"}}, "expected a finite number, true or false"),
        ({"error_kind": "other"}, "error_kind: expected"),
        ({"tokens_out": -1}, "tokens_out: expected a number of at least 0"),
    ],
)
def test_wrong_values_are_rejected(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        ingested(tmp_path, {"question_id": "c#2", **fields})
    assert reason in str(caught.value)
