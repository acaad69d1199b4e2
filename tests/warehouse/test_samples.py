"""Evaluators see what they ask for, and only what changed is graded again."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.errors import UnknownColumn
from warehouse.samples import SAMPLE_COLUMNS, delete_orphans, orphans, samples, stale
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RETRIEVAL = ("gold_doc_ids", "retrieved_doc_ids")
ANSWERS = ("answer", "expected_answers")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    questions = [
        {"question_id": f"q{i}", "gold_doc_ids": [f"d{i}"], "expected_answers": [f"{i}"]}
        for i in range(4)
    ]
    predictions = [
        {
            "system": system,
            "question_id": f"q{i}",
            "answer": f"{i}",
            "retrieved_doc_ids": [f"d{i}", "x"] if system == "rag" else None,
            "error": None,
        }
        for system in ("rag", "llm")
        for i in range(4)
    ]
    put(warehouse, "questions", questions)
    put(warehouse, "predictions", predictions)
    return warehouse


def put(warehouse: Warehouse, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Replace rows of benchmark `b` by their key."""
    warehouse.replace(table, pl.DataFrame([{"benchmark": "b", **row} for row in rows]))


def change(warehouse: Warehouse, statement: str) -> None:
    with warehouse.transaction() as transaction:
        transaction.execute(statement)


def seen(warehouse: Warehouse, *columns: str, system: str = "rag") -> list[Any]:
    """The values that an evaluator sees, by question."""
    query = samples("b", columns, [system])
    frame = warehouse.fetch(query.sql, query.parameters).sort("question_id")
    rows = frame.select(columns).rows()
    return [row[0] if len(columns) == 1 else row for row in rows]


def due(
    warehouse: Warehouse, evaluator: str, columns: Sequence[str], signature: str = "v1"
) -> list[str]:
    """The samples to be graded, as `system/question`."""
    query = stale("b", evaluator, signature, columns)
    frame = warehouse.fetch(query.sql, query.parameters)
    return sorted(f"{system}/{question}" for _, system, question, *_ in frame.iter_rows())


def grade(
    warehouse: Warehouse, evaluator: str, columns: Sequence[str], signature: str = "v1"
) -> None:
    """Grade everything that is due."""
    query = stale("b", evaluator, signature, columns)
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


def test_gives_the_columns_that_were_asked_for(warehouse: Warehouse) -> None:
    query = samples("b", ["answer", "question_id", "question"])
    frame = warehouse.fetch(query.sql, query.parameters)
    assert frame.columns == [
        "benchmark",
        "system",
        "question_id",
        "input_digest",
        "question",
        "answer",
    ]
    assert frame.schema["input_digest"] == pl.UInt64
    assert frame.height == 8


def test_all_columns_and_none_can_be_asked_for(warehouse: Warehouse) -> None:
    for columns in (SAMPLE_COLUMNS, ()):
        query = samples("b", columns)
        frame = warehouse.fetch(query.sql, query.parameters)
        assert frame.columns[4:] == list(columns)
        assert frame.height == 8


def test_suggests_the_nearest_column() -> None:
    with pytest.raises(UnknownColumn, match="no column 'anser'; did you mean 'answer'"):
        samples("b", ["anser"])


@pytest.mark.parametrize(
    ("column", "value", "empty"),
    [
        ("answer", "'a'", ""),
        ("label", "'a'", ""),
        ("contexts", "['a']", []),
        ("retrieved_doc_ids", "['a']", []),
        ("cited_sentence_ids", "['a']", []),
        ("choice_logprobs", "[-1.0]", []),
        ("latency_s", "1.5", None),
        ("cost_usd", "1.5", None),
    ],
)
def test_a_field_given_elsewhere_is_empty_here(
    warehouse: Warehouse, column: str, value: str, empty: object
) -> None:
    change(warehouse, f"UPDATE predictions SET {column} = NULL")
    assert seen(warehouse, column) == [None] * 4
    change(
        warehouse,
        f"UPDATE predictions SET {column} = {value} WHERE system = 'rag' AND question_id = 'q2'",
    )
    found = seen(warehouse, column)
    assert [found[i] for i in (0, 1, 3)] == [empty] * 3
    assert found[2] is not None
    assert found[2] != empty
    assert seen(warehouse, column, system="llm") == [None] * 4


