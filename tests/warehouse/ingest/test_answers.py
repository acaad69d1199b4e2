"""Answers of systems that are asked get into the tables as if a file had them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.warehouse.ingesting import store_answers
from warehouse.errors import InputError
from warehouse.formats.missing_answers import MissingAnswers
from warehouse.ingest import changed_pieces
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.ledger import answers as answers_module
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.ingest.result import Ingested
    from warehouse.ledger.answers import SystemAnswers

IDS = ("a", "b", "東", "d", "e")

MESSAGES = [
    {"role": "user", "content": "Where?"},
    {"role": "assistant", "tool_calls": [{"id": "1", "name": "find", "arguments": {"n": 1e-7}}]},
    {"role": "tool", "tool_call_id": "1", "content": "Hall 3"},
    {"role": "assistant", "content": "In hall 3."},
]
REPLIES: dict[tuple[str, int], dict[str, Any] | None] = {
    ("a", 0): {
        "answer": "Ürümqi \U0001f6a2",
        "retrieved": [
            {"docid": 7, "score": 0.25, "text": "p"},
            {"docid": 8, "score": 1, "text": ""},
        ],
        "cost_usd": 0.25,
        "latency_s": 1e-7,
        "first_token_s": 0.5,
    },
    ("a", 1): {"choice_probs": [0.5, 0, None], "label": 4, "extra": {"note": {"n": 1.0}}},
    ("b", 0): {"error": "no room"},
    ("b", 1): {"messages": MESSAGES, "tokens_in": 3, "reported": {"f1": 0.5, "ok": True}},
    ("d", 0): {"answer": "", "contexts": [], "cited_sentence_ids": ["S1", 2]},
    ("e", 0): None,
    ("東", 0): {
        "answer": "x",
        "retrieved": [{"chunk_id": "c", "rank": 2}, {"chunk_id": "b", "rank": 1}],
        "extra": {"label": "kept apart", "steps": 3, "none": None},
        "served_by": "model",
    },
}
ERRORS = {("e", 0): "connection refused"}


@pytest.fixture
def benchmark(tmp_path: Path) -> BenchmarkFiles:
    """Return a benchmark with questions only."""
    questions = tmp_path / "questions.jsonl"
    rows = [{"question_id": each, "question": f"What is {each}?"} for each in IDS]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return BenchmarkFiles(
        benchmark="b", format="canonical", questions=[questions], missing=MissingAnswers("failed")
    )


def load(warehouse: Warehouse, benchmark: BenchmarkFiles, *answers: SystemAnswers) -> Ingested:
    return ingest(warehouse, [replace(benchmark, answers=answers)])["b", "predictions"]


def table(warehouse: Warehouse) -> list[dict[str, Any]]:
    return warehouse.fetch("SELECT * FROM predictions ORDER BY ALL").to_dicts()


def as_file(folder: Path, system: str) -> Path:
    """Write the answers as versions did that ingested them from a file."""
    file = folder / f"{system}.jsonl"
    with file.open("wb") as opened:
        for (question, repeat), reply in sorted(REPLIES.items()):
            fields = {"error": ERRORS[question, repeat]} if reply is None else dict(reply)
            for measured in ("first_token_s", "served_by"):
                fields.pop(measured, None)
            extra = fields.pop("extra", {})
            unknown = {name: each for name, each in extra.items() if name != "label"}
            kept = {"extra": {"label": extra["label"]}} if "label" in extra else {}
            number = {"repeat": repeat} if repeat else {}
            row = {"question_id": question, **number, **fields, **unknown, **kept}
            opened.write(orjson.dumps(row) + b"\n")
    return file


@pytest.mark.parametrize("system", ["rag", "gpt-4.1", "a.b.C"])
def test_rows_and_digest_are_those_of_a_file(
    benchmark: BenchmarkFiles, tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So nothing is loaded or scored again in a project of an earlier version."""
    monkeypatch.setattr(answers_module, "_BATCH_ROWS", 3)
    asked, read = Warehouse(tmp_path / "asked.duckdb"), Warehouse(tmp_path / "read.duckdb")
    sorted_replies = dict(sorted(REPLIES.items()))
    answers = store_answers(asked, system, sorted_replies, ERRORS)
    loaded = load(asked, benchmark, answers)
    file = replace(benchmark, predictions=[(as_file(tmp_path, system), system)])
    expected = ingest(read, [file])["b", "predictions"]
    assert table(asked) == table(read)
    assert (loaded.digest, loaded.rows) == (expected.digest, expected.rows)
    assert loaded.notes == expected.notes != ()
    assert load(asked, benchmark, answers).unchanged


