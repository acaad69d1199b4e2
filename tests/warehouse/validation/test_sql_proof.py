"""Expectations are proven in SQL exactly when Great Expectations finds that they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.services import takes_minutes
from warehouse.schema.quoting import literal
from warehouse.schema.tables import TABLES
from warehouse.store import Warehouse
from warehouse.validation.expectation import Batch, Expectation, expect_no_rows
from warehouse.validation.from_schema import build_table_batch, expect_between
from warehouse.validation.sql_proof import prove_batches
from warehouse.validation.validator import VALIDATOR

if TYPE_CHECKING:
    from pathlib import Path

ROWS = "SELECT * FROM (VALUES ('a', 0.0, 1), ('b', 0.1, 2), (NULL, NULL, NULL)) AS t(name, x, n)"


def in_set(column: str, *values: Any) -> Expectation:
    return Expectation(
        kind="expect_column_values_to_be_in_set",
        kwargs={"column": column, "value_set": list(values)},
    )


CASES = {
    "within both bounds": (expect_between("x", 0.0, 0.1), True),
    "at a bound with a decimal fraction": (expect_between("x", None, 0.1), True),
    "below a bound": (expect_between("x", 0.01, None), False),
    "above a bound": (expect_between("n", 1, 1.5), False),
    "no bound": (expect_between("n", 0, None), True),
    "in a set": (in_set("name", "a", "b", "it's"), True),
    "not in a set": (in_set("name", "a"), False),
    "numbers in a set": (in_set("n", 1, 2), True),
    "no row breaks a condition": (expect_no_rows("broken.x > 1", "small"), True),
    "a row breaks a condition": (expect_no_rows("broken.x > 0.05", "small"), False),
    "no key breaks a condition": (
        expect_no_rows("n NOT IN (SELECT v FROM (VALUES (1), (2)) AS o(v))", "m", once=True),
        True,
    ),
    "a key breaks a condition": (
        expect_no_rows("n NOT IN (SELECT v FROM (VALUES (1)) AS o(v))", "m", once=True),
        False,
    ),
}


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


def batch(*expectations: Expectation, sql: str = ROWS) -> Batch:
    return Batch(table="t", sql=sql, key=("name",), expectations=expectations, prefix="trial: ")


@takes_minutes
def test_a_proof_is_what_great_expectations_says(warehouse: Warehouse) -> None:
    batches = [batch(expectation) for expectation, _ in CASES.values()]
    batches.append(batch(*(expectation for expectation, holds in CASES.values() if holds)))
    said = iter(VALIDATOR.validate(warehouse, batches))
    proofs = prove_batches(warehouse, batches)
    for each, proof, case in zip(batches, proofs, [*CASES, "all"], strict=True):
        expected = [next(said) for _ in each.expectations]
        holds = all(verdict.success for verdict in expected)
        assert holds == (case == "all" or CASES[case][1]), case
        assert proof == (expected if holds else None), case


@takes_minutes
def test_not_a_number_and_infinity(warehouse: Warehouse) -> None:
    batches = [
        batch(expect_between("x", low, high), sql=f"SELECT '{value}'::DOUBLE AS x, 'a' AS name")
        for value in ("nan", "inf", "-inf")
        for low, high in ((0.0, 1.0), (0.0, None), (None, 1.0))
    ]
    said = VALIDATOR.validate(warehouse, batches)
    proofs = prove_batches(warehouse, batches)
    assert [proof is not None for proof in proofs] == [each.success for each in said]


def test_what_has_no_proof(warehouse: Warehouse) -> None:
    held = expect_between("x", 0, 1)
    mean = Expectation(kind="expect_column_mean_to_be_between", kwargs={"column": "x"})
    mostly = replace(held, kwargs={**held.kwargs, "mostly": 0.5})
    added = replace(batch(held), is_added=True)
    missing = batch(expect_between("no_such_column", 0, 1))
    batches = [batch(held, mean), batch(mostly), added, missing, batch()]
    assert prove_batches(warehouse, batches) == [None] * len(batches)


def test_the_expectations_of_every_table_can_be_proven(warehouse: Warehouse) -> None:
    tables = [name for name, table in TABLES.items() if "benchmark" in table.column_names]
    batches = [build_table_batch(name, ["it's", "trial"]) for name in tables]
    with_expectations = [each for each in batches if each.expectations]
    assert with_expectations
    assert None not in prove_batches(warehouse, with_expectations)


@takes_minutes
def test_values_are_values(warehouse: Warehouse) -> None:
    text = "it's :name {x} %s <b>"
    sql = f"SELECT {literal(text)} AS name"
    assert prove_batches(warehouse, [batch(in_set("name", text), sql=sql)]) != [None]
