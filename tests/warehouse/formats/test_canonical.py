"""The canonical format says the same in JSON Lines, JSON, CSV and Parquet."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.errors import InputError
from warehouse.formats.canonical import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {
        "question_id": "1",
        "question": 'Which "one",\nand why?',
        "expected_answer": ["a", "b"],
        "expected_parts": [["c", "C"], ["d"]],
        "gold_doc_ids": ["d1", "d2"],
        "choices": ["x", "y"],
        "correct_choice": 1,
        "noise_ratio": 0.4,
        "rubric": {"description": "d", "scale": {"1": "bad"}},
        "tags": {"kind": "B"},
        "source": "web",
    },
    {"question_id": "2", "expected_answer": ["c"], "correct_choice": 0, "choices": ["x", "y"]},
]
NESTED = {"rubric", "tags", "expected_answer", "expected_parts", "gold_doc_ids", "choices"}


def write(path: Path) -> Path:
    match path.name:
        case "q.jsonl":
            path.write_text("\n".join(json.dumps(row) for row in ROWS))
        case "list.json":
            path.write_text(json.dumps(ROWS, indent=1))
        case "object.json":
            path.write_text(json.dumps({row["question_id"]: row for row in ROWS}))
        case "q.parquet":
            pl.DataFrame(ROWS).write_parquet(path)
        case "q.parquet.gz":
            pl.DataFrame(ROWS).write_parquet(path.with_suffix(""))
            path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
        case "q.csv":
            cells = [
                {key: json.dumps(v) if key in NESTED else v for key, v in row.items()}
                for row in ROWS
            ]
            pl.DataFrame(cells).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("q.jsonl", [1, 2]),
        ("list.json", [2, 39]),
        ("object.json", [1, 1]),
        ("q.csv", [2, 4]),
        ("q.parquet", [1, 2]),
        ("q.parquet.gz", [1, 2]),
    ],
)
def test_every_kind_of_file_says_the_same(tmp_path: Path, name: str, lines: list[int]) -> None:
    expected = list(read_questions(Source(write(tmp_path / "q.jsonl"))))
    found = list(read_questions(Source(write(tmp_path / name))))
    assert [each.record for each in found if isinstance(each, Read)] == [
        each.record for each in expected if isinstance(each, Read)
    ]
    assert [each.line for each in found] == lines


def test_the_fields_of_a_question(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"question_id": 5, "expected_answer": "a", "correct_choice": "B", "expected_label": 1, '
        '"doc_id": null, "zeta": 1, "alpha": [null]}'
    )
    (read,) = read_questions(Source(path))
    assert isinstance(read, Read)
    question = read.record
    assert (question.question_id, question.expected_answer) == ("5", ["a"])
    assert (question.correct_choice, question.expected_label, question.doc_id) == (1, "1", None)
    assert list((question.extra or {}).items()) == [("alpha", [None]), ("zeta", 1)]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("question_id,latency_s\na,1\nb,x\n", 3, "latency_s: expected a number, found 'x'"),
        ("question_id,latency_s\na,1\nb,NaN\n", 3, "latency_s: expected a number, found 'NaN'"),
        ('answer,question_id,contexts\n"a\nb",a,[]\n,b,[1\n', 4, "expected JSON, found '[1'"),
        ("question_id,answer\na\n", 2, "expected 2 cells, found 1"),
        ("question_id,answer\n,x\n", 2, "question_id: missing"),
    ],
)
def test_a_bad_row_of_a_csv_file(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    read = list(read_predictions(Source(path, "s")))
    rejects = [each for each in read if isinstance(each, Reject)]
    assert [each.line for each in rejects] == [line]
    assert said in rejects[0].reason


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", b'question_id,answer\na,"x', "p.csv:2: not CSV"),
        ("p.csv", b"question_id,question_id\na,b\n", "p.csv:1: the header names"),
        ("p.csv", b"question_id\n\xff\n", "p.csv:2: not UTF-8"),
        ("p.parquet", b"PAR1", "p.parquet: not Parquet"),
        ("p.xls", b"x", "p.xls: unknown file suffix '.xls'; expected .jsonl"),
        ("p.json", b'[{"question_id": "a"},\n{"question_id": }]', "p.json:2: not JSON"),
        ("p.json", b"[\n\n\xff]", "p.json:3: not UTF-8"),
        ("p.json", b"[1] x", "p.json:1: not JSON: expected the end"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_predictions(Source(path, "s")))
    assert said in str(caught.value)


def test_a_parquet_file_without_a_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pl.DataFrame({"question_id": ["a", "b"], "latency_s": [1.0, float("nan")]}).write_parquet(path)
    rejects = [each for each in read_predictions(Source(path, "s")) if isinstance(each, Reject)]
    assert [(each.line, each.reason) for each in rejects] == [
        (2, "latency_s: expected a finite number, found nan")
    ]
