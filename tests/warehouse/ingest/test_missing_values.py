"""What counts as missing: empty errors, texts of missing values, numbers in other units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.ingest import plan
from warehouse.ingest.fast_path import NotFastPath
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.ingest.result import Ingested

ERRORS = [("q1", ""), ("q2", " \t\r\n"), ("q3", "timed out"), ("q4", None)]


def refuse(*_: object) -> list[Any]:
    raise NotFastPath("by the test")


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ingest(
    folder: Path, path: Path, *, questions: list[dict[str, Any]] | None = None
) -> tuple[Warehouse, Ingested, Ingested]:
    warehouse = Warehouse(folder / "w.duckdb")
    asked = lines(
        folder / "questions.jsonl", questions or [{"question_id": name} for name, _ in ERRORS]
    )
    first = ingest_questions(warehouse, benchmark="b", format="canonical", questions=[asked])
    files = [(path, "s")]
    return (
        warehouse,
        first,
        ingest_predictions(warehouse, benchmark="b", format="canonical", files=files),
    )


def written(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"answers.{kind}"
    match kind:
        case "jsonl":
            return lines(path, rows)
        case "json":
            path.write_text(json.dumps(rows))
        case "csv":
            pl.DataFrame(rows).write_csv(path)
        case "parquet":
            pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.mark.parametrize("route", ["fast", "row by row"])
@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_an_empty_error_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, route: str
) -> None:
    if route == "row by row":
        monkeypatch.setattr(plan, "scan_predictions", refuse)
    rows = [{"question_id": name, "answer": "a", "error": error} for name, error in ERRORS]
    warehouse, _, done = ingest(tmp_path, written(tmp_path, kind, rows))
    found = warehouse.fetch("SELECT question_id, error FROM predictions ORDER BY 1").rows()
    assert found == [("q1", None), ("q2", None), ("q3", "timed out"), ("q4", None)]
    assert not done.notes


@pytest.mark.parametrize("route", ["fast", "row by row"])
@pytest.mark.parametrize("text", ["NULL", "NaN", "None", "nan", "<NA>"])
def test_the_text_of_a_missing_value_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, route: str
) -> None:
    if route == "row by row":
        monkeypatch.setattr(plan, "scan_predictions", refuse)
        monkeypatch.setattr(plan, "scan_questions", refuse)
    questions = [{"question_id": name, "expected_answer": [text, "x"]} for name, _ in ERRORS]
    rows = [{"question_id": name, "answer": "a", "label": "l"} for name, _ in ERRORS]
    rows[1]["answer"] = rows[2]["answer"] = rows[3]["label"] = text
    path = lines(tmp_path / "s.jsonl", rows)
    warehouse, first, second = ingest(tmp_path, path, questions=questions)
    said = "a text that tools write for a missing value"
    assert [note.partition(", such")[0] for note in first.notes] == [
        f"`expected_answers` holds in 4 of 4 questions {said}"
    ]
    assert [note.partition(", such")[0] for note in second.notes] == [
        f"`answer` holds in 2 of 4 predictions {said}",
        f"`label` holds in 1 of 4 predictions {said}",
    ]
    # A note only: the value is as it was.
    kept = warehouse.fetch("SELECT answer FROM predictions ORDER BY question_id")
    assert kept["answer"].to_list() == ["a", text, text, "a"]


@pytest.mark.parametrize(
    ("amounts", "notes"),
    [
        ({"latency_s": 1986.5}, ["1,986 in `latency_s`, which is in seconds"]),
        ({"latency_s": 119.0, "cost_usd": 4.9}, []),
        ({"cost_usd": 12}, ["12 in `cost_usd`, which is in US dollars"]),
    ],
)
def test_amounts_in_another_unit_are_noted(
    tmp_path: Path, amounts: dict[str, float], notes: list[str]
) -> None:
    rows = [{"question_id": name, "answer": "a", **amounts} for name, _ in ERRORS]
    # One outlier is not a unit.
    rows[0]["latency_s"] = 5000.0
    _, _, done = ingest(tmp_path, lines(tmp_path / "s.jsonl", rows))
    if "latency_s" not in amounts:
        done_notes = [note for note in done.notes if "cost_usd" in note]
    else:
        done_notes = list(done.notes)
    assert len(done_notes) == len(notes)
    for note, expected in zip(done_notes, notes, strict=True):
        assert f"system 's' has a median of {expected}" in note
        assert "{predictions: {COLUMN: {to: " in note


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_whole_numbers_may_have_a_point(tmp_path: Path, kind: str) -> None:
    asked = {"question_id": 7.0, "choices": ["x", "y", "z"], "correct_choice": 2.0}
    asked |= {"gold_relevance": {"d1": 3.0, "d2": 0.0}}
    if kind == "csv":
        asked = {
            name: json.dumps(value) if isinstance(value, (list, dict)) else value
            for name, value in asked.items()
        }
        asked["question_id"] = "7"
    path = written(tmp_path, kind, [asked])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="canonical", questions=[path])
    given = {"question_id": 7.0, "repeat": 0.0}
    given["retrieved"] = [{"doc_id": 2.0, "rank": 2.0}, {"doc_id": "d1", "rank": 1}]
    answers = lines(tmp_path / "s.jsonl", [given])
    ingest_predictions(warehouse, benchmark="b", format="canonical", files=[(answers, "s")])
    found = warehouse.fetch("SELECT question_id, correct_choice, gold_doc_ids FROM questions")
    assert found.rows() == [("7", 2, ["d1"])]
    found = warehouse.fetch("SELECT question_id, repeat, retrieved_doc_ids FROM predictions")
    assert found.rows() == [("7", 0, ["d1", "2"])]