def test_a_digest_that_is_known_is_not_computed(
    benchmark: BenchmarkFiles, warehouse: Warehouse
) -> None:
    answers = store_answers(warehouse, "rag", {("a", 0): {"answer": "x"}})
    first = load(warehouse, benchmark, replace(answers, known_digest=b"1-2"))
    unread = replace(answers, calls={("a", 0): "not stored"}, known_digest=b"1-2")
    assert load(warehouse, benchmark, unread).unchanged
    other = load(warehouse, benchmark, replace(answers, known_digest=b"1-3"))
    assert not other.unchanged
    assert other.digest != first.digest


def test_an_answer_that_is_no_longer_valid_is_named(
    benchmark: BenchmarkFiles, warehouse: Warehouse
) -> None:
    good = store_answers(warehouse, "good", {(each, 0): {"answer": each} for each in IDS})
    load(warehouse, benchmark, good)
    before = table(warehouse)
    replies = {(each, 0): {"answer": each} for each in IDS[:4]}
    poor = store_answers(warehouse, "poor", {**replies, ("e", 0): {"latency_s": -1}})
    with pytest.raises(InputError) as raised:
        load(warehouse, benchmark, good, poor)
    (problem,) = raised.value.problems
    assert str(problem).startswith("system 'poor': the answer to question 'e' is not valid: ")
    assert "latency_s: expected" in str(problem)
    assert "`scoreline ask --force --system poor`" in str(problem)
    assert table(warehouse) == before

    lenient = replace(benchmark, max_reject_ratio=0.2)
    loaded = load(warehouse, lenient, good, poor)
    assert loaded.problems == (problem,)
    assert loaded.notes == ("system 'poor' did not answer 1 question: 'e'",)
    (reject,) = warehouse.fetch("SELECT kind, system, file, text FROM rejects").rows()
    assert reject[:3] == ("predictions", "poor", "system 'poor'")
    assert json.loads(reject[3]) == {"question_id": "e", "latency_s": -1}
    errors = "SELECT question_id, error FROM predictions WHERE error IS NOT NULL"
    assert warehouse.fetch(errors).rows() == [("e", "no prediction")]


def test_questions_that_were_not_asked_are_filled_in(
    benchmark: BenchmarkFiles, warehouse: Warehouse
) -> None:
    asked = replace(benchmark, missing=MissingAnswers("failed", {"rag": "not_asked"}))
    answers = store_answers(warehouse, "rag", {(each, 0): {"answer": each} for each in IDS[1:]})
    assert load(warehouse, asked, answers).rows == 5
    missing = "SELECT question_id, error FROM predictions WHERE not_asked = 1"
    assert warehouse.fetch(missing).rows() == [("a", None)]


def test_stand_ins_are_rows_like_answers(benchmark: BenchmarkFiles, warehouse: Warehouse) -> None:
    answers = store_answers(warehouse, "rag", {(each, 0): {"answer": each} for each in IDS[1:]})
    made = replace(answers, stand_ins=[{"question_id": "a", "answer": "to come"}])
    assert load(warehouse, benchmark, made).notes == ()
    rows = warehouse.fetch("SELECT answer FROM predictions ORDER BY question_id")
    assert rows["answer"].to_list() == ["to come", *IDS[1:2], *IDS[3:], "東"]


