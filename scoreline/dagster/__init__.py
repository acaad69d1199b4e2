"""Scoreline inside a team's own Dagster code location."""

from scoreline.dagster.component import ScorelineProject
from scoreline.dagster.definitions import build_defs

__all__ = ["ScorelineProject", "build_defs"]
