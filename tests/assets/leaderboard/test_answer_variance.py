"""What the variance of scores of several answers is due to, from stored judgments."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.benchmark_scores import BenchmarkScores
from assets.leaderboard.score_variance import variance_rows
from assets.project import Benchmark
from evaluators import catalog
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS, ANSWERS = 400, 4
EVALUATOR = replace(catalog.build("faithfulness", {}), repeats=ANSWERS)


def variance(tmp_path: Path, judged: np.ndarray, scores: np.ndarray, detail: str) -> Any:
    """The row of the table `variance` for judgments, shape (questions, answers, judgments)."""

    def text(given: np.ndarray) -> str:
        values = [None if np.isnan(each) else float(each) for each in given]
        if detail == "replicates":
            return json.dumps({"replicates": ["judge_error" if v is None else v for v in values]})
        members = {f"judge-{at}": {"faithfulness": value} for at, value in enumerate(values)}
        return json.dumps({"panel": {"values": members}})

    rows = [
        {
            "benchmark": "b",
            "system": "s",
            "question_id": f"q{question}",
            "repeat": answer,
            "evaluator": "faithfulness",
            "signature": EVALUATOR.signature,
            "input_digest": 1,
            "values": [float(scores[question, answer])],
            "detail": text(judged[question, answer]),
            "scored_at": datetime(2026, 1, 1),  # noqa: DTZ001
        }
        for question in range(QUESTIONS)
        for answer in range(ANSWERS)
    ]
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.transaction() as transaction:
        transaction.append("answer_grades", pl.DataFrame(rows))
    benchmark = Benchmark(
        name="b", questions=None, predictions=tmp_path / "p", evaluators=(EVALUATOR,)
    )
    (row,) = variance_rows(BenchmarkScores(warehouse, [benchmark])).to_dicts()
    return row


@pytest.mark.parametrize(
    ("detail", "combine"), [("replicates", np.nanmedian), ("panel", np.nanmean)]
)
def test_a_judge_that_wavers_is_not_taken_for_different_answers(
    tmp_path: Path, detail: str, combine: Any
) -> None:
    """All answers to a question are equally good; members of a panel differ in leniency."""
    generator = np.random.default_rng(1)
    level = generator.uniform(0.3, 0.7, (QUESTIONS, 1, 1))
    judged = level + generator.normal(0, 0.2, (QUESTIONS, ANSWERS, 3))
    if detail == "panel":
        judged += [0.1, 0.0, -0.2]
    else:
        judged[generator.random(judged.shape) < 0.05] = np.nan
    scores = combine(judged, axis=2)
    row = variance(tmp_path, judged, scores, detail)
    assert row["answer"] == pytest.approx(0.0, abs=0.002)
    parts = row["question"] + row["answer"] + row["judge"]
    assert parts == pytest.approx(scores.var(ddof=1), rel=0.02)
    assert row["judgments"] == pytest.approx(2.85 if detail == "replicates" else 3, abs=0.02)