def test_files_and_answers_are_one_result(
    benchmark: BenchmarkFiles, warehouse: Warehouse, tmp_path: Path
) -> None:
    file = tmp_path / "old.jsonl"
    lines = [json.dumps({"question_id": each, "answer": f"old {each}"}) for each in IDS]
    file.write_text("\n".join(lines), encoding="utf-8")
    both = replace(benchmark, predictions=[(file, "old")], max_reject_ratio=0.2)
    answers = store_answers(warehouse, "rag", {(each, 0): {"answer": each} for each in IDS})
    assert load(warehouse, both, answers).rows == 10
    counted = "SELECT system, count(answer) FROM predictions GROUP BY system ORDER BY system"
    assert warehouse.fetch(counted).rows() == [("old", 5), ("rag", 5)]
    # The fast path finds this in the transaction, which is then repeated.
    file.write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    (problem,) = load(warehouse, both, answers).problems
    assert "a second prediction of 'old' for question 'a'" in problem.message
    assert warehouse.fetch(counted).rows() == [("old", 5), ("rag", 5)]


def test_answers_have_the_names_of_fields_in_every_format(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.jsonl"
    row = {"id": 1, "query": "Who?", "answer": "Ann", "positive": ["p"], "negative": ["n"]}
    questions.write_text(json.dumps(row), encoding="utf-8")
    rgb = BenchmarkFiles(benchmark="b", format="rgb", questions=[questions])
    answers = store_answers(warehouse, "rag", {("1", 0): {"answer": "Ann", "label": "1"}})
    assert load(warehouse, rgb, answers).rows == 1
    assert warehouse.fetch("SELECT answer, label FROM predictions").rows() == [("Ann", "1")]


def test_a_system_cannot_be_asked_and_in_a_file(
    benchmark: BenchmarkFiles, warehouse: Warehouse, tmp_path: Path
) -> None:
    file = tmp_path / "rag.jsonl"
    file.write_text(json.dumps({"question_id": "a", "answer": "x"}), encoding="utf-8")
    answers = store_answers(warehouse, "rag", {("b", 0): {"answer": "y"}})
    both = replace(benchmark, predictions=[(file, "rag")])
    with pytest.raises(InputError, match="system 'rag': the benchmark asks it, and its files"):
        load(warehouse, both, answers)


def test_answers_are_replaced_where_only_parts_of_files_are_read(
    benchmark: BenchmarkFiles,
    warehouse: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changed_pieces, "PIECE_BYTES", 20)
    monkeypatch.setattr(changed_pieces, "LARGE_BYTES", 0)
    file = tmp_path / "old.jsonl"

    def write(*answers: str) -> None:
        rows = zip(IDS, answers, strict=True)
        lines = [json.dumps({"question_id": name, "answer": each}) for name, each in rows]
        file.write_text("\n".join(lines), encoding="utf-8")

    both = replace(benchmark, predictions=[(file, "old")])
    write("1", "2", "3", "4", "5")
    rag, gone = (
        store_answers(warehouse, name, {(each, 0): {"answer": each} for each in IDS})
        for name in ("rag", "gone")
    )
    load(warehouse, both, rag, gone)
    write("1", "2", "other", "4", "5")
    rag = store_answers(warehouse, "rag", {(each, 0): {"answer": f"new {each}"} for each in IDS})
    partly = load(warehouse, both, rag)
    found = table(warehouse)
    whole = Warehouse(tmp_path / "whole.duckdb")
    store_answers(whole, "rag", {(each, 0): {"answer": f"new {each}"} for each in IDS})
    monkeypatch.setattr(changed_pieces, "LARGE_BYTES", 1 << 20)
    assert load(whole, both, rag).digest == partly.digest
    assert found == table(whole)
    assert {row["system"] for row in found} == {"old", "rag"}
