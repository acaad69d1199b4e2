"""Asset keys, partitions, groups and run configuration that the stages share."""

from __future__ import annotations

import dagster as dg

BENCHMARKS = dg.DynamicPartitionsDefinition(name="benchmarks")
"""The only partition dimension: one partition per benchmark."""

BACKFILL = dg.BackfillPolicy.single_run()
"""A backfill is one run: starting a run takes longer than most of its work."""

JUDGE_POOL = "judge"
MODELS_POOL = "models"
POOLS = (JUDGE_POOL, MODELS_POOL)
"""The concurrency pools of the steps that call a judge and of those that use local models."""

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
"""Asset groups; scores and judgments are grouped by the family of their evaluator."""


def scores_key(evaluator: str) -> dg.AssetKey:
    """Return the key of the asset with one evaluator's scores."""
    return dg.AssetKey(["scores", evaluator])


def judgments_key(evaluator: str) -> dg.AssetKey:
    """Return the key of the asset with one evaluator's judge calls."""
    return dg.AssetKey(["judgments", evaluator])


class StageConfig(dg.Config):
    """The run configuration of the stages.

    Attributes:
        systems: The systems to process; empty for all.
        require_systems_in: Every system must occur in one of these benchmarks; null for the
            benchmarks of the run. `scoreline run` sets it for the last of several runs.
        force: Whether to redo what is up to date.
    """

    systems: list[str] = []  # noqa: RUF012 - Dagster copies the default for each run
    require_systems_in: list[str] | None = None
    force: bool = False
