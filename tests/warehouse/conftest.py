"""Warehouses in temporary folders, and what tests put into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse that is not there yet."""
    return Warehouse(tmp_path / "deep" / "warehouse.duckdb", patience_s=0.2)


@pytest.fixture
def four_by_two(tmp_path: Path) -> Warehouse:
    """Four questions that two systems answered; `llm` retrieves nothing."""
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
