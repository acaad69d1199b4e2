"""The schema scan accepts only files that the scan in DuckDB accepts, with the same fields."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.services import REQUIRED
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.ingest import json_scan as module
from warehouse.ingest.fast_path import _scan_rows
from warehouse.ingest.fast_path_rules import PREDICTIONS, QUESTIONS
from warehouse.ingest.json_scan import FileFields, scan_file

if TYPE_CHECKING:
    from warehouse.ingest.fast_path_rules import Field

PREDICTION = {
    "question_id": "q1",
    "answer": 'é "\\ \n',
    "retrieved": [{"doc_id": "a", "rank": 1, "score": -0.5e-3}, {"doc_id": 7, "score": 2}],
    "cited_sentence_ids": ["S1", 2],
    "latency_s": 1.5,
    "model": None,
}
QUESTION = {
    "question_id": 7,
    "expected_answer": ["a"],
    "gold_relevance": {"a": 2},
    "noise_ratio": 0.5,
    "tags": {"kind": "x", "n": 1, "b": True, "none": None},
    "source": "s",
}


def written(folder: Path, *lines: str, end: str = "\n") -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(lines) + end, encoding="utf-8", newline="")
    return path


def scan(path: Path, expected: dict[str, Field], head: int = 1) -> FileFields | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEAD_ROWS", head)
        return scan_file(path, expected)


@pytest.mark.parametrize(("row", "expected"), [(PREDICTION, PREDICTIONS), (QUESTION, QUESTIONS)])
@settings(max_examples=150 if REQUIRED else 40)
@given(data=st.data())
def test_accepts_only_what_the_scan_in_duckdb_accepts(
    row: dict[str, Any], expected: dict[str, Field], data: st.DataObject
) -> None:
    text = json.dumps(row, ensure_ascii=data.draw(st.booleans()))
    edited = text
    for _ in range(data.draw(st.integers(1, 2))):
        start = data.draw(st.integers(0, len(edited)))
        dropped = data.draw(st.integers(0, 3))
        put = data.draw(st.text(st.sampled_from(list(',:{}[]"\\ \t019.eE-naltrufsNI')), max_size=3))
        edited = edited[:start] + put + edited[start + dropped :]
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = written(Path(folder), text, edited)
        found = scan(path, expected)
        if found is None:
            return
        try:
            row_again = decode(edited)
        except NotJsonError as error:
            reason = str(error)
        else:
            reason = None
            in_duckdb = _scan_rows(connection, path, expected)
    if reason is not None:
        # DuckDB finds these when it parses the file.
        assert "surrogate" in reason or "occurs twice" in reason
        return
    assert list(row_again) == [name for name in row if name in row_again]
    assert (found.names, found.extra_fields) == (in_duckdb.names, in_duckdb.extra_fields)
    assert found.types.keys() == in_duckdb.types.keys()
    for name in ("expected_answer", "correct_choice"):
        assert found.types.get(name, set()) >= in_duckdb.types.get(name, set())


@pytest.mark.parametrize(
    "line",
    [
        '{"question_id": "b", "retrieved": [], "cited_sentence_ids": [], "latency_s": 2}',
        '{"question_id":null,"answer":null,"retrieved":null,"latency_s":null,"model":false}\r',
    ],
)
def test_accepts_rows_with_optional_fields(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, json.dumps(PREDICTION), json.dumps({"question_id": "a"}), line, end="")
    found = scan(path, PREDICTIONS, head=2)
    assert found is not None
    assert found.extra_fields == ("model",)
    assert found.retrieved == {"doc_id", "rank", "score"}


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": 5},
        {"answer": ["a"]},
        {"retrieved": [None]},
        {"retrieved": ["a"]},
        {"retrieved": [{"doc_id": "a", "rank": 1.0, "score": 1}]},
        {"retrieved": [{"doc_id": "a", "rank": "1", "score": 1}]},
        {"retrieved": [{"doc_id": 1.5, "score": 1}]},
        {"retrieved": [{"doc_id": "a", "score": float("nan")}]},
        {"cited_sentence_ids": [None]},
        {"cited_sentence_ids": ["S1", True]},
        {"latency_s": "1"},
        {"question_id": -1},
        {"new": "field"},
    ],
)
def test_refuses_unusual_values(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = written(tmp_path, json.dumps(PREDICTION), json.dumps(PREDICTION | changes))
    assert scan(path, PREDICTIONS) is None


def test_checks_the_last_line_of_a_long_file(tmp_path: Path) -> None:
    lines = [json.dumps(PREDICTION | {"question_id": f"q{n}"}) for n in range(2000)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", 4096)
        assert scan_file(written(tmp_path, *lines, end=""), PREDICTIONS) is not None
        for odd in ('{"question_id": 1,}', lines[0].replace("1.5", "NaN"), "", "x" * 5000):
            assert scan_file(written(tmp_path, *lines, odd, end=""), PREDICTIONS) is None or not odd
            assert scan_file(written(tmp_path, *lines, odd, lines[0]), PREDICTIONS) is None


def test_refuses_rows_without_a_pattern(tmp_path: Path) -> None:
    for line in (
        "",
        "[]",
        "{}",
        "5",
        '{"rubric": {}}',
        '{"question_id": "a", "tags": 5}',
        "\ufeff{}",
    ):
        assert scan_file(written(tmp_path, line), QUESTIONS) is None
    assert scan_file(tmp_path / "none.jsonl", QUESTIONS) is None
