"""Whatever bytes a file has, the fast path refuses it or gives the rows of validation."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.services import REQUIRED
from warehouse.errors import InputError
from warehouse.formats.canonical import FORMAT
from warehouse.formats.format import Source
from warehouse.formats.readers.limits import LONGEST_ROW, MAX_DEPTH
from warehouse.ingest.fast_path import NotFastPath, scan_predictions, scan_questions
from warehouse.ingest.row_by_row import write_predictions, write_questions
from warehouse.ingest.rows_sql import select_predictions, select_questions

if TYPE_CHECKING:
    from warehouse.ingest.rows_sql import JsonLines

Kind = Literal["questions", "predictions"]
Rows = list[dict[str, Any]]

QUESTION: dict[str, Any] = {
    "question_id": 7,
    "question": 'é "\\ \n',
    "expected_answer": ["a"],
    "expected_parts": [["a"]],
    "gold_relevance": {"a": 2},
    "choices": ["x", 2],
    "correct_choice": 1,
    "noise_ratio": 0.5,
    "turn": 2,
    "tags": {"kind": "x", "n": 1, "b": True, "none": None},
    "source": "s",
    "it's; (a, b) --": 1,
    "usage": {"by": [1, {"deep": None}]},
}
PREDICTION: dict[str, Any] = {
    "question_id": "q1",
    "system": "s",
    "answer": 'é "\\ \n',
    "retrieved": [
        {
            "doc_id": "a",
            "rank": 1,
            "score": -0.5e-3,
            "title": "t",
            "more": {"page": 1, "url": "a:b"},
        },
        {"doc_id": 7, "rank": 2, "score": 2, "more": [1], "it's; (a, b) --": 1},
    ],
    "cited_sentence_ids": ["S1", 2],
    "choice_probs": [0.5, None, 1.0001],
    "latency_s": 1.5,
    "tokens_in": 3,
    "model": None,
    "it's; (a, b) --": 1,
    "usage": {"by": [1, {"deep": None}]},
}
ROWS: dict[Kind, dict[str, Any]] = {"questions": QUESTION, "predictions": PREDICTION}
KINDS: tuple[Kind, ...] = ("questions", "predictions")


def fast_rows(kind: Kind, path: Path) -> Rows | None:
    """The rows of the fast path; None if it refuses the file."""
    try:
        lines = scan_questions(path) if kind == "questions" else scan_predictions(path, "s")
        return rows_of(kind, lines)
    except (NotFastPath, duckdb.Error):
        return None


def validated_rows(kind: Kind, path: Path, target: Path) -> Rows | None:
    """The rows of validation row by row; None if a row is not valid."""
    sources = [Source.of(path, "s" if kind == "predictions" else None)]
    try:
        if kind == "questions":
            lines, _ = write_questions(sources, FORMAT.questions, target, 0.0)
        else:
            known = {f"q{n}": "?" for n in range(10)}
            lines, _ = write_predictions(sources, FORMAT, target, 0.0, known)
    except InputError:
        return None
    return rows_of(kind, lines)


def rows_of(kind: Kind, lines: JsonLines) -> Rows:
    select = select_questions(lines) if kind == "questions" else select_predictions(lines)
    with duckdb.connect() as connection:
        found = connection.execute(select, {"benchmark": "b", **lines.parameters})
        names = [each[0] for each in found.description]
        rows = [dict(zip(names, each, strict=True)) for each in found.fetchall()]
    for row in rows:
        row.pop("line", None)
        if row.get("extra") is not None:
            row["extra"] = json.loads(row["extra"])
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def read_both(kind: Kind, content: bytes, suffix: str = ".jsonl") -> tuple[Rows | None, ...]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"rows{suffix}"
        path.write_bytes(content)
        return fast_rows(kind, path), validated_rows(kind, path, Path(folder) / "target.jsonl")


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


HOSTILE = {
    "a repeated field": '{"question_id": "q1", "question_id": "q1"}',
    "a repeated field, once escaped": '{"question_id": "q1", "question\\u005fid": "q1"}',
    "a repeated unknown field": '{"question_id": "q1", "x": 1, "x": 1}',
    "a repeated member in an unknown field": '{"question_id": "q1", "x": {"y": 1, "y": 2}}',
    "a repeated system": '{"question_id": "q1", "system": "s", "system": "s"}',
    "a repeated tag": '{"question_id": "q1", "tags": {"a": 1, "a": 1}}',
    "a repeated tag, once escaped": '{"question_id": "q1", "tags": {"a": 1, "\\u0061": 1}}',
    "a repeated tag, once null": '{"question_id": "q1", "tags": {"a": 1, "a": null}}',
    "a repeated grade": '{"question_id": "q1", "gold_relevance": {"a": 1, "a": 1}}',
    "a repeated document": '{"question_id": "q1", "retrieved": [{"doc_id": "a", "doc_id": "a"}]}',
    "a repeated text": '{"question_id": "q1", "retrieved": [{"text": "a", "text": "a"}]}',
    "a repeated title": '{"question_id": "q1", "retrieved": [{"text": "a", "x": 1, "x": 1}]}',
    "a repeated member of a document": (
        '{"question_id": "q1", "retrieved": [{"text": "a", "x": {"y": 1, "y": 1}}]}'
    ),
    "names that differ in case": '{"question_id": "q1", "x": 1, "X": 2}',
    "members that differ in case": '{"question_id": "q1", "retrieved": [{"text": "a", "Text": 1}]}',
    "an escaped name": '{"question\\u005fid": "q1"}',
    "a null character in a name": '{"question_id": "q1", "answer\\u0000x": "a"}',
    "an empty name": '{"question_id": "q1", "": 1}',
    "a quotation mark in a name": '{"question_id": "q1", "a\\"b": 1}',
    "a null character in a text": '{"question_id": "q1", "answer": "a\\u0000b"}',
    "an integer with a fraction as an id": '{"question_id": 1.0}',
    "an exponent as an id": '{"question_id": 1e1}',
    "a long id": '{"question_id": 123456789012345678901234567890}',
    "minus zero": '{"question_id": "q1", "label": -0, "x": -0, "latency_s": -0}',
    "an integer with a fraction": '{"question_id": "q1", "tokens_in": 3.0, "turn": 3.0}',
    "half a token": '{"question_id": "q1", "tokens_in": 2.5, "turn": 2.5}',
    "a rank with a fraction": '{"question_id": "q1", "retrieved": [{"doc_id": "a", "rank": 1.5}]}',
    "a grade with a fraction": '{"question_id": "q1", "gold_relevance": {"a": 1.5}}',
    "an integer as text": '{"question_id": "q1", "tokens_in": "3", "turn": "3"}',
    "a number as text": '{"question_id": "q1", "latency_s": "3", "noise_ratio": "1"}',
    "a truth as number": '{"question_id": "q1", "latency_s": true, "noise_ratio": true}',
    "a truth as text": '{"question_id": "q1", "answer": true, "question": true, "label": true}',
    "a number as answer": '{"question_id": "q1", "answer": 3, "question": 3}',
    "2**63": f'{{"question_id": "q1", "tokens_in": {2**63}, "turn": {2**63}, "x": {2**63}}}',
    "2**64": f'{{"question_id": "q1", "x": {2**64}}}',
    "5,000 digits": f'{{"question_id": "q1", "x": {"1" * 5000}}}',
    "5,000 digits in a list": f'{{"question_id": "q1", "x": [{"1" * 5000}]}}',
    "5,000 digits in an object": f'{{"question_id": "q1", "x": {{"y": {"1" * 5000}}}}}',
    "400 digits": f'{{"question_id": "q1", "x": {"1" * 400}}}',
    "400 digits in a list": f'{{"question_id": "q1", "x": [{"1" * 400}]}}',
    "400 digits in an object": f'{{"question_id": "q1", "x": {{"y": {"1" * 400}}}}}',
    "400 digits as a cost": f'{{"question_id": "q1", "cost_usd": {"1" * 400}}}',
    "300 digits as an id": f'{{"question_id": {"1" * 300}}}',
    "a number out of range in an object": '{"question_id": "q1", "x": {"y": 1e999}}',
    "half a surrogate pair in an object": '{"question_id": "q1", "x": {"y": "\\ud800"}}',
    "a repeated member beside a colon": '{"question_id": "q1", "x": {"y": ":", "y": 2}}',
    "a number out of range": '{"question_id": "q1", "x": 1e999}',
    "a number out of range in a list": '{"question_id": "q1", "x": [1e999]}',
    "a score out of range": '{"question_id": "q1", "retrieved": [{"text": "a", "score": 1e999}]}',
    "a tag out of range": '{"question_id": "q1", "tags": {"a": 1e999}}',
    "a list as tag": '{"question_id": "q1", "tags": {"a": []}}',
    "NaN": '{"question_id": "q1", "x": NaN}',
    "NaN in a list": '{"question_id": "q1", "x": [NaN]}',
    "Infinity": '{"question_id": "q1", "latency_s": Infinity, "noise_ratio": -Infinity}',
    "a trailing comma": '{"question_id": "q1",}',
    "a trailing comma in a list": '{"question_id": "q1", "x": [1,]}',
    "a comment": '{"question_id": "q1"} // x',
    "single quotes": "{'question_id': 'q1'}",
    "a leading zero": '{"question_id": "q1", "x": 01}',
    "half a surrogate pair": '{"question_id": "q1", "answer": "\\ud800", "question": "\\ud800"}',
    "half a surrogate pair in a name": '{"question_id": "q1", "\\ud800": 1}',
    "half a surrogate pair in a list": '{"question_id": "q1", "x": ["\\ud800"]}',
    "a control character": '{"question_id": "q1", "answer": "\x01", "question": "\x01"}',
    "a newline at the end of an id": '{"question_id": "q1\\n"}',
    "a newline at the end of a tag": '{"question_id": "q1", "tags": {"a\\n": "x"}}',
    "a letter with a newline": '{"question_id": "q1", "correct_choice": "A\\n"}',
    "a choice that does not exist": '{"question_id": "q1", "choices": ["a"], "correct_choice": 1}',
    "a missing id": '{"answer": "a"}',
    "an id that is null": '{"question_id": null}',
    "an empty id": '{"question_id": ""}',
    "a document without id": '{"question_id": "q1", "retrieved": [{"doc_id": "a"}, {"x": 1}]}',
    "a document that is null": '{"question_id": "q1", "retrieved": [null]}',
    "a list of nulls": '{"question_id": "q1", "contexts": [null], "choices": [null]}',
    "not an object": '["question_id"]',
    "null": "null",
    "a list of rows": '[{"question_id": "q1"}]',
    "two rows on one line": '{"question_id": "q1"} {"question_id": "q2"}',
    "a row on two lines": '{"question_id":\n"q1"}',
    "rows between carriage returns": '{"question_id": "q1"}\r{"question_id": "q2"}',
    "an alias beside its field": '{"question_id": "q1", "id": 5, "response": "a", "answer": "b"}',
    "an alias alone": '{"question_id": "q1", "response": "a", "query": "b", "context": "c"}',
    "an alias of null": '{"question_id": "q1", "response": "a", "answer": null}',
    "a field called extra": '{"question_id": "q1", "extra": {"a": 1}}',
    "too deep": f'{{"question_id": "q1", "x": {nested(MAX_DEPTH)}}}',
    "much too deep": f'{{"question_id": "q1", "x": {nested(100_000)}}}',
    "a deep document": (
        f'{{"question_id": "q1", "retrieved": [{{"text": "", "x": {nested(MAX_DEPTH - 2)}}}]}}'
    ),
    "an unfinished row": '{"question_id": "q1"',
    "nothing": "",
    "a blank line": " \n\n",
}
"""Contents that are not valid, or that DuckDB or the decoder could read otherwise."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_rows_are_refused_or_read_alike(kind: Kind, text: str) -> None:
    for ordinary in ("", json.dumps({"question_id": "q3"}) + "\n"):
        fast, validated = read_both(kind, (ordinary + text).encode())
        assert fast is None or fast == validated


