"""The Dagster code location of one project."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.project import Project

CONFIG_VARIABLE = "SCORELINE_CONFIG"


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of the project whose configuration file `SCORELINE_CONFIG` names."""
    from orchestration.config import load

    file = Path(os.environ.get(CONFIG_VARIABLE, str(load.DEFAULT_FILE)))
    return build_definitions(load.load_config(file).project)


def build_definitions(
    project: Project, loggers: Mapping[str, dg.LoggerDefinition] | None = None
) -> dg.Definitions:
    """Return the definitions of one project.

    Args:
        project: What to evaluate.
        loggers: The loggers of its runs, instead of Dagster's console logger.
    """
    from orchestration.automation.triggers import build_schedules, build_sensors
    from orchestration.config.resources import build_resources
    from orchestration.executors import build_executor
    from orchestration.jobs import EVALUATE
    from orchestration.runs.log_lines import escape_log_lines

    # Dagster loads the definitions in each of its processes.
    escape_log_lines()
    with warnings.catch_warnings():
        # Dagster marks backfill policies as beta.
        warnings.simplefilter("ignore", dg.BetaWarning)
        from assets import definitions

        assets: Sequence[dg.AssetsDefinition] = definitions.build_assets(project)
        if project.execution.run_per_benchmark:
            policy = dg.BackfillPolicy.multi_run(max_partitions_per_run=1)
            assets = [
                asset.with_attributes(backfill_policy=policy) if asset.backfill_policy else asset
                for asset in assets
            ]
        keys = [key for asset in assets for key in asset.keys]
        namespace = project.namespace
        executor = build_executor(project)
        return dg.Definitions(
            assets=assets,
            asset_checks=definitions.build_checks(project),
            jobs=[
                dg.define_asset_job(
                    namespace.name(EVALUATE),
                    selection=dg.AssetSelection.assets(*keys),
                    executor_def=executor,
                    description="Ingests, checks, judges, scores, aggregates and publishes, as "
                    "`scoreline run` does.",
                )
            ],
            schedules=build_schedules(project),
            sensors=build_sensors(project, keys),
            resources=build_resources(project),
            # A code location has one executor for all runs without a job; a team chooses its own.
            executor=None if namespace.is_shared else executor,
            loggers=loggers,
        )
