"""Messages, calls of tools and turns: what is read, stored and shown as steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from records.error_messages import RecordError
from records.prediction import Prediction
from records.question import Question
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
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
        ({"tokens_in": 2**53 + 1}, "tokens_in: expected a number of at most"),
        ({"reported": {"x": 10**309}}, "the number 10000000000000000000... is too large"),
    ],
)
def test_wrong_values_of_answers_are_rejected(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        ingested(tmp_path, {"question_id": "c#2", **fields})
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"expected_tool_calls": [{"name": "f", "optional": "yes"}]},
            "expected_tool_calls[0].optional: expected true or false, found the text 'yes'",
        ),
        (
            {"expected_tool_calls": [{"name": "f", "arguments": "{"}]},
            "expected_tool_calls[0].arguments: expected an object, or its JSON as text",
        ),
        (
            {"expected_tool_calls": [{"name": "f", "arguments": '{"x": NaN}'}]},
            "expected_tool_calls[0].arguments: expected an object, or its JSON as text",
        ),
        (
            {"expected_tool_calls": [{"name": "f", "arguments": '{"x": 1e999}'}]},
            "expected_tool_calls[0].arguments: expected an object, or its JSON as text",
        ),
        (
            {"expected_tool_calls": [{"name": "f", "arguments": '{"x": "\\ud800"}'}]},
            "expected_tool_calls[0].arguments: expected an object, or its JSON as text",
        ),
        (
            {"expected_tool_calls": [{"name": "f", "arguments": '{"x":' + "[" * 5000}]},
            "expected_tool_calls[0].arguments: expected an object, or its JSON as text",
        ),
        ({"tools": [{"description": "x"}]}, "tools[0].name: missing"),
    ],
)
def test_wrong_values_of_questions_are_rejected(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        Question.read({"question_id": "q", **fields})
    assert reason in str(caught.value)


NAN = float("nan")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"expected_tool_calls": [{"name": "f", "arguments": {"x": [NAN]}}]}, ".arguments.x[0]"),
        ({"tools": [{"name": "f", "parameters": {"x": NAN}}]}, "tools[0].parameters.x"),
        ({"constraints": [{"value": NAN}]}, "constraints[0].value"),
        ({"messages": [{"role": "user", "seconds": NAN}]}, "messages[0].seconds"),
    ],
)
def test_numbers_that_json_cannot_hold_are_rejected(
    tmp_path: Path, fields: dict[str, Any], field: str
) -> None:
    file = tmp_path / "q.parquet"
    pl.DataFrame([{"question_id": "q", **fields}]).write_parquet(file)
    with pytest.raises(InputError) as caught:
        ingest_questions(
            Warehouse(tmp_path / "w.duckdb"), benchmark="t", format="canonical", questions=[file]
        )
    assert f"q.parquet:1: {field}" in str(caught.value).replace("expected_tool_calls[0]", "")
    assert "expected a finite number, found nan" in str(caught.value)


@pytest.mark.parametrize("name", ["messages", "tools", "expected_tool_calls", "rubric"])
def test_fields_that_are_null_in_every_row_are_absent(tmp_path: Path, name: str) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    file = write(tmp_path / "q.jsonl", [{"question_id": "q", name: None}])
    ingest_questions(warehouse, benchmark="t", format="canonical", questions=[file])
    assert warehouse.fetch(f"SELECT {name} FROM questions").item() is None


@pytest.mark.parametrize("name", ["messages", "history", "reported"])
def test_fields_of_answers_that_are_null_in_every_row_are_absent(tmp_path: Path, name: str) -> None:
    warehouse = ingested(tmp_path, {"question_id": "c#2", name: None})
    assert warehouse.fetch(f"SELECT {name} FROM predictions")[name].to_list() == [None, None]


def test_shapes_of_other_apis_are_read_and_unknown_members_kept() -> None:
    given = {
        "question_id": "q",
        "topics": "sports",
        "messages": [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "assistant", "tool_calls": [{"name": "f", "args": {"x": 1}, "index": 0}]},
            {"role": "assistant", "tool_calls": [{"name": "f", "input": {}, "id": ""}]},
            {"role": "function", "name": "f", "tool_call_id": "", "refusal": None, "turn": 3},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "strict": True}}],
        "expected_tool_calls": [
            {"id": 0, "type": "function", "function": {"name": "f", "arguments": '{"x": null}'}}
        ],
    }
    found = Question.read(given).model_dump(exclude_none=True)
    assert found["topics"] == ["sports"]
    assert found["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "assistant",
            "tool_calls": [{"name": "f", "arguments": {"x": 1}, "index": 0}],
        },
        {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {}}]},
        {"role": "tool", "name": "f", "turn": 3},
    ]
    assert found["tools"] == [{"name": "f", "strict": True}]
    assert found["expected_tool_calls"] == [
        {"name": "f", "arguments": {"x": None}, "optional": False, "id": 0}
    ]


def test_empty_and_numeric_ids(tmp_path: Path) -> None:
    calls = [{"id": 0, "function": {"name": "f"}}, {"id": "", "function": {"name": "g"}}]
    answer = {**ANSWER, "trace_id": "", "messages": [{"role": "assistant", "tool_calls": calls}]}
    warehouse = ingested(tmp_path, answer)
    assert warehouse.fetch("SELECT trace_id FROM predictions")["trace_id"].to_list() == [None, None]
    found = warehouse.fetch("SELECT name, call_id FROM steps WHERE name IS NOT NULL ORDER BY step")
    assert found.rows() == [("f", "0"), ("g", None)]


@pytest.mark.parametrize(
    "content", [" \n", [{"type": "image_url"}], [{"type": "image"}, {"type": "text", "text": " "}]]
)
def test_what_is_no_text_is_not_the_answer(content: object) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "A boat."},
        {"role": "assistant", "content": content},
    ]
    read = Prediction.read({"question_id": "q", "messages": messages})
    assert read.answer == "A boat."
    shown = Prediction.read({"question_id": "q", "messages": [{**messages[1], "content": "[b]"}]})
    assert shown.answer == "[b]"


@pytest.mark.parametrize("time", ["2026-01-01T01:00:00+01:00", "1767225600", "1767225600.0"])
def test_times_in_csv_are_iso_or_numbers(tmp_path: Path, time: str) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    answers = tmp_path / "s.csv"
    answers.write_text(f"question_id,started_at\nc#2,{time}\nd,\n", encoding="utf-8")
    asked = write(tmp_path / "q.jsonl", ASKED)
    ingest_questions(warehouse, benchmark="t", format="canonical", questions=[asked])
    ingest_predictions(warehouse, benchmark="t", format="canonical", files=[(answers, "s")])
    found = warehouse.fetch("SELECT started_at FROM predictions ORDER BY question_id")
    assert found["started_at"].to_list() == [1767225600.0, None]


def test_a_failed_answer_has_no_messages_rather_than_unknown_ones(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    answers: list[dict[str, Any]] = [ANSWER, {"question_id": "d", "error": "timeout"}]
    ingest_questions(
        warehouse,
        benchmark="t",
        format="canonical",
        questions=[write(tmp_path / "q.jsonl", ASKED)],
    )
    files = [(write(tmp_path / "s.jsonl", answers), "s")]
    ingest_predictions(warehouse, benchmark="t", format="canonical", files=files)
    found = warehouse.fetch(*samples("t", ["messages", "reported"])).sort("question_id")
    assert json.loads(found["messages"][0])[-1]["content"] == "A boat."
    assert found["messages"][1] == "[]"
    assert found["reported"][1] == "{}"
