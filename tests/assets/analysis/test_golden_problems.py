"""Golden cases of means and perturbations, from scores to the table of problems."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
import pytest

from assets.analysis.asset import refresh_problems
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark
from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
from tests.support.golden_cases import golden
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Mapping

CASES = golden("aggregation")["cases"]
MEANS = [case for case in CASES if case["kind"] == "model_mean" and case["input"]["values"]]
FLIPS = [case for case in CASES if case["kind"] == "perturbation_flip"]
OPEN = (float("-inf"), float("inf"))
NOW = datetime(2026, 1, 1)  # noqa: DTZ001


class _Upwards(FrameEvaluator):
    """Reads nothing; the test writes its scores into the warehouse."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="number", summary="A number.", bounds=OPEN, primary=True),
    )
    reads: ClassVar[frozenset[str]] = frozenset()

    def expressions(self) -> Mapping[str, pl.Expr]:
        return {}


class _Downwards(_Upwards):
    """The same, with lower values better."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="number", summary="A number.", bounds=OPEN, primary=True, best="low"),
    )


def found(
    tmp_path: Path, case: dict[str, Any], values: list[float | None], **second: Any
) -> Warehouse:
    """A warehouse with the scores of one system, its leaderboard and its problems."""
    given = case["input"]
    evaluator = (_Upwards if given["higher_is_better"] else _Downwards)()
    benchmark = Benchmark(
        name="b",
        questions=None,
        predictions=Path("p"),
        evaluators=(evaluator,),
        thresholds={f"{evaluator.name}.number": given["threshold"]},
    )
    ids = [f"q{at}" for at in range(len(values))]
    questions = [{"benchmark": "b", "question_id": each, "question": "?"} for each in ids]
    questions[-1] |= second
    grades = [
        {
            "benchmark": "b",
            "system": "s",
            "question_id": each,
            "evaluator": evaluator.name,
            "signature": evaluator.signature,
            "input_digest": 1,
            "values": [value],
            "statuses": [["scored"], ["not_applicable"]][value is None],
            "scored_at": NOW,
        }
        for each, value in zip(ids, values, strict=True)
    ]
    key = {
        "evaluator": evaluator.name,
        "signature": evaluator.signature,
        "metrics": ["number"],
        "version": 1,
        "first_seen": NOW,
    }
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.transaction() as transaction:
        transaction.append("questions", pl.DataFrame(questions))
        transaction.append("signatures", pl.DataFrame([key]))
        transaction.append(
            "grades", pl.DataFrame(grades, schema_overrides={"values": pl.List(pl.Float64)})
        )
    refresh_leaderboards(warehouse, [benchmark])
    refresh_problems(warehouse, [benchmark])
    return warehouse


@pytest.mark.parametrize("case", MEANS, ids=lambda case: case["id"])
def test_golden_means(tmp_path: Path, case: dict[str, Any]) -> None:
    expected = case["expected"]
    warehouse = found(tmp_path, case, case["input"]["values"])
    row = warehouse.fetch("SELECT * FROM leaderboard").row(0, named=True)
    assert row["mean"] == (pytest.approx(expected["mean"]) if expected["n_scored"] else None)
    assert row["n_scored"] == expected["n_scored"]
    assert row["n"] - row["n_scored"] == expected["n_skipped"]
    below = warehouse.fetch("SELECT * FROM problems WHERE kind = 'below_threshold'")
    assert below.height == int(bool(expected["problem"]))


@pytest.mark.parametrize("case", FLIPS, ids=lambda case: case["id"])
def test_golden_flips(tmp_path: Path, case: dict[str, Any]) -> None:
    given = case["input"]
    values = [given["original"], given["perturbed"]]
    warehouse = found(tmp_path, case, values, perturbs="q0", perturbation="typo")
    for table in ("problems WHERE kind = 'perturbation_flip'", "v_flips"):
        flips = warehouse.fetch(f"SELECT question_id FROM {table}")
        assert flips["question_id"].to_list() == ["q1"] * bool(case["expected"]["flipped"])