ENCODED = {
    "a byte order mark": b'\xef\xbb\xbf{"question_id": "q1"}',
    "a byte order mark later": b'{"question_id": "q1"}\n\xef\xbb\xbf{"question_id": "q2"}',
    "Latin-1": '{"question_id": "q1", "answer": "é", "question": "é"}'.encode("latin-1"),
    "Latin-1 in a list": '{"question_id": "q1", "x": ["é"]}'.encode("latin-1"),
    "Latin-1 in an object": '{"question_id": "q1", "x": {"é": "é"}}'.encode("latin-1"),
    "Latin-1 in a name": '{"question_id": "q1", "é": 1}'.encode("latin-1"),
    "a surrogate": b'{"question_id": "q1", "x": "\xed\xa0\x80"}',
    "UTF-16": '{"question_id": "q1"}'.encode("utf-16"),
    "a null byte": b'{"question_id": "q1"}\0',
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", ENCODED.values(), ids=ENCODED)
def test_other_encodings_are_refused_or_read_alike(kind: Kind, content: bytes) -> None:
    fast, validated = read_both(kind, content)
    assert fast is None or fast == validated


USUAL = {
    "one line": "{0}",
    "carriage returns": "{0}\r\n{1}\r\n",
    "blank lines": "\n{0}\n \t\n\r\n{1}\n\n",
    "spaces": " {0} \n\t{1}\t\n",
}


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", USUAL.values(), ids=USUAL)
def test_usual_files_take_the_fast_path(kind: Kind, form: str, suffix: str) -> None:
    second = (
        {"question_id": "q2", "answer": "\u2028"}
        if kind == "predictions"
        else {
            "question_id": 8,
            "expected_answer": "b",
        }
    )
    content = form.format(json.dumps(ROWS[kind], ensure_ascii=False), json.dumps(second)).encode()
    fast, validated = read_both(kind, gzip.compress(content) if "gz" in suffix else content, suffix)
    assert fast is not None
    assert fast == validated


def test_a_line_may_be_as_long_as_any_row() -> None:
    row = '{"question_id": "q1", "answer": ""}'
    for length, is_fast in ((LONGEST_ROW - 1, True), (LONGEST_ROW + 1, False)):
        long = row.replace('""', f'"{"x" * (length - len(row))}"')
        fast, validated = read_both("predictions", f"{row.replace('q1', 'q2')}\n{long}\n".encode())
        assert (fast is not None) == is_fast
        assert fast == validated


def test_two_hundred_unknown_fields_are_few_enough() -> None:
    for count in (200, 201):
        row = {"question_id": "q1"} | {f"x{n}": n for n in range(count)}
        fast, validated = read_both("predictions", json.dumps(row).encode())
        assert fast == (validated if count == 200 else None)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=600 if REQUIRED else 60, deadline=None)
@given(data=st.data())
def test_edited_rows_are_refused_or_read_alike(kind: Kind, data: st.DataObject) -> None:
    text = json.dumps(ROWS[kind], ensure_ascii=data.draw(st.booleans()))
    edited = text.replace("q1", "q2").replace("7", "8", 1)
    for _ in range(data.draw(st.integers(1, 2))):
        start = data.draw(st.integers(0, len(edited)))
        dropped = data.draw(st.integers(0, 3))
        put = data.draw(st.text(st.sampled_from(list(',:{}[]"\\ \t019.eE-naltrufsNI')), max_size=3))
        edited = edited[:start] + put + edited[start + dropped :]
    fast, validated = read_both(kind, f"{text}\n{edited}\n".encode())
    assert fast is None or fast == validated
