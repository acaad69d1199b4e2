"""Problems of a spent budget, apart from failures of the judge."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.analysis.asset import refresh_problems
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark
from calls.budget import over_budget_reason
from evaluators import catalog
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
FAITHFULNESS, RAGAS = catalog.build("faithfulness", {}), catalog.build("ragas", {})
REASON = over_budget_reason(0.9)
NAMES = [f"q{at:02d}" for at in range(20)]
KEY = {"benchmark": "b", "system": "s"}


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(FAITHFULNESS, RAGAS),
    )


@pytest.fixture
def warehouse(tmp_path: Path, benchmark: Benchmark) -> Warehouse:
    """Twenty answers: 12 scored, 1 with a timeout, 7 that the budget did not allow."""
    made = Warehouse(tmp_path / "warehouse.duckdb")
    faithfulness = [None] * 12 + ["timeout"] + [REASON] * 7
    part = "faithfulness.faithfulness: judge_error"
    grades = [
        _grade(name, at, evaluator, reason if evaluator is FAITHFULNESS else reason and part)
        for evaluator in (FAITHFULNESS, RAGAS)
        for at, (name, reason) in enumerate(zip(NAMES, faithfulness, strict=True))
    ]
    lists = {"values": pl.List(pl.Float64)} | dict.fromkeys(
        ("statuses", "reasons"), pl.List(pl.String)
    )
    calls = [
        {"status": "scored", "cost_usd": 0.5, "run_id": "now"},
        {"status": "scored", "cost_usd": 0.25, "run_id": "now"},
        {"status": "scored", "cost_usd": 9.0, "run_id": "before"},
        {"status": "judge_error", "error": REASON, "run_id": "now"},
    ]
    common = {"messages": "[]", "replicate": 0, "judged_at": NOW, "model": "m"}
    with made.transaction() as transaction:
        for table, more in (("questions", {}), ("predictions", {"system": "s"})):
            rows = [{"benchmark": "b", "question_id": name, **more} for name in NAMES]
            transaction.append(table, pl.DataFrame(rows))
        signatures = [
            {
                "evaluator": each.name,
                "signature": each.signature,
                "version": 1,
                "metrics": [metric.name for metric in each.sample_metrics],
                "first_seen": NOW,
            }
            for each in (FAITHFULNESS, RAGAS)
        ]
        transaction.append("signatures", pl.DataFrame(signatures))
        transaction.append("grades", pl.DataFrame(grades, schema_overrides=lists))
        judgments = [{**common, "digest": str(at), **call} for at, call in enumerate(calls)]
        transaction.append("judgments", pl.DataFrame(judgments))
        asks = [
            {
                **KEY,
                "question_id": "q19",
                "evaluator": "faithfulness",
                "step": at,
                "digest": str(at),
            }
            for at in range(len(calls))
        ]
        transaction.append("asks", pl.DataFrame(asks))
    refresh_leaderboards(made, [benchmark], force=True)
    return made


def _grade(name: str, at: int, evaluator: Any, reason: str | None) -> dict[str, Any]:
    count = len(evaluator.sample_metrics)
    return {
        **KEY,
        "question_id": name,
        "evaluator": evaluator.name,
        "signature": evaluator.signature,
        "input_digest": at,
        "values": [None if reason else 1.0] * count,
        "statuses": ["judge_error"] * count if reason else None,
        "reasons": [reason] * count if reason else None,
        "scored_at": NOW,
    }


def test_a_spent_budget_is_a_problem_of_its_own(warehouse: Warehouse, benchmark: Benchmark) -> None:
    refresh_problems(warehouse, [benchmark])
    found = warehouse.fetch(
        "SELECT kind, severity, evaluator, value, message FROM problems "
        "WHERE kind IN ('budget_reached', 'judge_failure') ORDER BY kind, evaluator"
    ).rows(named=True)
    assert [(each["kind"], each["evaluator"], each["value"]) for each in found] == [
        ("budget_reached", "faithfulness", pytest.approx(7 / 20)),
        ("budget_reached", "ragas", pytest.approx(7 / 20)),
        ("judge_failure", "faithfulness", pytest.approx(1 / 20)),
        ("judge_failure", "ragas", pytest.approx(1 / 20)),
    ]
    assert {each["severity"] for each in found[:2]} == {"high"}
    assert found[0]["message"] == (
        "the judge was not asked about 7 of 20 samples of s for faithfulness.faithfulness: the "
        "budget of 0.90 US dollars was reached at 0.75 spent; run again to go on"
    )
    assert (
        "on 1 of 20 samples of s (0 replies were not usable, 1 calls failed)"
        in (found[2]["message"])
    )
