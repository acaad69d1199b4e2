"""Replacing, adding and deleting rows: all or nothing, by key, and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.warehouse.conftest import ids, questions
from warehouse.errors import DuplicateKey, UnknownColumn, WarehouseError

if TYPE_CHECKING:
    from warehouse.store import Warehouse


def test_replacing_twice_equals_replacing_once(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1", "2", benchmark="other"))
    for _ in range(2):
        warehouse.replace("questions", questions("1", "2"), {"benchmark": "b"})
    assert [row[:2] for row in ids(warehouse)] == [
        ("b", "1"),
        ("b", "2"),
        ("other", "1"),
        ("other", "2"),
    ]


def test_replacing_by_key_touches_those_keys_only(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1", "2"))
    warehouse.replace("questions", questions("2", "3", text="!"))
    assert ids(warehouse) == [("b", "1", "?"), ("b", "2", "!"), ("b", "3", "!")]


def test_constants_are_columns_of_every_row(warehouse: Warehouse) -> None:
    """Also of the key: what stands under another value of it is left alone."""
    both = questions("1", "2")
    bare = both.drop("benchmark")
    other = "it's another"
    with warehouse.transaction() as transaction:
        transaction.append("questions", both)
        assert transaction.append("questions", bare, {"benchmark": other}) == 2
        assert transaction.replace("questions", bare[:1], constants={"benchmark": other}) == 1
    assert [row[:2] for row in ids(warehouse)] == [
        ("b", "1"),
        ("b", "2"),
        (other, "1"),
        (other, "2"),
    ]


def test_nulls_in_a_key_are_equal(warehouse: Warehouse) -> None:
    problem = pl.DataFrame(
        {
            "benchmark": "b",
            "system": "s",
            "evaluator": [None],
            "metric": [None],
            "kind": "slow",
            "question_id": pl.Series([None], dtype=pl.String),
            "severity": "low",
            "message": "It is slow.",
        },
        schema_overrides={"evaluator": pl.String, "metric": pl.String},
    )
    for _ in range(2):
        warehouse.replace("problems", problem)
    assert warehouse.fetch("SELECT count(*) FROM problems").item() == 1


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({}, 0),
        ({"benchmark": "b"}, 2),
        ({"benchmark": "b", "question_id": ["1", "9"]}, 3),
        ({"question_id": ("1",)}, 2),
        ({"question_id": []}, 4),
        ({"doc_id": None}, 0),
        ({"benchmark": None}, 4),
    ],
)
def test_deletes_what_is_equal(warehouse: Warehouse, where: dict[str, Any], left: int) -> None:
    warehouse.append("questions", questions("1", "2"))
    warehouse.append("questions", questions("1", "2", benchmark="c"))
    with warehouse.transaction() as transaction:
        assert transaction.delete("questions", where) == 4 - left
    assert len(ids(warehouse)) == left


def test_a_failed_transaction_changes_nothing(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1"))

    def fail_at_last() -> None:
        with warehouse.transaction() as transaction:
            transaction.replace("questions", questions("2"), {})
            assert transaction.fetch("SELECT question_id FROM questions").item() == "2"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_at_last()
    assert [row[1] for row in ids(warehouse)] == ["1"]


@pytest.mark.parametrize(
    ("table", "rows", "where", "error", "message"),
    [
        ("questions", {"questoin": "x"}, None, UnknownColumn, "did you mean 'question'"),
        ("questions", {"questoin": None}, None, UnknownColumn, "did you mean 'question'"),
        ("questions", {"benchmark": "b"}, None, UnknownColumn, 'lack "question_id"'),
        ("questions", {"benchmark": "b"}, {"doc": 1}, UnknownColumn, "did you mean 'doc_id'"),
        (
            "questions",
            {"benchmark": "b", "question_id": "1"},
            {"benchmark": "c"},
            WarehouseError,
            "1 new rows of 'questions' are not among those they replace: benchmark='c'",
        ),
        ("scores", {"benchmark": "b"}, None, WarehouseError, "'scores' is a view"),
    ],
)
def test_refuses_rows_that_do_not_fit(
    warehouse: Warehouse,
    table: str,
    rows: dict[str, Any],
    where: dict[str, Any] | None,
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        warehouse.replace(table, pl.DataFrame([rows]), where)


def test_a_null_is_none_of_the_values_of_a_list(warehouse: Warehouse) -> None:
    rows = questions("1", "2").with_columns(doc_id=pl.Series(["d", None]))
    with pytest.raises(WarehouseError, match="1 new rows of 'questions' are not among those"):
        warehouse.replace("questions", rows, {"benchmark": "b", "doc_id": ["d", "e"]})


def test_names_a_key_that_comes_twice(warehouse: Warehouse) -> None:
    twice = questions("1", "2", "1")
    with pytest.raises(DuplicateKey, match=r"2 rows .* benchmark='b', question_id='1'"):
        warehouse.replace("questions", twice)
    assert ids(warehouse) == []


def test_finds_a_repeated_key(warehouse: Warehouse) -> None:
    with warehouse.transaction() as transaction:
        transaction.append("questions", questions("1", "2", "1"))
        transaction.require_unique("questions", {"benchmark": "other"})
        for where in (None, {"benchmark": "b"}):
            with pytest.raises(DuplicateKey, match="question_id='1'"):
                transaction.require_unique("questions", where)


def test_stores_fingerprints_by_benchmark_and_stage(warehouse: Warehouse) -> None:
    with warehouse.transaction() as transaction:
        for benchmark, stage, digest in [("b", "q", "1"), ("b", "p", "2"), ("c", "q", "3")]:
            transaction.record_fingerprint(benchmark, stage, digest)
        transaction.record_fingerprint("b", "q", "4")
    assert warehouse.fingerprints("b") == {"q": "4", "p": "2"}
    assert warehouse.fingerprints("none") == {}


def test_frames_without_columns_add_nothing(warehouse: Warehouse) -> None:
    assert warehouse.append("questions", pl.DataFrame()) == 0
    assert warehouse.replace("questions", pl.DataFrame(), {"benchmark": "b"}) == 0
