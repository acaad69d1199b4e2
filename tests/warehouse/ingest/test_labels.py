"""Regrading: what was labelled is graded again, and nothing else; what nobody has is no longer."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from warehouse.ingest.labels import require_rescoring
from warehouse.queries.samples import delete_orphans
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARKS = ("left", "right")
EVALUATORS = ("sexism", "trace")


def key(benchmark: str, system: str, question: str, evaluator: str) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "system": system,
        "question_id": question,
        "evaluator": evaluator,
    }


def filled(path: Path) -> Warehouse:
    warehouse = Warehouse(path / "warehouse.duckdb")
    samples = [
        key(benchmark, system, question, evaluator)
        for benchmark in BENCHMARKS
        for system in ("one", "two")
        for question in ("q1", "q2")
        for evaluator in EVALUATORS
    ]
    when = {"scored_at": datetime(2026, 1, 1), "run_id": "r"}  # noqa: DTZ001 - as the table has it
    grades = [
        {**sample, "signature": "s", "input_digest": 7, "values": [1.0], **when}
        for sample in samples
    ]
    asks = [{**sample, "step": 0, "digest": "ab"} for sample in samples]
    with warehouse.transaction() as transaction:
        transaction.append("grades", pl.DataFrame(grades))
        transaction.append("asks", pl.DataFrame(asks))
        for benchmark in BENCHMARKS:
            for stage in ("questions", "predictions", "scores/sexism", "leaderboard"):
                transaction.record_fingerprint(benchmark, stage, "d")
    return warehouse


def test_what_was_labelled_is_stale_and_nothing_else(tmp_path: Path) -> None:
    warehouse = filled(tmp_path)
    given = [
        key("left", "one", "q1", "sexism") | {"annotator": "ann", "value": 1.0},
        key("left", "one", "q1", "sexism") | {"annotator": "ben", "value": 0.0},
        key("left", "two", "q2", "stereotypes") | {"annotator": "ben", "value": 0.0},
    ]
    with warehouse.transaction() as transaction:
        assert require_rescoring(transaction, pl.DataFrame(given)) == 1
    stale = warehouse.fetch(
        "SELECT benchmark, system, question_id, evaluator FROM grades WHERE input_digest = 0"
    )
    assert stale.rows() == [("left", "one", "q1", "sexism")]
    assert set(warehouse.fingerprints("left")) == {"questions", "predictions"}
    assert len(warehouse.fingerprints("right")) == 4


def test_no_labels_no_change(tmp_path: Path) -> None:
    warehouse = filled(tmp_path)
    none = pl.DataFrame(schema=dict.fromkeys(("benchmark", "system"), pl.String))
    with warehouse.transaction() as transaction:
        assert require_rescoring(transaction, none) == 0
    assert len(warehouse.fingerprints("left")) == 4


def test_removes_asks_of_deleted_samples(tmp_path: Path) -> None:
    warehouse = filled(tmp_path)
    there = [
        ("questions", [{"benchmark": "left", "question_id": "q1"}]),
        ("predictions", [{"benchmark": "left", "system": "one", "question_id": "q1"}]),
    ]
    for table, rows in there:
        warehouse.append(table, pl.DataFrame(rows))
    orphans = delete_orphans("left", "sexism", "asks")
    with warehouse.transaction() as transaction:
        assert transaction.execute(orphans.sql, orphans.parameters) == 3
    left = warehouse.fetch("SELECT * FROM asks WHERE benchmark = 'left' AND evaluator = 'sexism'")
    assert left.select("system", "question_id").rows() == [("one", "q1")]
    assert warehouse.fetch("SELECT count(*) FROM asks").item() == 13
    assert warehouse.fetch("SELECT count(*) FROM grades").item() == 16
