"""Drift: only what was measured before and now is compared."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.checks.drift import check_drift
from assets.engines import NO_JUDGE
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark, Project
from calls.budget import over_budget_reason
from evaluators import catalog
from evaluators.engines.judge.replay import NOT_ASKED
from warehouse.publish.snapshot import publish
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
EVALUATOR = catalog.build("context_relevancy", {})
NAMES = [f"q{at}" for at in range(10)]
GOOD: tuple[float | None, str | None, str | None] = (1.0, None, None)
FAILED = (None, "judge_error", "timeout")
UNASKED = (None, "judge_error", NOT_ASKED)
OVER_BUDGET = (None, "judge_error", over_budget_reason(0.9))
NOT_APPLICABLE = (None, "not_applicable", NO_JUDGE)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    benchmark = Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(EVALUATOR,),
    )
    return Project(
        home=tmp_path,
        warehouse=tmp_path / "warehouse.duckdb",
        publish=tmp_path / "published",
        benchmarks={"b": benchmark},
    )


def score(project: Project, outcomes: list[tuple[Any, ...]], model: str, usd: float) -> Warehouse:
    """Write ten scores of one system, each after one judge call."""
    warehouse = Warehouse(project.warehouse)
    grades = [
        {
            "benchmark": "b",
            "system": "s",
            "question_id": name,
            "evaluator": EVALUATOR.name,
            "signature": EVALUATOR.signature,
            "input_digest": at,
            "values": [value],
            "statuses": None if status is None else [status],
            "reasons": None if reason is None else [reason],
            "scored_at": NOW,
        }
        for at, (name, (value, status, reason)) in enumerate(zip(NAMES, outcomes, strict=True))
    ]
    call = {"digest": "1", "messages": "[]", "replicate": 0, "status": "scored", "judged_at": NOW}
    ask = {"benchmark": "b", "system": "s", "question_id": "q0", "evaluator": EVALUATOR.name}
    lists = {
        "values": pl.List(pl.Float64),
        **dict.fromkeys(("statuses", "reasons"), pl.List(pl.String)),
    }
    with warehouse.transaction() as transaction:
        for table, more in (("questions", {}), ("predictions", {"system": "s"})):
            rows = [{"benchmark": "b", "question_id": name, **more} for name in NAMES]
            transaction.replace(table, pl.DataFrame(rows))
        signature = {
            "evaluator": EVALUATOR.name,
            "signature": EVALUATOR.signature,
            "version": 1,
            "metrics": [metric.name for metric in EVALUATOR.sample_metrics],
            "first_seen": NOW,
        }
        transaction.replace("signatures", pl.DataFrame([signature]))
        transaction.replace("grades", pl.DataFrame(grades, schema_overrides=lists))
        transaction.replace("asks", pl.DataFrame([{**ask, "step": 0, "digest": "1"}]))
        transaction.replace("judgments", pl.DataFrame([{**call, "model": model, "cost_usd": usd}]))
    refresh_leaderboards(warehouse, [project.benchmarks["b"]], force=True)
    return warehouse


def drifts(project: Project, before: list[tuple[Any, ...]], now: list[tuple[Any, ...]]) -> str:
    """Return what has drifted between two publications."""
    publish(score(project, before, "recorded:said.jsonl", 0.0), project.publish)
    warehouse = score(project, now, "openai/judge", 0.002)
    found = check_drift(warehouse, project, ["b"])
    assert len(found) == 3
    return "; ".join(each.observed for each in found if each.observed is not None)


@pytest.mark.parametrize("before", [NOT_APPLICABLE, UNASKED, OVER_BUDGET])
def test_what_was_not_measured_before_has_not_drifted(
    project: Project, before: tuple[Any, ...]
) -> None:
    assert drifts(project, [before] * 10, [FAILED] * 10) == ""


@pytest.mark.parametrize("now", [NOT_APPLICABLE, UNASKED, OVER_BUDGET])
def test_what_is_not_measured_now_has_not_drifted(project: Project, now: tuple[Any, ...]) -> None:
    assert drifts(project, [GOOD] * 10, [now] * 10) == ""


def test_failures_among_what_was_measured_are_drift(project: Project) -> None:
    before, now = [GOOD] * 5 + [UNASKED] * 5, [GOOD] * 4 + [FAILED] * 4 + [OVER_BUDGET] * 2
    found = drifts(project, before, now)
    assert found == (
        "b, s, context_relevancy: 0 before, 0.5 now; b, s, context_relevancy: 1 before, 0.5 now"
    )
