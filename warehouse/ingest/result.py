"""What becomes of input files and of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warehouse.errors import Problem

if TYPE_CHECKING:
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was left out, as the table `rejects` keeps it."""

    problem: Problem
    system: str | None
    text: str


@dataclass(slots=True)
class Outcome:
    """What became of the rows of some files.

    Attributes:
        rejected: The rows that were left out.
        unknown: Systems, with the questions that they answered and that do not exist.
        systems: Every system that a row or a path names, in the order of their appearance.
        asked: Systems, with the questions whose text their files repeat differently.
    """

    rejected: list[Rejected] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    systems: dict[str, None] = field(default_factory=dict)
    asked: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What came of reading files.

    Attributes:
        rows: The rows of `questions`, or of `predictions`, that the benchmark has now.
        problems: The rows that were left out, and why.
        notes: What is worth knowing and is no fault: left out questions and the like.
        digest: The digest of the files and of how they were read.
        unchanged: Whether all was as before, so that nothing was done.
    """

    rows: int
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str
    unchanged: bool = False

    @property
    def rejected(self) -> int:
        """The number of rows that were left out."""
        return len(self.problems)


def unchanged(warehouse: Warehouse, benchmark: str, table: str, digest: str) -> Ingested:
    """What came of files that are those of the last time, from what was kept then."""
    where = {"benchmark": benchmark}
    counted = warehouse.fetch(
        f"SELECT count(*) FROM {table} WHERE benchmark = $benchmark",  # noqa: S608
        where,
    )
    kinds = "('predictions')" if table == "predictions" else "('questions', 'documents')"
    rejects = warehouse.fetch(
        f"SELECT file, line, reason FROM rejects WHERE benchmark = $benchmark AND kind IN {kinds} "  # noqa: S608
        "ORDER BY ALL",
        where,
    )
    return Ingested(
        rows=int(counted.item()),
        problems=tuple(Problem(*row) for row in rejects.iter_rows()),
        digest=digest,
        unchanged=True,
    )
