"""Evaluators see the columns that they ask for, filled in where a system failed to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.warehouse.conftest import change, put
from warehouse.errors import UnknownColumn
from warehouse.queries.samples import SAMPLE_COLUMNS, samples

if TYPE_CHECKING:
    from warehouse.store import Warehouse


@pytest.fixture
def warehouse(four_by_two: Warehouse) -> Warehouse:
    return four_by_two


def seen(warehouse: Warehouse, *columns: str, system: str = "rag") -> list[Any]:
    """The values that an evaluator sees, by question."""
    query = samples("b", columns, [system])
    frame = warehouse.fetch(query.sql, query.parameters).sort("question_id")
    rows = frame.select(columns).rows()
    return [row[0] if len(columns) == 1 else row for row in rows]


def test_returns_the_requested_columns(warehouse: Warehouse) -> None:
    query = samples("b", ["answer", "question_id", "question"])
    frame = warehouse.fetch(query.sql, query.parameters)
    assert frame.columns == [
        "benchmark",
        "system",
        "question_id",
        "input_digest",
        "not_asked",
        "question",
        "answer",
    ]
    assert frame.schema["input_digest"] == pl.UInt64
    assert frame.height == 8


def test_selects_all_columns_or_none(warehouse: Warehouse) -> None:
    for columns in (SAMPLE_COLUMNS, ()):
        query = samples("b", columns)
        frame = warehouse.fetch(query.sql, query.parameters)
        assert frame.columns[5:] == list(columns)
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
@pytest.mark.file_only
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
