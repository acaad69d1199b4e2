"""Ids and names with control characters are refused with file and line, however a file is read."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from pydantic import TypeAdapter, ValidationError

from records.record import CONTROL, Id
from tests.warehouse.ingesting import ingest_questions
from warehouse.errors import InputError
from warehouse.formats.canonical import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.paths import expand
from warehouse.ingest.fast_path import NotFastPath, scan_predictions, scan_questions
from warehouse.ingest.rows_sql import select_predictions, select_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSED = (
    "\u0000",
    "\u0001",
    "\t",
    "\n",
    "\u001f",
    "\u007f",
    "\u0085",
    "\u009f",
    "\u2028",
    "\u2029",
)

QUESTION: dict[str, Any] = {
    "question_id": "q0",
    "question": "What?\n\u0085\u2028\u0001",
    "expected_label": "yes",
    "doc_id": "d",
    "gold_doc_ids": ["d", "e"],
    "gold_sentence_ids": ["S1"],
    "perturbs": "q0",
    "perturbation": "typo",
    "cluster": "c",
    "choices": ["a\nb", "c"],
    "tags": {"kind": "x", "n": 1},
}
PREDICTION: dict[str, Any] = {
    "question_id": "q0",
    "system": "s",
    "answer": "This.\n\u0085\u2028\u0001",
    "retrieved": [{"doc_id": "d", "chunk_id": "d-1", "score": 1.0, "text": "a\nb\u2028"}],
    "cited_sentence_ids": ["S1", "S2"],
    "label": "yes\n",
}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("questions", "question_id", {"question_id": "q{}0"}),
    ("questions", "expected_label", {"expected_label": "{}yes"}),
    ("questions", "doc_id", {"doc_id": "d{}"}),
    ("questions", "gold_doc_ids[1]", {"gold_doc_ids": ["d", "e{}"]}),
    ("questions", "gold_relevance", {"gold_relevance": {"d{}": 0}, "gold_doc_ids": None}),
    ("questions", "gold_sentence_ids[0]", {"gold_sentence_ids": ["S{}1"]}),
    ("questions", "perturbs", {"perturbs": "{}q0"}),
    ("questions", "perturbation", {"perturbation": "ty{}po"}),
    ("questions", "cluster", {"cluster": "c{}"}),
    ("questions", "tags", {"tags": {"kind": "x{}", "n": 1}}),
    ("questions", "tags", {"tags": {"ki{}nd": "x", "n": 1}}),
    ("predictions", "question_id", {"question_id": "q{}0"}),
    ("predictions", "system", {"system": "s{}"}),
    (
        "predictions",
        "retrieved[0].doc_id",
        {"retrieved": [{"doc_id": "{}d", "chunk_id": "d-1", "score": 1.0}]},
    ),
    (
        "predictions",
        "retrieved[0].chunk_id",
        {"retrieved": [{"doc_id": "d", "chunk_id": "d-{}1", "score": 1.0}]},
    ),
    ("predictions", "cited_sentence_ids[1]", {"cited_sentence_ids": ["S1", "S{}2"]}),
]
cases = pytest.mark.parametrize(("table", "field", "changes"), CASES)


def with_character(changes: dict[str, Any], character: str) -> dict[str, Any]:
    def put(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{}", character)
        if isinstance(value, list):
            return [put(each) for each in value]
        if isinstance(value, dict):
            return {put(name): put(each) for name, each in value.items()}
        return value

    return dict(put(changes))


def sound_row(table: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the characters, with the fields of the changed one."""
    row = QUESTION if table == "questions" else PREDICTION
    return changed_row(row, changes, "")


def changed_row(row: dict[str, Any], changes: dict[str, Any], character: str) -> dict[str, Any]:
    """Return a row with changes; None removes a field."""
    fields = row | with_character(changes, character)
    return {name: value for name, value in fields.items() if value is not None}


def write_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows in the format of the file's suffix."""
    match "".join(file.suffixes):
        case ".jsonl":
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".jsonl.gz":
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            file.write_bytes(gzip.compress(lines.encode()))
        case ".json":
            file.write_text(json.dumps(rows, indent=1))
        case ".csv":
            cells = [
                {
                    name: value if isinstance(value, str) else json.dumps(value)
                    for name, value in row.items()
                }
                for row in rows
            ]
            pl.DataFrame(cells).write_csv(file)
        case _:
            pl.DataFrame(rows).write_parquet(file)


