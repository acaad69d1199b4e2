"""Only what changed is graded again, and what is gone leaves no grades behind."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.warehouse.conftest import change, put
from warehouse.queries.samples import delete_orphans, samples, select_stale_samples
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence

RETRIEVAL = ("gold_doc_ids", "retrieved_doc_ids")
ANSWERS = ("answer", "expected_answers")


@pytest.fixture
def warehouse(four_by_two: Warehouse) -> Warehouse:
    return four_by_two


def due(
    warehouse: Warehouse, evaluator: str, columns: Sequence[str], signature: str = "v1"
) -> list[str]:
    """The samples to be graded, as `system/question`."""
    query = select_stale_samples("b", evaluator, signature, columns)
    frame = warehouse.fetch(query.sql, query.parameters)
    return sorted(f"{system}/{question}" for _, system, question, *_ in frame.iter_rows())


def grade(
    warehouse: Warehouse, evaluator: str, columns: Sequence[str], signature: str = "v1"
) -> None:
    """Grade everything that is due."""
    query = select_stale_samples("b", evaluator, signature, columns)
    keys = warehouse.fetch(query.sql, query.parameters).select(
        "benchmark", "system", "question_id", "input_digest"
    )
    warehouse.replace(
        "grades",
        keys.with_columns(
            evaluator=pl.lit(evaluator),
            signature=pl.lit(signature),
            values=pl.lit([1.0]),
            scored_at=pl.lit(datetime(2026, 1, 1)),  # noqa: DTZ001
        ),
    )


def test_what_is_graded_is_not_due(warehouse: Warehouse) -> None:
    assert len(due(warehouse, "retrieval", RETRIEVAL)) == 8
    grade(warehouse, "retrieval", RETRIEVAL)
    assert due(warehouse, "retrieval", RETRIEVAL) == []
    assert len(due(warehouse, "retrieval", RETRIEVAL, signature="v2")) == 8
    assert len(due(warehouse, "other", RETRIEVAL)) == 8


Q1 = ["llm/q1", "rag/q1"]


@pytest.mark.parametrize(
    ("statement", "retrieval", "answers"),
    [
        ("UPDATE questions SET gold_doc_ids = ['z'] WHERE question_id = 'q1'", Q1, []),
        ("UPDATE questions SET expected_answers = ['z'] WHERE question_id = 'q1'", [], Q1),
        ("UPDATE questions SET rubric = '{}', tags = MAP {'a': 'b'}", [], []),
        (
            "UPDATE predictions SET answer = 'z' WHERE question_id = 'q1' AND system = 'llm'",
            [],
            ["llm/q1"],
        ),
        (
            "UPDATE predictions SET error = 'down' WHERE question_id = 'q1' AND system = 'llm'",
            ["llm/q1"],
            ["llm/q1"],
        ),
        (
            (
                "UPDATE predictions SET retrieved_doc_ids = ['x'] "
                "WHERE question_id = 'q1' AND system = 'rag'"
            ),
            ["rag/q1"],
            [],
        ),
        (
            (
                "INSERT INTO predictions BY NAME SELECT 'new' AS system, * EXCLUDE system "
                "FROM predictions WHERE system = 'llm'"
            ),
            [f"new/q{i}" for i in range(4)],
            [f"new/q{i}" for i in range(4)],
        ),
        ("DELETE FROM predictions WHERE question_id = 'q1'", [], []),
    ],
)
def test_only_what_an_evaluator_reads_makes_it_grade_again(
    warehouse: Warehouse, statement: str, retrieval: list[str], answers: list[str]
) -> None:
    grade(warehouse, "retrieval", RETRIEVAL)
    grade(warehouse, "answers", ANSWERS)
    change(warehouse, statement)
    assert due(warehouse, "retrieval", RETRIEVAL) == retrieval
    assert due(warehouse, "answers", ANSWERS) == answers
    grade(warehouse, "retrieval", RETRIEVAL)
    assert due(warehouse, "retrieval", RETRIEVAL) == []


def test_the_digest_depends_on_the_inputs_alone(warehouse: Warehouse) -> None:
    def digests(store: Warehouse, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        query = samples("b", columns)
        frame = store.fetch(query.sql, query.parameters)
        return sorted(frame.select("system", "question_id", "input_digest").rows())

    many = [
        {"question_id": f"q{i}", "gold_doc_ids": [f"d{i}"], "noise_ratio": i / 7}
        for i in range(3000)
    ]
    given = [{"system": "rag", "question_id": row["question_id"]} for row in many]
    put(warehouse, "questions", many)
    put(warehouse, "predictions", given)
    columns = ["gold_doc_ids", "noise_ratio", "retrieved_doc_ids", "answer"]
    first = digests(warehouse, columns)
    assert len({digest for *_, digest in first}) == len(first)
    assert digests(warehouse, columns[::-1]) == first
    assert digests(warehouse, [*columns, "question_id", "system"]) == first
    single = Warehouse(warehouse.path, threads=1)
    assert digests(single, columns) == first
    put(warehouse, "questions", many[::-1])
    put(warehouse, "predictions", given[::-1])
    assert digests(warehouse, columns) == first
    assert digests(warehouse, columns[:2]) != first


def test_the_digest_is_that_of_the_inputs_as_json(warehouse: Warehouse) -> None:
    query = samples("b", RETRIEVAL, ["llm"])
    frame = warehouse.fetch(query.sql, query.parameters).sort("question_id")
    text = '{"gold_doc_ids":["d0"],"retrieved_doc_ids":null,"failed":false}'
    hashed = warehouse.fetch("SELECT hash($text::VARCHAR)", {"text": text}).item()
    # Were another version to compute another digest, every warehouse would be graded anew.
    assert frame["input_digest"][0] == hashed == 18124902593630492734


def delete_retrieval_orphans(warehouse: Warehouse) -> int:
    """Delete the orphaned scores of `retrieval` and return their number."""
    with warehouse.transaction() as transaction:
        return transaction.execute(*delete_orphans("b", "retrieval"))


def test_orphans_are_grades_without_a_sample(warehouse: Warehouse) -> None:
    def remaining(evaluator: str) -> list[tuple[str, str]]:
        frame = warehouse.fetch(
            "SELECT system, question_id FROM grades WHERE evaluator = $name ORDER BY ALL",
            {"name": evaluator},
        )
        return frame.rows()

    grade(warehouse, "retrieval", RETRIEVAL)
    grade(warehouse, "answers", ANSWERS)
    every = remaining("retrieval")
    assert delete_retrieval_orphans(warehouse) == 0
    change(warehouse, "DELETE FROM predictions WHERE system = 'llm' AND question_id > 'q0'")
    change(warehouse, "DELETE FROM questions WHERE question_id = 'q3'")
    gone = [("llm", "q1"), ("llm", "q2"), ("llm", "q3"), ("rag", "q3")]
    assert delete_retrieval_orphans(warehouse) == len(gone)
    assert delete_retrieval_orphans(warehouse) == 0
    assert remaining("retrieval") == [each for each in every if each not in gone]
    assert len(every) == len(remaining("answers")) == 8


def test_orphans_of_a_benchmark_that_is_empty_now(warehouse: Warehouse) -> None:
    grade(warehouse, "retrieval", RETRIEVAL)
    change(warehouse, "DELETE FROM questions")
    assert delete_retrieval_orphans(warehouse) == 8


def test_parameters_are_not_part_of_the_statement(warehouse: Warehouse) -> None:
    name = "it's; DROP TABLE grades --"
    query = select_stale_samples(name, name, name, RETRIEVAL, [name])
    assert name not in query.sql
    assert warehouse.fetch(query.sql, query.parameters).is_empty()
