"""Every kind of expectation that users can configure, run on DuckDB: holding and failing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.services import takes_minutes
from warehouse.store import Warehouse
from warehouse.validation.expectation import Batch, Expectation
from warehouse.validation.supported import KINDS
from warehouse.validation.validator import VALIDATOR

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = takes_minutes

# Five rows: system a or b, score 1, 2, 2, 4 and null, twice 2, 4, 4, 8 and null.
ROWS = (
    "SELECT * FROM (VALUES ('q1', 'a', 1.0, 2.0), ('q2', 'a', 2.0, 4.0), ('q3', 'a', 2.0, 4.0), "
    "('q4', 'b', 4.0, 8.0), ('q5', 'b', NULL, NULL)) AS t(question_id, system, score, twice)"
)
SCORE: dict[str, Any] = {"column": "score"}
BOTH = {"column_A": "twice", "column_B": "score"}

# Kind, arguments that hold, arguments that fail, and what is then found: rows, or a number.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], int | float | None]] = [
    ("expect_column_values_to_not_be_null", {"column": "system"}, SCORE, 1),
    ("expect_column_values_to_be_null", {**SCORE, "mostly": 0.2}, SCORE, 4),
    ("expect_column_values_to_be_between", {**SCORE, "min_value": 1}, {**SCORE, "max_value": 1}, 3),
    (
        "expect_column_values_to_be_in_set",
        {**SCORE, "value_set": [1, 2, 4]},
        {**SCORE, "value_set": [1, 4]},
        2,
    ),
    (
        "expect_column_values_to_not_be_in_set",
        {**SCORE, "value_set": [3]},
        {**SCORE, "value_set": [2]},
        2,
    ),
    ("expect_column_values_to_be_unique", {"column": "question_id"}, SCORE, 2),
    (
        "expect_column_value_lengths_to_be_between",
        {"column": "question_id", "min_value": 2, "max_value": 2},
        {"column": "question_id", "min_value": 3},
        5,
    ),
    (
        "expect_column_distinct_values_to_be_in_set",
        {"column": "system", "value_set": ["a", "b"]},
        {"column": "system", "value_set": ["a"]},
        None,
    ),
    ("expect_column_max_to_be_between", {**SCORE, "max_value": 4}, {**SCORE, "max_value": 3}, 4),
    (
        "expect_column_mean_to_be_between",
        {**SCORE, "min_value": 2},
        {**SCORE, "min_value": 3},
        2.25,
    ),
    ("expect_column_median_to_be_between", {**SCORE, "min_value": 2}, {**SCORE, "min_value": 3}, 2),
    ("expect_column_min_to_be_between", {**SCORE, "min_value": 1}, {**SCORE, "min_value": 2}, 1),
    (
        "expect_column_stdev_to_be_between",
        {**SCORE, "max_value": 2},
        {**SCORE, "max_value": 1},
        (19 / 12) ** 0.5,
    ),
    ("expect_column_sum_to_be_between", {**SCORE, "min_value": 9}, {**SCORE, "max_value": 8}, 9),
    (
        "expect_column_unique_value_count_to_be_between",
        {**SCORE, "max_value": 3},
        {**SCORE, "max_value": 2},
        3,
    ),
    (
        "expect_column_proportion_of_unique_values_to_be_between",
        {**SCORE, "min_value": 0.7},
        {**SCORE, "min_value": 0.8},
        0.75,
    ),
    (
        "expect_column_proportion_of_non_null_values_to_be_between",
        {**SCORE, "min_value": 0.8},
        {**SCORE, "min_value": 0.9},
        0.8,
    ),
    (
        "expect_column_pair_values_a_to_be_greater_than_b",
        BOTH,
        {"column_A": "score", "column_B": "twice", "ignore_row_if": "either_value_is_missing"},
        4,
    ),
    (
        "expect_column_pair_values_to_be_equal",
        {"column_A": "system", "column_B": "system"},
        {**BOTH, "ignore_row_if": "either_value_is_missing"},
        4,
    ),
    (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["system", "question_id"]},
        {"column_list": ["system", "score"]},
        2,
    ),
    ("expect_table_row_count_to_be_between", {"min_value": 5}, {"max_value": 4}, 5),
    ("expect_table_row_count_to_equal", {"value": 5}, {"value": 4}, 5),
    (
        "unexpected_rows_expectation",
        {"unexpected_rows_query": "SELECT * FROM {batch} WHERE score > 4"},
        {"unexpected_rows_query": "SELECT * FROM {batch} WHERE regexp_matches(system, '^a')"},
        3,
    ),
]


def batch(*expectations: Expectation) -> Batch:
    return Batch(table="t", sql=ROWS, key=("question_id",), expectations=expectations)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The verdicts on all cases, from one call."""
    warehouse = Warehouse(tmp_path_factory.mktemp("w") / "warehouse.duckdb")
    good = [Expectation(kind=kind, kwargs=holds) for kind, holds, _, _ in CASES]
    bad = [Expectation(kind=kind, kwargs=breaks) for kind, _, breaks, _ in CASES]
    verdicts = VALIDATOR.validate(warehouse, [batch(*good), batch(*bad)])
    half = len(CASES)
    return {kind: (verdicts[at], verdicts[half + at]) for at, (kind, _, _, _) in enumerate(CASES)}


