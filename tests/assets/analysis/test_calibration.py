"""Problems of judged metrics: judge failures, judge variance and missing calibration."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.analysis.asset import is_judged, refresh_problems
from assets.analysis.calibration import calibrate
from assets.leaderboard.refresh import refresh_leaderboard
from assets.project import Benchmark
from evaluators import catalog
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
FAITHFULNESS = catalog.build("faithfulness", {})
KEY = {"benchmark": "b", "system": "s"}


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(FAITHFULNESS,),
    )


@pytest.fixture
def warehouse(tmp_path: Path, benchmark: Benchmark) -> Warehouse:
    """Twenty answers judged twice: two parse failures, five disagreements, one truncated reply."""
    made = Warehouse(tmp_path / "warehouse.duckdb")
    names = [f"q{at:02d}" for at in range(20)]
    rows = [_grade(name, at) for at, name in enumerate(names)]
    lists = {"statuses": pl.List(pl.String), "reasons": pl.List(pl.String)}
    with made.transaction() as transaction:
        for table, more in (("questions", {}), ("predictions", {"system": "s"})):
            frame = [{"benchmark": "b", "question_id": name, **more} for name in names]
            transaction.append(table, pl.DataFrame(frame))
        transaction.append(
            "signatures",
            pl.DataFrame(
                [
                    {
                        "evaluator": "faithfulness",
                        "signature": FAITHFULNESS.signature,
                        "version": 1,
                        "metrics": ["faithfulness"],
                        "first_seen": NOW,
                    }
                ]
            ),
        )
        transaction.append("grades", pl.DataFrame(rows, schema_overrides=lists))
    refresh_leaderboard(made, benchmark, force=True)
    return made


def _grade(name: str, at: int) -> dict[str, Any]:
    failed = at >= 18
    detail = {"replicates": [1.0, 0.0 if at < 5 else 1.0]} | ({"truncated": 1} if at == 7 else {})
    return {
        **KEY,
        "question_id": name,
        "evaluator": "faithfulness",
        "signature": FAITHFULNESS.signature,
        "input_digest": at,
        "values": [None if failed else 0.5 if at < 5 else 1.0],
        "statuses": ["parse_failure"] if failed else None,
        "reasons": ["no verdict on s1"] if failed else None,
        "detail": None if failed else json.dumps(detail),
        "scored_at": NOW,
    }


def found(warehouse: Warehouse, kind: str) -> list[dict[str, Any]]:
    rows = warehouse.fetch("SELECT * FROM problems WHERE kind = $kind", {"kind": kind})
    return list(rows.iter_rows(named=True))


def test_flow_evaluators_are_judged() -> None:
    assert is_judged(FAITHFULNESS)
    assert not is_judged(catalog.build("citation", {}))


def test_judge_failures_are_problems_of_the_judge(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    refresh_problems(warehouse, benchmark)
    (failure,) = found(warehouse, "judge_failure")
    assert (failure["severity"], failure["value"]) == ("high", pytest.approx(0.1))
    assert "a problem of the judge, not of the system" in failure["message"]
    (coverage,) = found(warehouse, "low_coverage")
    assert (coverage["severity"], coverage["value"]) == ("medium", pytest.approx(0.9))
    (cut,) = found(warehouse, "truncated_text")
    assert cut["question_id"] == "q07"


def test_a_judge_is_uncalibrated_until_human_labels_agree(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    refresh_problems(warehouse, benchmark)
    assert len(found(warehouse, "uncalibrated_judge")) == 1
    for agreeing, expected in ((False, 1), (True, 0)):
        labels = [
            {
                **KEY,
                "question_id": f"q{at:02d}",
                "evaluator": "faithfulness",
                "metric": "faithfulness",
                "annotator": "ann",
                "value": float(at >= 5) if agreeing else float(at % 2),
            }
            for at in range(12)
        ]
        warehouse.replace("labels", pl.DataFrame(labels), where={})
        calibrate(warehouse, benchmark)
        refresh_problems(warehouse, benchmark)
        assert len(found(warehouse, "uncalibrated_judge")) == expected


def test_judge_variance(warehouse: Warehouse, benchmark: Benchmark) -> None:
    calibrate(warehouse, benchmark)
    (row,) = warehouse.fetch("SELECT * FROM wobble").iter_rows(named=True)
    assert (row["evaluator"], row["n_answers"]) == ("faithfulness", 18)
    assert row["flip_rate"] == pytest.approx(5 / 18)
    # Five answers with 1 and 0, whose variance is 0.5 each; the others do not vary.
    assert row["judge_variance"] == pytest.approx(5 * 0.5 / 18)
