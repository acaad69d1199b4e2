"""Warehouses in temporary folders, and what tests put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.lakes import fresh
from tests.support.services import REQUIRED
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from warehouse.storage.location import Location


FILE_ONLY = frozenset({"test_connection", "test_lock", "test_upgrade"})
"""The modules that are about the DuckDB file."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have every test of a warehouse run on a file, and where services are required on a lake.

    Those of `lake/` are run on every day. What is told about files before anything is written, and
    about the published copy, is not repeated: it is marked `file_only`, like whole modules here.
    """
    if "storage_kind" not in metafunc.fixturenames:
        return
    module = metafunc.module.__name__.rpartition(".")[2]
    on_lake = REQUIRED and module not in FILE_ONLY
    about_file = metafunc.definition.get_closest_marker("file_only") is not None
    metafunc.parametrize(
        "storage_kind", ["file", "lake"] if on_lake and not about_file else ["file"]
    )


@pytest.fixture
def storage_kind() -> str:
    """Where the warehouse is: `file` or `lake`."""
    return "file"


@pytest.fixture
def place(storage_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Location]:
    """Where a warehouse may be made."""
    if storage_kind == "file":
        yield tmp_path / "deep" / "warehouse.duckdb"
        return
    with fresh(request.getfixturevalue("postgres_database"), tmp_path) as lake:
        yield lake


@pytest.fixture
def warehouse(place: Location) -> Warehouse:
    """A warehouse that is not there yet."""
    return Warehouse(place, patience_s=0.2)


@pytest.fixture
def four_by_two(place: Location) -> Warehouse:
    """Four questions that two systems answered; `llm` retrieves nothing."""
    warehouse = Warehouse(place)
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


def questions(*ids: str, benchmark: str = "b", text: str = "?") -> pl.DataFrame:
    """Rows of questions of one benchmark."""
    return pl.DataFrame(
        [{"benchmark": benchmark, "question_id": each, "question": text} for each in ids]
    )


def ids(warehouse: Warehouse) -> list[tuple[str, str, str]]:
    """Benchmark, id and text of every question there is."""
    return warehouse.fetch(
        "SELECT benchmark, question_id, question FROM questions ORDER BY ALL"
    ).rows()


def put(warehouse: Warehouse, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Replace rows of benchmark `b` by their key."""
    warehouse.replace(table, pl.DataFrame([{"benchmark": "b", **row} for row in rows]))


def change(warehouse: Warehouse, statement: str) -> None:
    """Run one statement."""
    with warehouse.transaction() as transaction:
        transaction.execute(statement)
