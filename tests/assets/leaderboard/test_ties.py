"""Ties, rank intervals and comparisons agree with each other in the published table."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark
from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
from warehouse.store import Warehouse

NOW = pl.datetime(2026, 1, 1)
SYSTEMS = 6


class _Number(FrameEvaluator):
    """Reads nothing; the test writes its scores into the warehouse."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="number", summary="A number.", primary=True),
    )
    reads: ClassVar[frozenset[str]] = frozenset()

    def expressions(self) -> dict[str, pl.Expr]:
        return {}


def table(tmp_path: Path, values: np.ndarray) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return leaderboard and comparisons for values of shape (questions, systems)."""
    evaluator = _Number()
    benchmark = Benchmark(name="b", questions=None, predictions=Path("p"), evaluators=(evaluator,))
    ids = [f"q{at:03d}" for at in range(len(values))]
    grades = pl.DataFrame(
        [
            {"system": f"s{system}", "question_id": name, "values": [float(value)]}
            for name, row in zip(ids, values, strict=True)
            for system, value in enumerate(row)
        ]
    ).with_columns(
        benchmark=pl.lit("b"),
        evaluator=pl.lit(evaluator.name),
        signature=pl.lit(evaluator.signature),
        input_digest=pl.lit(1),
        statuses=pl.lit(None, pl.List(pl.String)),
        scored_at=NOW,
    )
    questions = pl.DataFrame({"question_id": ids}).with_columns(
        benchmark=pl.lit("b"), question=pl.lit("?")
    )
    known = pl.DataFrame(
        [{"evaluator": evaluator.name, "signature": evaluator.signature, "metrics": ["number"]}]
    ).with_columns(version=pl.lit(1), first_seen=NOW)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.transaction() as transaction:
        transaction.append("questions", questions)
        transaction.append("signatures", known)
        transaction.append("grades", grades)
    refresh_leaderboards(warehouse, [benchmark])
    board = warehouse.fetch("SELECT * FROM leaderboard ORDER BY rank, system")
    return board, warehouse.fetch("SELECT * FROM comparisons")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("questions", [5, 12, 60])
def test_a_tied_system_may_be_first(tmp_path: Path, seed: int, questions: int) -> None:
    random = np.random.default_rng(seed)
    skill = random.uniform(0.2, 0.8, SYSTEMS)
    hardness = random.normal(0, 0.2, (questions, 1))
    values = np.clip(skill + hardness + random.normal(0, 0.15, (questions, SYSTEMS)), 0, 1)
    if seed % 2:
        values = (values > 0.5).astype(np.float64)
    board, comparisons = table(tmp_path, values)
    assert board.filter(pl.col("tied_with_best") == 1, pl.col("rank_low") > 1).is_empty()
    # And the other way round: a system that is worse than another one cannot be first.
    worse = {row["system_b"] for row in comparisons.filter(verdict="better").to_dicts()}
    worse |= {row["system_a"] for row in comparisons.filter(verdict="worse").to_dicts()}
    surely_not_first = board.filter(pl.col("rank_low") > 1)["system"].to_list()
    assert set(surely_not_first) == worse
