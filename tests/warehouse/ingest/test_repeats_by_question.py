"""Files of other tools say how many answers there are to a question; canonical files do not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.ingest.result import Ingested

Answers = dict[str, dict[str, int | list[int]]]
"""How many answers there are to each question, or their numbers, by file: `system.task`."""


def numbers(given: int | list[int]) -> list[int]:
    return list(range(given)) if isinstance(given, int) else given


def fill(folder: Path, answers: Answers) -> tuple[Warehouse, Ingested]:
    """Ingest answers from files of ragas with a field `repeat`."""
    files: list[tuple[Path, str | None]] = []
    for name, counts in answers.items():
        path = folder / f"{name}.jsonl"
        rows = [
            {"id": question, "user_input": question, "response": "yes", "repeat": n}
            for question, count in counts.items()
            for n in numbers(count)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append((path, name.partition(".")[0]))
    warehouse = Warehouse(folder / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="ragas", predictions=files)
    return warehouse, ingest_predictions(warehouse, benchmark="b", format="ragas", files=files)


def failed(warehouse: Warehouse) -> dict[tuple[str, str], int]:
    return {
        (system, question): count
        for system, question, count in warehouse.fetch(
            "SELECT system, question_id, count(*) FROM predictions "
            "WHERE error = 'no prediction' GROUP BY ALL"
        ).iter_rows()
    }


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        # Each task has its own number of repeats.
        ({"a.t1": {"q1": 3, "q2": 3}, "a.t2": {"q3": 1}}, {}),
        # A system may run a task less often than another one ...
        (
            {"a.t1": {"q1": 3}, "a.t2": {"q3": 1}, "b.t1": {"q1": 1}, "b.t2": {"q3": 3}},
            {},
        ),
        # ... but an answer that its file lacks, and another system gave, is missing.
        ({"a.t1": {"q1": 3, "q2": 3}, "b.t1": {"q1": 3, "q2": 2}}, {("b", "q2"): 1}),
        # A single system gains nothing by leaving answers to hard questions out, either.
        ({"a.t1": {"q1": 3, "q2": 2}}, {("a", "q2"): 1}),
        ({"a.t1": {"q1": 3, "q2": 1}}, {("a", "q2"): 2}),
        ({"a.t1": {"q1": 3, "q2": [0, 2]}}, {("a", "q2"): 1}),
        # Files with answers to the same question are of one task.
        ({"a.t1": {"q1": [0], "q2": [0]}, "a.t2": {"q1": [1]}}, {("a", "q2"): 1}),
        (
            {"a.t1": {"q1": [0]}, "a.t2": {"q2": [0, 1]}, "a.t3": {"q1": [1], "q2": [2]}},
            {("a", "q1"): 1},
        ),
        # A question that is missing counts as often as it should have been answered elsewhere.
        ({"a.t1": {"q1": 3, "q2": 2}, "b.t1": {"q1": 3}}, {("a", "q2"): 1, ("b", "q2"): 3}),
        # One that was left out counts as often as the system answers others, at most.
        (
            {"a.t1": {"q1": 3, "q2": 3}, "a.t2": {"q3": 1}, "b.t1": {"q1": 3}},
            {("b", "q2"): 3, ("b", "q3"): 1},
        ),
        ({"a.t1": {"q1": 3, "q2": 3}, "b.t1": {"q1": 1}}, {("b", "q2"): 1}),
    ],
)
def test_missing_answers(
    tmp_path: Path, answers: Answers, expected: dict[tuple[str, str], int]
) -> None:
    warehouse, done = fill(tmp_path, answers)
    assert failed(warehouse) == expected
    given = sum(len(numbers(each)) for counts in answers.values() for each in counts.values())
    assert done.rows == given + sum(expected.values())
    assert len(done.notes) == len({system for system, _ in expected})