@pytest.fixture(scope="module")
def memory() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def fast_rows(memory: duckdb.DuckDBPyConnection, file: Path, table: str) -> int | None:
    """Return how many rows the fast path reads; None if it refuses the file."""
    try:
        if table == "questions":
            lines = scan_questions(file)
            select = select_questions(lines)
        else:
            lines = scan_predictions(file, None)
            select = select_predictions(lines)
        assert lines.path == file
        return len(memory.execute(select, {"benchmark": "b", **lines.parameters}).fetchall())
    except (NotFastPath, duckdb.Error):
        return None


@cases
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_the_fast_path_refuses_them(
    memory: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    table: str,
    field: str,
    changes: dict[str, Any],
    suffix: str,
) -> None:
    del field
    file = tmp_path / f"rows{suffix}"
    sound = sound_row(table, changes)
    for character in ("", "\u0001", "\u0085", "\u2028"):
        write_rows(file, [sound, changed_row(sound, changes, character)])
        assert fast_rows(memory, file, table) == (None if character else 2), repr(character)


@cases
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet"])
def test_the_message_names_line_and_field(
    tmp_path: Path, table: str, field: str, changes: dict[str, Any], suffix: str
) -> None:
    file = tmp_path / f"rows{suffix}"
    sound = sound_row(table, changes)
    reader: Any = read_questions if table == "questions" else read_predictions
    for character in ("\u0001", "\u0085", "\u2028"):
        write_rows(file, [sound, changed_row(sound, changes, character)])
        first, second = reader(Source(file))
        assert isinstance(first, Read)
        assert isinstance(second, Reject)
        assert (second.line or 0) > 1
        assert re.match(
            rf"{re.escape(field)}\S*: expected text without control characters, found the text '"
            if field != "system"
            else "the system's name '.*' contains a (control character|line break)",
            second.reason,
        )
        assert character not in second.reason


def test_a_run_refuses_them_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    for suffix in (".jsonl", ".jsonl.gz"):
        file = tmp_path / f"q{suffix}"
        write_rows(file, [{"question_id": "q0"}, {"question_id": "q\u0001"}])
        with pytest.raises(InputError) as caught:
            ingest_questions(
                Warehouse(tmp_path / "w.duckdb"),
                benchmark="b",
                format="canonical",
                questions=[file],
            )
        assert [(each.file, each.line, each.message) for each in caught.value.problems] == [
            (
                file,
                2,
                "question_id: expected text without control characters, found the text 'q\\x01'",
            )
        ]


def test_all_routes_refuse_the_same_characters(
    memory: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    points = [*range(0x22), *range(0x7D, 0xA2), *range(0x2026, 0x202C), 0x2128, 0xA080, 0x1F600]
    control = {chr(n) for n in points if unicodedata.category(chr(n)) in {"Cc", "Zl", "Zp"}}
    assert control >= set(REFUSED)
    file = tmp_path / "q.jsonl"
    record = TypeAdapter(Id)
    for character in map(chr, points):
        name = f"a{character}b"
        is_refused = character in control
        for is_escaped in (True, False):
            file.write_text(json.dumps({"question_id": name}, ensure_ascii=is_escaped), "utf-8")
            found = fast_rows(memory, file, "questions")
            assert (found is None) == is_refused, (character, is_escaped)
        assert bool(re.search(CONTROL, name)) == is_refused, character
        if is_refused:
            with pytest.raises(ValidationError):
                record.validate_python(name)
        else:
            assert record.validate_python(name) == name


def test_texts_may_contain_them(memory: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = "".join(REFUSED)
    row = PREDICTION | {"answer": text, "label": text, "contexts": [text]}
    for suffix in (".jsonl", ".jsonl.gz", ".json"):
        file = tmp_path / f"p{suffix}"
        write_rows(file, [PREDICTION, row])
        _, read = read_predictions(Source(file))
        assert isinstance(read, Read)
        assert (read.record.answer, read.record.label) == (text, text)
        assert suffix == ".json" or fast_rows(memory, file, "predictions") == 2


@pytest.mark.parametrize("character", ["\u0001", "\u007f", "\u0085", "\u2028", "\u2029"])
def test_no_system_is_named_by_such_a_path(tmp_path: Path, character: str) -> None:
    (tmp_path / f"a{character}b_out.jsonl").write_text("{}")
    with pytest.raises(InputError, match=r"_out\.jsonl.*contains a (control character|line break)"):
        expand(tmp_path / "{system}_out.jsonl")
