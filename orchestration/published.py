"""The published copy of a project, and the queries of commands on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.errors import ChecksFailed, OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from assets.project import Project
    from warehouse.publish.snapshot import Snapshot


class NotPublished(OrchestrationError):  # noqa: N818
    """Nothing is published yet."""


def open_copy(project: Project) -> Snapshot:
    """Return the published copy.

    Raises:
        NotPublished: Nothing is published yet.
    """
    copy = project.open_copy()
    if not copy.path.exists():
        raise NotPublished(
            f"nothing is published yet in {str(project.publish)!r}: run `scoreline run` first"
        )
    return copy


def load_leaderboard(copy: Snapshot) -> pl.DataFrame:
    """Return the whole published leaderboard, best first.

    Returns:
        The columns of the table `leaderboard`, ordered by benchmark, slice, position of the metric
        and rank; systems without a rank come last, by name.
    """
    return copy.fetch(
        "SELECT * FROM leaderboard "
        "ORDER BY benchmark, slice <> 'all', slice, position, rank NULLS LAST, system"
    )


def load_systems(project: Project, benchmark: str) -> list[str]:
    """Return the published systems of a benchmark, by name.

    Raises:
        NotPublished: Nothing is published yet.
    """
    found = open_copy(project).fetch(
        "SELECT DISTINCT system FROM predictions WHERE benchmark = $benchmark ORDER BY system",
        {"benchmark": benchmark},
    )
    return [str(name) for name in found["system"]]


def load_gates(copy: Snapshot, benchmarks: Sequence[str]) -> pl.DataFrame:
    """Return the published verdicts of gates.

    Returns:
        The columns benchmark, message (which names the benchmark), verdict and passed.
    """
    return copy.fetch(
        "SELECT benchmark, benchmark || ': ' || message AS message, verdict, passed FROM gates "
        "WHERE list_contains($benchmarks, benchmark) ORDER BY ALL",
        {"benchmarks": list(benchmarks)},
    )


def require_passed_gates(project: Project, benchmarks: Sequence[str]) -> None:
    """Check the published verdicts of the configured gates.

    Raises:
        ChecksFailed: A gate of one of the benchmarks failed; the message says why.
    """
    gates = load_gates(open_copy(project), benchmarks)
    failed = gates.filter(gates["passed"] == 0)["message"].to_list()
    if failed:
        count = f"{len(failed)} of {gates.height} gates" if gates.height > 1 else "the gate"
        lines = "".join(f"\n  {message}" for message in failed)
        raise ChecksFailed(f"{count} failed; the results are published:{lines}")
