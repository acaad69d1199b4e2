"""The component with which `dg` adds a project to a code location from a `defs.yaml`."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from pydantic import Field

from scoreline.dagster.definitions import build_defs
from scoreline.dagster.scaffold import ProjectScaffolder


@dg.scaffold_with(ProjectScaffolder)
class ScorelineProject(dg.Component, dg.Model, dg.Resolvable):
    """The assets, checks, job, schedule and sensors of one Scoreline project."""

    config: str = Field(
        description="The configuration file; a relative path starts at the folder of this file.",
        examples=["scoreline.yaml", "{{ project_root }}/quality/scoreline.yaml"],
    )
    key_prefix: str | None = Field(
        default=None,
        description="The beginning of all asset keys, and of the names of the jobs, schedules, "
        "sensors and resources.",
        examples=["quality"],
    )
    group_prefix: str | None = Field(
        default=None, description="The beginning of all asset groups.", examples=["quality"]
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the definitions of the project."""
        # The path of a component in Python is its file.
        folder = Path(context.path) if Path(context.path).is_dir() else Path(context.path).parent
        file = folder / Path(self.config).expanduser()
        return build_defs(file, self.key_prefix, self.group_prefix)
