"""The names under which Dagster knows the stages, and what all of them have in common."""

from __future__ import annotations

import dagster as dg

BENCHMARKS = dg.DynamicPartitionsDefinition(name="benchmarks")
"""The one partition dimension: a partition is a benchmark."""

BACKFILL = dg.BackfillPolicy.single_run()
"""Many benchmarks are done in one run: what takes time is the start, not the work."""

JUDGE_POOL = "judge"
MODELS_POOL = "models"
POOLS = (JUDGE_POOL, MODELS_POOL)
"""What the steps that ask a judge, and those that use local models, draw from."""

OWNERS = ["team:evaluation"]

QUESTIONS = dg.AssetKey("questions")
PREDICTIONS = dg.AssetKey("predictions")
LEADERBOARD = dg.AssetKey("leaderboard")
CALIBRATION = dg.AssetKey("calibration")
PROBLEMS = dg.AssetKey("problems")
INSIGHTS = dg.AssetKey("insights")
PUBLISHED = dg.AssetKey("published")

INPUTS = "inputs"
RESULTS = "results"
"""Groups of assets; the scores are grouped by the family of their evaluator."""


def scores_key(evaluator: str) -> dg.AssetKey:
    """The asset that holds the scores of one evaluator."""
    return dg.AssetKey(["scores", evaluator])


def judgments_key(evaluator: str) -> dg.AssetKey:
    """The asset that holds what a judge was asked for one evaluator."""
    return dg.AssetKey(["judgments", evaluator])