@pytest.mark.parametrize(("kind", "found"), [(case[0], case[3]) for case in CASES])
def test_a_kind_holds_and_fails(outcomes: dict[str, Any], kind: str, found: float | None) -> None:
    held, broken = outcomes[kind]
    assert held.success, held.observed
    assert not held.rows
    assert not broken.success
    assert "error" not in (broken.observed or "")
    assert broken.is_blocking
    if broken.observed is None:
        assert broken.unexpected == found
        # The library does not list the rows of columns that are not unique together.
        assert len(broken.rows) == (0 if kind == "expect_compound_columns_to_be_unique" else found)
        assert all(row["question_id"].startswith("q") for row in broken.rows)
    elif found is not None:
        assert float(broken.observed) == pytest.approx(found)


def test_every_kind_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(KINDS)


FIELDS = """
import json, sys
import great_expectations.expectations as gxe
named = {each.__name__.lower(): each for each in vars(gxe).values() if isinstance(each, type)}
fields = {}
for kind in json.loads(sys.argv[1]):
    model = named[kind.replace("_", "")]
    fields[kind] = {name: field.required for name, field in model.__fields__.items()}
print(json.dumps(fields))
"""


@takes_minutes
def test_the_arguments_are_those_of_the_library() -> None:
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIELDS, json.dumps(list(KINDS))],
        capture_output=True,
        text=True,
        check=True,
    )
    fields = json.loads(printed.stdout)
    for name, kind in KINDS.items():
        assert set(kind.arguments) <= set(fields[name]), name
        needed = {field for field, is_required in fields[name].items() if is_required}
        assert needed <= set(kind.required), name


def test_expectations_of_one_kind_have_their_own_verdicts(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    conditions = ("score > 1", "score > 2", "score > 4")
    wanted = [
        Expectation(
            kind="unexpected_rows_expectation",
            kwargs={"unexpected_rows_query": f"SELECT * FROM {{batch}} WHERE {condition}"},
        )
        for condition in conditions
    ]
    found = VALIDATOR.validate(warehouse, [batch(*wanted)])
    assert [each.unexpected for each in found] == [3, 1, 0]


def test_batches_have_their_own_verdicts(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    count = Expectation(kind="expect_table_row_count_to_equal", kwargs={"value": 5})
    fewer = Batch(table="u", sql=f"{ROWS} LIMIT 2", key=("question_id",), expectations=(count,))
    found = VALIDATOR.validate(warehouse, [batch(count), fewer])
    assert [(each.table, each.success, each.observed) for each in found] == [
        ("t", True, "5"),
        ("u", False, "2"),
    ]
