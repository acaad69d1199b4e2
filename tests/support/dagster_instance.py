"""A Dagster instance as new projects have it, made once, because its tables take a second."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from orchestration import instance, starter
from orchestration.config import load

if TYPE_CHECKING:
    from assets.project import Project


def furnish(project: Project) -> None:
    """Give a project that has no Dagster instance yet a copy of a new one."""
    home = instance.home(project)
    if not home.exists():
        shutil.copytree(Path(_new().name, "dagster"), home)


@cache
def _new() -> TemporaryDirectory[str]:
    """The folder of an instance of its own, which nobody uses; removed at the exit."""
    made: TemporaryDirectory[str] = TemporaryDirectory(prefix="instance-")
    starter.write_starter(Path(made.name, "project"))
    project = load.load_config(Path(made.name, "project", "scoreline.yaml")).project
    instance.create_instance(project).rename(Path(made.name, "dagster"))
    return made
