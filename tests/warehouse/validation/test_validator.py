"""The process that validates: what it is asked wrongly, and what becomes of it."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.warehouse.conftest import put
from warehouse.errors import WarehouseError
from warehouse.schema.ddl import literal
from warehouse.store import Warehouse
from warehouse.validation.client import VALIDATOR, Validator
from warehouse.validation.expectation import Batch, Expectation, broken_by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNT = Expectation(kind="expect_table_row_count_to_be_between", kwargs={"min_value": 0})


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


@pytest.fixture
def own() -> Iterator[Validator]:
    """One that a test may kill."""
    validator = Validator()
    yield validator
    validator.end()


def batch(*expectations: Expectation, sql: str = "SELECT * FROM predictions") -> Batch:
    return Batch(table="t", sql=sql, key=("question_id",), expectations=expectations)


def test_nothing_to_validate_starts_nothing(own: Validator, warehouse: Warehouse) -> None:
    assert own.validate(warehouse, []) == []
    assert own._process is None


def test_arguments_that_do_not_fit_together(warehouse: Warehouse) -> None:
    wrong = Expectation(
        kind="expect_column_values_to_be_between",
        kwargs={"column": "latency_s", "mostly": 3},
    )
    with pytest.raises(
        WarehouseError, match=r"expect_column_values_to_be_between.*cannot be built"
    ):
        VALIDATOR.validate(warehouse, [batch(wrong)])
    assert VALIDATOR.validate(warehouse, [batch(COUNT)])[0].success


def test_sql_that_cannot_be_understood_fails_its_expectation_only(warehouse: Warehouse) -> None:
    wrong = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={"unexpected_rows_query": "SELECT * FROM {batch} WHERE no_such_column > 1"},
    )
    found = VALIDATOR.validate(warehouse, [batch(wrong, COUNT)])
    assert [each.success for each in found] == [False, True]
    assert "no_such_column" in (found[0].observed or "")


def test_a_condition_worked_out_beforehand_finds_the_same_rows(warehouse: Warehouse) -> None:
    put(warehouse, "questions", [{"question_id": "q1"}, {"question_id": "q2"}])
    answers = [{"system": "s", "question_id": f"q{i}", "answer": "yes"} for i in (1, 2, 3)]
    put(warehouse, "predictions", answers)
    stray = "question_id NOT IN (SELECT q.question_id FROM questions AS q)"
    shouted = "answer = upper(answer)"
    for once in (False, True):
        expectations = (broken_by(stray, "is asked", once=once), broken_by(shouted, "is calm"))
        lost, calm = VALIDATOR.validate(warehouse, [batch(*expectations)])
        assert calm.success
        assert (lost.success, lost.unexpected) == (False, 1)
        ((row),) = lost.rows
        assert (row["question_id"], row["answer"]) == ("q3", "yes")
        assert not [name for name in row if name.startswith("breaks_")]


def test_rows_cannot_be_changed_by_an_expectation(warehouse: Warehouse) -> None:
    evil = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={"unexpected_rows_query": "SELECT 1 FROM {batch}; DELETE FROM meta"},
    )
    found = VALIDATOR.validate(warehouse, [batch(evil)])
    assert not found[0].success
    assert warehouse.fetch("SELECT count(*) FROM meta").item() == 1


def test_colons_quotes_and_markup_in_values_are_values(warehouse: Warehouse) -> None:
    text = "it's :name {x} %s <b>"
    sql = f"SELECT {literal(text)} AS system, 'q' AS question_id"
    kept = Expectation(
        kind="expect_column_values_to_be_in_set",
        kwargs={"column": "system", "value_set": [text]},
    )
    assert VALIDATOR.validate(warehouse, [batch(kept, sql=sql)])[0].success


def test_a_process_that_was_killed_is_named_and_another_one_started(
    own: Validator, warehouse: Warehouse
) -> None:
    own.begin()
    process = own._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(WarehouseError, match="the process that validates tables ended"):
        own.validate(warehouse, [batch(COUNT)])
    assert own.validate(warehouse, [batch(COUNT)])[0].success


def test_it_ends_with_whoever_asked(own: Validator) -> None:
    own.begin()
    process = own._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.returncode == 0
    process.stdin = None
