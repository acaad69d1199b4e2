"""Sample columns: the warehouse and the evaluators agree on names and types."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from assets.project import Benchmark
from assets.scoring.stale_samples import stale_samples
from evaluators import catalog
from evaluators.sample import ANSWER_COLUMNS, KEYS, SAMPLE_COLUMNS
from warehouse.queries import samples
from warehouse.store import Warehouse

PASSED_THROUGH = {"input_digest", "not_asked"}
"""Columns that scoring reads, not the evaluators."""

BENCHMARK = Benchmark(name="b", questions=None, predictions=Path("p.jsonl"), evaluators=())


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """One question with one answer and no other fields."""
    made = Warehouse(tmp_path_factory.mktemp("samples") / "warehouse.duckdb")
    row = {"benchmark": ["b"], "question_id": ["q"]}
    made.replace("questions", pl.DataFrame(row))
    made.replace("predictions", pl.DataFrame({**row, "system": ["s"]}))
    return made


def test_names_agree() -> None:
    assert {*samples.IDENTITY, *samples.SAMPLE_COLUMNS} == SAMPLE_COLUMNS.keys()
    assert samples.IDENTITY == KEYS
    assert samples.EMPTY_VALUES.keys() == ANSWER_COLUMNS | {"reported"}


@pytest.mark.parametrize("name", sorted(catalog.catalogue()))
def test_types_agree_for_every_evaluator(warehouse: Warehouse, name: str) -> None:
    evaluator = catalog.build(name)
    columns = {*KEYS, *evaluator.columns, "error"}
    query = stale_samples([BENCHMARK], evaluator)
    schema = warehouse.fetch(query.sql, query.parameters).schema
    assert schema["not_asked"] == pl.Boolean
    given = {column: type_ for column, type_ in schema.items() if column not in PASSED_THROUGH}
    assert given == {column: _type(column) for column in columns}


def _type(column: str) -> object:
    """The type of a sample's column, or of a part's score or status."""
    if "." not in column:
        return SAMPLE_COLUMNS[column]
    return pl.String if column.startswith("status:") else pl.Float64


def test_types_agree_for_every_column(warehouse: Warehouse) -> None:
    query = samples.samples("b", SAMPLE_COLUMNS)
    schema = warehouse.fetch(query.sql, query.parameters).schema
    with warehouse.fetch_to_disk(query.sql, query.parameters) as spool:
        (batch,) = spool.batches()
    assert batch.schema == schema
    assert schema["not_asked"] == pl.Boolean
    given = {column: type_ for column, type_ in schema.items() if column not in PASSED_THROUGH}
    assert given == dict(SAMPLE_COLUMNS)
