"""The pipeline: every asset and check of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets import checks as table_checks
from assets.ingest import predictions, questions
from assets.leaderboard import leaderboard
from assets.publish import published
from assets.scores import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    import dagster as dg

    from assets.project import Project


def assets(project: Project) -> Sequence[dg.AssetsDefinition]:
    """The stages in the order in which they run."""
    return [questions, predictions, scores(project), leaderboard(project), published]


def checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """The checks that hold every table against its description before anything follows."""
    return table_checks.checks(project)
