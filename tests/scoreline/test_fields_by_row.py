"""Each row counts for itself: what other rows of a system or file have does not matter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest

import scoreline

if TYPE_CHECKING:
    from pathlib import Path


def test_each_sample_has_its_label_or_else_its_answer() -> None:
    results = scoreline.evaluate(
        [{"question_id": name, "expected_label": "yes"} for name in "abc"],
        {
            "s": [
                {"question_id": "a", "label": "yes", "answer": "I think so."},
                {"question_id": "b", "answer": "yes"},
                {"question_id": "c", "label": "no", "answer": "yes"},
            ]
        },
        evaluators=["classification"],
    )
    scores = results.scores.filter(metric="accuracy").sort("question_id")
    assert scores["value"].to_list() == [1.0, 1.0, 0.0]
    board = dict(results.leaderboard.select("metric", "mean").iter_rows())
    assert board["recall"] == pytest.approx(2 / 3, abs=1e-12)


QUESTIONS = [{"question_id": name} for name in "abcd"]
ROWS: list[dict[str, Any]] = [
    {"question_id": "a", "answer": "one", "retrieved": [{"doc_id": "d", "text": "from d"}]},
    {"question_id": "b", "response": "two", "retrieved_contexts": ["from elsewhere"]},
    {"question_id": "c", "answer": "three", "response": "another", "context": "one text"},
    {"id": "d", "answer": "four", "retrieved": [], "context": "not read"},
]
EXPECTED = [
    ("a", "one", ["from d"]),
    ("b", "two", ["from elsewhere"]),
    ("c", "three", ["one text"]),
    ("d", "four", None),
]


def given(form: str, folder: Path) -> Any:
    names = list(dict.fromkeys(name for row in ROWS for name in row))
    full = [{name: row.get(name) for name in names} for row in ROWS]
    path = folder / f"s.{form}"
    match form:
        case "rows":
            return ROWS
        case "pandas":
            return pd.DataFrame(full)
        case "polars":
            return pl.DataFrame(full, infer_schema_length=None)
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in full))
        case "csv":
            cells = [
                {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()}
                for row in full
            ]
            pl.DataFrame(cells, infer_schema_length=None).write_csv(path)
        case "parquet":
            pl.DataFrame(full, infer_schema_length=None).write_parquet(path)
    return path


@pytest.mark.parametrize("form", ["rows", "pandas", "polars", "jsonl", "csv", "parquet"])
def test_an_alias_counts_in_rows_without_the_field(form: str, tmp_path: Path) -> None:
    questions = [{**row, "expected_answer": "x"} for row in QUESTIONS]
    results = scoreline.evaluate(questions, {"s": given(form, tmp_path)}, evaluators=["rouge"])
    found = results.sql(
        "SELECT question_id, answer, contexts FROM predictions ORDER BY question_id"
    )
    assert found.rows() == EXPECTED


def test_the_fast_path_agrees(tmp_path: Path) -> None:
    """A file whose rows all have the field, null or not, beside an alias of it."""
    path = tmp_path / "s.jsonl"
    rows = [
        {"question_id": "a", "answer": "one", "response": "x"},
        {"question_id": "b", "answer": None, "response": "two"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = [{"question_id": name, "expected_answer": "one"} for name in "ab"]
    results = scoreline.evaluate(questions, {"s": path}, evaluators=["rouge"])
    found = results.sql("SELECT answer FROM predictions ORDER BY question_id")
    assert found["answer"].to_list() == ["one", "two"]
