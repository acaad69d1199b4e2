"""Asset keys, partitions, groups, resources and run configuration that the stages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from assets.project import Project
    from warehouse.store import Warehouse

BENCHMARKS = dg.DynamicPartitionsDefinition(name="benchmarks")
"""The only partition dimension: one partition per benchmark. See `partitions_of`."""

BACKFILL = dg.BackfillPolicy.single_run()
"""A backfill is one run: starting a run takes longer than most of its work."""

JUDGE_POOL = "judge"
MODELS_POOL = "models"
SYSTEMS_POOL = "systems"
POOLS = (JUDGE_POOL, MODELS_POOL, SYSTEMS_POOL)
"""The concurrency pools of the steps that call a judge, use local models, or ask systems."""

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


REPORT_ROUTE = "/report/"
"""The path at which the webserver of `scoreline dev` serves the report."""

WAREHOUSE = "warehouse"
JUDGE = "judge"
"""Resources."""


def partitions_of(project: Project) -> dg.PartitionsDefinition[str]:
    """Return the partitions of a project: one per benchmark."""
    if project.namespace.is_shared:
        return dg.StaticPartitionsDefinition(list(project.benchmarks))
    return BENCHMARKS


def upstream_keys(project: Project) -> list[dg.AssetKey]:
    """Return the assets of others that write the files of the benchmarks."""
    names = dict.fromkeys(name for each in project.benchmarks.values() for name in each.deps)
    return [dg.AssetKey.from_user_string(name) for name in names]


def warehouse_of(
    context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext, project: Project
) -> Warehouse:
    """Return the warehouse of a project from the resources of a step."""
    warehouse: Warehouse = getattr(context.resources, project.namespace.name(WAREHOUSE))
    return warehouse


def answers_key(system: str) -> dg.AssetKey:
    """Return the key of the asset with the answers of a system that is asked."""
    return dg.AssetKey(["answers", system])


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
        limit: How many questions of each benchmark systems are asked; null for all.
    """

    systems: list[str] = []  # noqa: RUF012 - Dagster copies the default for each run
    require_systems_in: list[str] | None = None
    force: bool = False
    limit: int | None = None
