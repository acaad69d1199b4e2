"""The code location: everything that Dagster knows about one project."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.project import Project

CONFIG_VARIABLE = "SCORELINE_CONFIG"


@dg.definitions
def defs() -> dg.Definitions:
    """The definitions of the project whose configuration file `SCORELINE_CONFIG` names."""
    from orchestration.config import load

    file = Path(os.environ.get(CONFIG_VARIABLE, str(load.DEFAULT_FILE)))
    return build(load.read(file).project)


def build(
    project: Project, loggers: Mapping[str, dg.LoggerDefinition] | None = None
) -> dg.Definitions:
    """The definitions of one project.

    Args:
        project: What to evaluate.
        loggers: Who listens to the runs in place of Dagster's own console logger.
    """
    from orchestration.automation.schedules import schedules
    from orchestration.automation.sensors import sensors
    from orchestration.executors.executors import executor
    from orchestration.jobs import jobs
    from orchestration.resources import resources

    with warnings.catch_warnings():
        # Backfill policies work; Dagster keeps the right to rename them.
        warnings.simplefilter("ignore", dg.BetaWarning)
        from assets import definitions

        chosen = executor(project)
        return dg.Definitions(
            assets=definitions.assets(project),
            asset_checks=definitions.checks(project),
            jobs=jobs(chosen),
            schedules=schedules(project),
            sensors=sensors(project),
            resources=resources(project),
            executor=chosen,
            loggers=loggers,
        )