def test_a_system_that_always_failed_counts_as_giving_everything(warehouse: Warehouse) -> None:
    change(
        warehouse,
        "UPDATE predictions SET answer = NULL, retrieved_doc_ids = NULL, error = 'down' "
        "WHERE system = 'rag'",
    )
    expected: list[Any] = [("", [], "down", None)] * 4
    assert seen(warehouse, "answer", "retrieved_doc_ids", "error", "latency_s") == expected
    change(warehouse, "UPDATE predictions SET error = NULL WHERE question_id = 'q0'")
    assert seen(warehouse, "retrieved_doc_ids") == [None] * 4


def test_an_empty_answer_is_not_a_failure(warehouse: Warehouse) -> None:
    change(warehouse, "UPDATE predictions SET answer = NULL WHERE question_id = 'q0'")
    change(
        warehouse,
        "UPDATE predictions SET answer = NULL, error = 'down' WHERE question_id = 'q1'",
    )
    found = seen(warehouse, "answer", "error")
    assert found[:2] == [("", None), ("", "down")]


def test_document_sentences_are_those_of_the_question_in_order(warehouse: Warehouse) -> None:
    sentences = [
        {"doc_id": "d", "sentence_id": f"S{i}", "position": i, "text": f"t{i}"} for i in (10, 2, 1)
    ]
    put(warehouse, "documents", [*sentences, {**sentences[0], "doc_id": "other"}])
    change(warehouse, "UPDATE questions SET doc_id = 'd' WHERE question_id = 'q0'")
    change(warehouse, "UPDATE questions SET doc_id = 'unknown' WHERE question_id = 'q1'")
    found = seen(warehouse, "document_sentences")
    assert found[0] == [{"sentence_id": f"S{i}", "text": f"t{i}"} for i in (1, 2, 10)]
    assert found[1:] == [None] * 3


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


def test_the_digest_is_the_lower_half_of_an_md5_sum(warehouse: Warehouse) -> None:
    query = samples("b", RETRIEVAL, ["llm"])
    frame = warehouse.fetch(query.sql, query.parameters).sort("question_id")
    # Were another version to compute another digest, every warehouse would be graded anew.
    text = b'{"gold_doc_ids":["d0"],"retrieved_doc_ids":null,"failed":false}'
    md5 = hashlib.md5(text, usedforsecurity=False).digest()
    assert frame["input_digest"][0] == int.from_bytes(md5[8:], "little")


def test_orphans_are_grades_without_a_sample(warehouse: Warehouse) -> None:
    def remaining() -> list[tuple[str, str]]:
        frame = warehouse.fetch("SELECT system, question_id FROM grades ORDER BY ALL")
        return frame.rows()

    grade(warehouse, "retrieval", RETRIEVAL)
    grade(warehouse, "answers", ANSWERS)
    query = orphans("b", "retrieval")
    assert warehouse.fetch(query.sql, query.parameters).is_empty()
    change(warehouse, "DELETE FROM predictions WHERE system = 'llm' AND question_id > 'q0'")
    change(warehouse, "DELETE FROM questions WHERE question_id = 'q3'")
    found = warehouse.fetch(query.sql, query.parameters)
    gone = [("llm", "q1"), ("llm", "q2"), ("llm", "q3"), ("rag", "q3")]
    assert sorted(found.select("system", "question_id").rows()) == gone
    with warehouse.transaction() as transaction:
        statement = delete_orphans("b", "retrieval")
        assert transaction.execute(statement.sql, statement.parameters) == 4
    assert warehouse.fetch(query.sql, query.parameters).is_empty()
    assert len(remaining()) == 4 + 8


def test_orphans_of_a_benchmark_that_is_empty_now(warehouse: Warehouse) -> None:
    grade(warehouse, "retrieval", RETRIEVAL)
    change(warehouse, "DELETE FROM questions")
    query = orphans("b", "retrieval")
    assert warehouse.fetch(query.sql, query.parameters).height == 8


def test_parameters_are_not_part_of_the_statement(warehouse: Warehouse) -> None:
    name = "it's; DROP TABLE grades --"
    query = stale(name, name, name, RETRIEVAL, [name])
    assert name not in query.sql
    assert warehouse.fetch(query.sql, query.parameters).is_empty()
