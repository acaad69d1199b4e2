"""Questions that each become several: identities, rejected rows, unchanged files, answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import store_answers
from warehouse.errors import InputError
from warehouse.formats.expansion import Expansion
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from warehouse.ingest.result import Ingested
    from warehouse.store import Warehouse

QUESTIONS = [
    {"question_id": "1", "question": "Who?", "expected_answer": ["Ann", "Anna"], "times": 2},
    {"question_id": "2", "question": "When?", "times": 1, "note": "東"},
]


def repeat(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As many questions as the field `times` says."""
    extra = {name: each for name, each in question["extra"].items() if name != "times"}
    times = question["extra"]["times"]
    if times < 0:
        raise ValueError("times: expected 0 or more")
    return [
        {
            **question,
            "question_id": f"{question['question_id']}@{at}",
            "noise_ratio": at / 10,
            "extra": {**extra, "part": at},
        }
        for at in range(times)
    ]


def files(folder: Path, rows: list[dict[str, Any]], **more: Any) -> BenchmarkFiles:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given = {"format": "canonical", "expansion": Expansion("twice", repeat), **more}
    return BenchmarkFiles(benchmark="b", questions=[path], **given)


def load(warehouse: Warehouse, given: BenchmarkFiles) -> Ingested:
    return ingest(warehouse, [given], kinds=["questions"])["b", "questions"]


def test_each_question_becomes_several(warehouse: Warehouse, tmp_path: Path) -> None:
    assert load(warehouse, files(tmp_path, QUESTIONS)).rows == 3
    rows = warehouse.fetch(
        "SELECT question_id, question, expected_answers, noise_ratio, extra, line FROM questions "
        "ORDER BY question_id"
    ).rows()
    assert [(*row[:4], json.loads(row[4]), row[5]) for row in rows] == [
        ("1@0", "Who?", ["Ann", "Anna"], 0.0, {"part": 0}, 1),
        ("1@1", "Who?", ["Ann", "Anna"], 0.1, {"part": 1}, 1),
        ("2@0", "When?", None, 0.0, {"part": 0, "note": "東"}, 2),
    ]


def test_another_expansion_reads_the_files_again(warehouse: Warehouse, tmp_path: Path) -> None:
    given = files(tmp_path, QUESTIONS)
    assert not load(warehouse, given).unchanged
    assert load(warehouse, given).unchanged
    assert load(warehouse, files(tmp_path, QUESTIONS, expansion=None)).rows == 2
    assert load(warehouse, given).rows == 3
    assert not load(
        warehouse, files(tmp_path, QUESTIONS, expansion=Expansion("other", repeat))
    ).unchanged


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([QUESTIONS[0], {**QUESTIONS[1], "times": -1}], "questions.jsonl:2: times: expected 0 or"),
        ([{**QUESTIONS[0], "times": 12}], "questions.jsonl:1: noise_ratio"),
        ([{**QUESTIONS[0], "noise_ratio": 2}], "questions.jsonl:1: noise_ratio"),
    ],
)
def test_a_question_that_cannot_be_expanded_is_rejected(
    rows: list[dict[str, Any]], message: str, warehouse: Warehouse, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        load(warehouse, files(tmp_path, rows))


def test_answers_do_not_change_the_questions(warehouse: Warehouse, tmp_path: Path) -> None:
    """RGB reads the noise of its questions from output files; answers of systems are none."""
    answers = store_answers(warehouse, "rag", {("3", 0): {"answer": "Ann", "label": "1"}})
    rows = [{"id": 3, "query": "Who?", "answer": ["Ann"], "positive": ["p"], "negative": ["n"]}]
    for expansion in (None, Expansion("one", lambda question: [question])):
        given: dict[str, Any] = {"format": "rgb", "expansion": expansion}
        load(warehouse, files(tmp_path, rows, **given))
        asked = files(tmp_path, rows, answers=[answers], **given)
        found = ingest(warehouse, [asked])
        assert found["b", "questions"].unchanged
        assert warehouse.fetch("SELECT question_id, answer, label FROM predictions").rows() == [
            ("3", "Ann", "1")
        ]
        assert ingest(warehouse, [asked])["b", "predictions"].unchanged
