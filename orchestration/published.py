"""The published copy of a project, and the questions that commands put to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.errors import OrchestrationError
from warehouse.publish.snapshot import FILE_NAME, Snapshot

if TYPE_CHECKING:
    import polars as pl

    from assets.project import Project


class NothingPublished(OrchestrationError):  # noqa: N818 - the name says what it is
    """A project has not been run yet."""


def copy(project: Project) -> Snapshot:
    """The published copy.

    Raises:
        NothingPublished: There is none yet.
    """
    path = project.publish / FILE_NAME
    if not path.exists():
        raise NothingPublished(
            f"nothing is published yet in {str(project.publish)!r}: `scoreline run` comes first"
        )
    return Snapshot(path)


def leaderboard(project: Project) -> pl.DataFrame:
    """The whole published leaderboard, best first.

    Returns:
        The columns of the table `leaderboard`, ordered by benchmark, slice, evaluator, metric and
        rank; systems without a rank come last, by name.

    Raises:
        NothingPublished: There is none yet.
    """
    return copy(project).fetch(
        "SELECT * FROM leaderboard "
        "ORDER BY benchmark, slice <> 'all', slice, evaluator, metric, rank NULLS LAST, system"
    )


def rejects(project: Project) -> pl.DataFrame:
    """The rows of input files that could not be used, in the order of the files.

    Returns:
        benchmark, kind, system, file, line, reason.

    Raises:
        NothingPublished: There is none yet.
    """
    return copy(project).fetch(
        "SELECT benchmark, kind, system, file, line, reason FROM rejects "
        "ORDER BY benchmark, kind, file, line"
    )


def systems(project: Project, benchmark: str) -> list[str]:
    """The systems of a benchmark that are published, by name.

    Raises:
        NothingPublished: There is none yet.
    """
    found = copy(project).fetch(
        "SELECT DISTINCT system FROM predictions WHERE benchmark = $benchmark ORDER BY system",
        {"benchmark": benchmark},
    )
    return [str(name) for name in found["system"]]


def problems(project: Project) -> pl.DataFrame:
    """What somebody should look at, in the order of the table `problems`: worst first.

    Raises:
        NothingPublished: There is none yet.
    """
    return copy(project).fetch("SELECT * FROM problems")
