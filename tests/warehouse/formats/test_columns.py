"""Columns get the names of fields by configuration or by aliases; mistakes name what was found."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from warehouse.errors import InputError
from warehouse.formats.canonical import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers import field_names

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS: list[dict[str, Any]] = [
    {"key": "a", "prompt": "What is a gaggle?", "gold": ["Geese", "geese"], "lang": "en"},
    {"key": "b", "prompt": "Was ist das?", "gold": ["Enten"], "lang": "de"},
]
COLUMNS = {"key": "question_id", "prompt": "question", "gold": "expected_answer"}
FILES = ("q.jsonl", "q.jsonl.gz", "q.json", "q.csv", "q.csv.gz", "q.parquet")


def write(path: Path, rows: list[dict[str, Any]], delimiter: str = ",") -> Path:
    kind = path.name.split(".")[1]
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    if kind == "csv":
        target = path.parent / "plain.csv"
        with target.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            for row in rows:
                cells = {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()}
                writer.writerow(cells)
        text = target.read_text()
    elif kind == "json":
        text = json.dumps(rows)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", FILES)
def test_columns_are_fields_in_all_kinds_of_files(tmp_path: Path, name: str) -> None:
    source = Source(write(tmp_path / name, QUESTIONS), columns=COLUMNS)
    read = [each.record for each in read_questions(source) if isinstance(each, Read)]
    assert [(each.question_id, each.question, each.expected_answer) for each in read] == [
        ("a", "What is a gaggle?", ["Geese", "geese"]),
        ("b", "Was ist das?", ["Enten"]),
    ]
    assert [each.extra for each in read] == [{"lang": "en"}, {"lang": "de"}]
    assert source.aliases == {}


@pytest.mark.parametrize("name", FILES)
def test_aliases_are_understood_and_noted(tmp_path: Path, name: str) -> None:
    questions = [{"id": 1, "user_input": "Why?", "reference": "Because."}]
    source = Source(write(tmp_path / name, questions))
    (read,) = read_questions(source)
    assert isinstance(read, Read)
    record = read.record
    assert (record.question_id, record.question) == ("1", "Why?")
    assert (record.expected_answer, record.extra) == (["Because."], None)
    noted = {"id": "question_id", "user_input": "question", "reference": "expected_answer"}
    assert source.aliases == noted
    predictions = [{"id": 1, "response": "So.", "retrieved_contexts": ["x", "y"]}]
    source = Source(write(tmp_path / name, predictions), "s")
    (given,) = read_predictions(source)
    assert isinstance(given, Read)
    assert (given.record.answer, given.record.contexts) == ("So.", ["x", "y"])
    assert set(source.aliases) == {"id", "response", "retrieved_contexts"}


def test_a_field_of_its_own_name_comes_before_an_alias(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"question_id": "a", "id": "x", "question": "Why?", "query": "w"}]
    source = Source(write(tmp_path / "q.jsonl", rows))
    (read,) = read_questions(source)
    assert isinstance(read, Read)
    assert (read.record.question, read.record.extra) == ("Why?", {"id": "x", "query": "w"})
    assert source.aliases == {}
    # `retrieved` provides the contexts.
    rows = [{"question_id": "a", "retrieved": [{"doc_id": "d", "text": "t"}], "context": "all"}]
    (given,) = read_predictions(Source(write(tmp_path / "p.jsonl", rows), "s"))
    assert isinstance(given, Read)
    assert (given.record.contexts, given.record.extra) == (None, {"context": "all"})


@pytest.mark.parametrize("name", FILES)
def test_one_text_as_context_is_a_list_of_one(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "context": "One passage; and more."}])
    (given,) = read_predictions(Source(path, "s"))
    assert isinstance(given, Read)
    assert given.record.contexts == ["One passage; and more."]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["[1] Paris", "[Paris]", "[", "[] none", "[[1], 2] and [3]"])
def test_a_text_that_begins_with_a_bracket_stays_a_text(
    tmp_path: Path, name: str, text: str
) -> None:
    path = write(tmp_path / name, [{"question_id": "a", "expected_answer": text}])
    (read,) = read_questions(Source(path))
    assert isinstance(read, Read)
    assert read.record.expected_answer == [text]
    path = write(tmp_path / name, [{"question_id": "a", "context": text}])
    (given,) = read_predictions(Source(path, "s"))
    assert isinstance(given, Read)
    assert given.record.contexts == [text]


@pytest.mark.parametrize("cell", ['["a", "b"', "['a', 'b'", "['a' 'b']", '[ "a", NaN]', "[1, 2]"])
def test_a_list_of_a_csv_file_that_is_not_valid_is_no_text(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "q.csv", [{"question_id": "a", "expected_answer": cell}])
    (read,) = read_questions(Source(path))
    assert isinstance(read, Reject)
    assert read.reason.startswith("expected_answer")
    path = write(tmp_path / "p.csv", [{"question_id": "a", "context": cell}])
    (given,) = read_predictions(Source(path, "s"))
    assert isinstance(given, Reject)
    assert given.reason.startswith("context")


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.csv", "q.parquet"])
@pytest.mark.parametrize(
    ("row", "columns", "said"),
    [
        (
            {"question_id": "a", "query": "1", "user_input": "2"},
            {},
            "question: expected one column, found 'query' and 'user_input'",
        ),
        (
            {"question_id": "a", "question": "1", "text": "2"},
            {"text": "question"},
            "question: expected one column, found 'question' and 'text'",
        ),
        (
            {"question_id": "a", "querry_text": "1"},
            {"query_text": "question"},
            "no column 'query_text', which `columns` names; found {found}; did you mean {near}?",
        ),
        (
            {"question_ids": "a", "question": "1"},
            {},
            "{missing}; found {found}; did you mean {near}?",
        ),
    ],
)
def test_mistakes_name_what_was_found(
    tmp_path: Path, name: str, row: dict[str, Any], columns: dict[str, str], said: str
) -> None:
    source = Source(write(tmp_path / name, [row]), columns=columns)
    try:
        reasons = [each.reason for each in read_questions(source) if isinstance(each, Reject)]
    except InputError as error:
        reasons = [problem.message for problem in error.problems]
    has_header = name in {"q.csv", "q.parquet"}
    missing = "no column 'question_id'" if has_header else "question_id: missing"
    delimiter = " (delimiter: comma)" if name == "q.csv" else ""
    found = ", ".join(map(repr, row)) + delimiter
    near = "'question_ids'" if "question_ids" in row else "'querry_text'"
    expected = said.format(found=found, missing=missing, near=near)
    assert any(reason.startswith(expected) for reason in reasons), reasons


def test_an_explicit_column_comes_before_aliases(tmp_path: Path) -> None:
    rows = [{"id": "a", "query": "1", "user_input": "2"}]
    source = Source(write(tmp_path / "q.jsonl", rows), columns={"user_input": "question"})
    (read,) = read_questions(source)
    assert isinstance(read, Read)
    assert (read.record.question, read.record.extra) == ("2", {"query": "1"})
    assert source.aliases == {"id": "question_id"}


def test_messages_use_the_names_of_the_file(tmp_path: Path) -> None:
    rows = [{"id": "a", "prompt": 5}]
    source = Source(write(tmp_path / "q.jsonl", rows), columns={"prompt": "question"})
    (reject,) = read_questions(source)
    assert isinstance(reject, Reject)
    assert reject.reason == "prompt: expected text, found the number 5"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_are_detected(tmp_path: Path, delimiter: str) -> None:
    rows = [{"question_id": "a", "question": 'One, two; "three"\t?', "note, or; so": "x"}]
    (read,) = read_questions(Source(write(tmp_path / "q.csv", rows, delimiter)))
    assert isinstance(read, Read)
    assert read.record.question == 'One, two; "three"\t?'


def test_the_delimiter_separates_known_fields(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("question_id;question;rating, 1 to 5\na;Why, or how?;3\n")
    (read,) = read_questions(Source(path))
    assert isinstance(read, Read)
    assert read.record.question == "Why, or how?"
    assert read.record.extra == {"rating, 1 to 5": "3"}


@pytest.mark.parametrize("header", ["question_id;x,question,y", "key;a,b;c"])
def test_an_ambiguous_delimiter_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "q.csv"
    path.write_text(f"{header}\n1;2,3;4\n")
    with pytest.raises(InputError) as caught:
        list(read_questions(Source(path)))
    (problem,) = caught.value.problems
    assert problem.line == 1
    assert problem.message == (
        "cannot tell the delimiter: the header has a comma and a semicolon; "
        "put column names that contain one of them into quotes"
    )


def test_the_delimiter_is_named_where_a_column_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text("frage;antwort\nWarum?;Darum.\n")
    with pytest.raises(InputError) as caught:
        list(read_questions(Source(path)))
    assert caught.value.problems[0].message == (
        "no column 'question_id'; found 'frage', 'antwort' (delimiter: semicolon); "
        "to read another column as it, set `columns`"
    )


def test_rows_that_all_have_other_columns_take_bounded_memory(tmp_path: Path) -> None:
    names = field_names.FieldNames(tmp_path / "q.jsonl", {"question_id"}, {"key": "question_id"})
    for at in range(field_names.MAX_SEEN + 10):
        assert names.rename({f"own_{at}": at}) == {f"own_{at}": at}
    assert len(names._cache) <= field_names.MAX_CACHED
    assert len(names._seen) <= field_names.MAX_SEEN
    with pytest.raises(InputError, match="no column 'key', which `columns` names"):
        names.require_columns()
    assert names.rename({"key": "a"}) == {"question_id": "a"}
    names.require_columns()
