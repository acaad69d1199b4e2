"""The Dagster code location of one project."""

from __future__ import annotations

import math
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
    from orchestration.executors import build_executor
    from orchestration.jobs import EVALUATE

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
        executor = build_executor(project)
        return dg.Definitions(
            assets=assets,
            asset_checks=definitions.build_checks(project),
            jobs=[
                dg.define_asset_job(
                    EVALUATE,
                    selection=dg.AssetSelection.all(),
                    executor_def=executor,
                    description="Ingests, checks, judges, scores, aggregates and publishes, as "
                    "`scoreline run` does.",
                )
            ],
            schedules=build_schedules(project),
            sensors=build_sensors(project),
            # Plain values: no connection is open between the queries of an asset. A run waits for
            # other processes as long as they write: what it has computed must not be lost.
            resources={"warehouse": project.open_warehouse(math.inf), "project": project},
            executor=executor,
            loggers=loggers,
        )
