"""The published copy of a project, and the queries of commands on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestration.errors import ChecksFailed, OrchestrationError
from warehouse.schema.quoting import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.project import Project
    from warehouse.publish.snapshot import OpenSnapshot, Snapshot


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


MAX_FAILED = 5
"""How many failed gates an error message lists."""

SHOWN = "(is_primary = 1 OR is_headline = 1)"
"""The SQL condition for the rows of the leaderboard that are shown unless you name metrics."""


WORST_FIRST = "list_position(['high', 'medium', 'low'], severity), kinds[1], system, evaluator"
"""The order of rows of the view `v_problems`."""


def select_leaderboard(condition: str) -> str:
    """Return the query for the rows of the leaderboard that satisfy a SQL condition, best first.

    They are ordered by benchmark, slice, position of the metric and rank; systems without a rank
    come last, by name.
    """
    return (
        f"SELECT * FROM leaderboard WHERE {condition} "  # noqa: S608
        "ORDER BY benchmark, slice <> 'all', slice, position, rank NULLS LAST, system"
    )


def among(column: str, names: Iterable[str]) -> str:
    """Return the SQL condition that a column or expression of text has one of some values."""
    return f"{column} IN ({', '.join(map(literal, names)) or 'NULL'})"


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


def load_gates(copy: OpenSnapshot, benchmarks: Iterable[str]) -> list[dict[str, Any]]:
    """Return the published verdicts of gates of some benchmarks.

    Returns:
        Rows with benchmark, message (which names the benchmark), verdict and passed.
    """
    return copy.fetch_rows(
        "SELECT benchmark, benchmark || ': ' || message AS message, verdict, passed FROM gates "  # noqa: S608
        f"WHERE {among('benchmark', benchmarks)} ORDER BY ALL"
    )


def require_no_problems(
    copy: Snapshot, benchmarks: Sequence[str], severities: Sequence[str]
) -> None:
    """Check that there are no problems of some severities.

    Raises:
        ChecksFailed: There are some; the message counts them.
    """
    chosen = f"{among('benchmark', benchmarks)} AND {among('severity', severities)}"
    with copy.open() as opened:
        (row,) = opened.fetch_rows(f"SELECT count(*) AS n FROM v_problems WHERE {chosen}")  # noqa: S608
    if row["n"]:
        kinds = " or ".join(severities)
        raise ChecksFailed(f"{row['n']} problems are {kinds}; the results are published")


def require_passed_gates(copy: Snapshot, benchmarks: Iterable[str]) -> None:
    """Check the published verdicts of the configured gates.

    Raises:
        ChecksFailed: A gate of one of the benchmarks failed; the message says why.
    """
    with copy.open() as opened:
        gates = load_gates(opened, benchmarks)
    failed = [gate["message"] for gate in gates if gate["passed"] == 0]
    if failed:
        count = f"{len(failed)} of {len(gates)} gates" if len(gates) > 1 else "the gate"
        lines = "".join(f"\n  {message}" for message in failed[:MAX_FAILED])
        if len(failed) > MAX_FAILED:
            query = "FROM gates WHERE passed = 0"
            lines += f'\n  and {len(failed) - MAX_FAILED} more: scoreline sql "{query}"'
        raise ChecksFailed(f"{count} failed; the results are published:{lines}", failed)
