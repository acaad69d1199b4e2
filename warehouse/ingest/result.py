"""The results of reading and ingesting files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warehouse.errors import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was rejected, as the table `rejects` stores it."""

    problem: Problem
    system: str | None
    text: str


@dataclass(slots=True)
class ReadResult:
    """The result of reading files row by row.

    Attributes:
        rejected: The rejected rows.
        unknown_questions: By system, the ids of unknown questions that it answered.
        systems: Every system that a row or a path names, in the order of appearance.
        changed_texts: By system, the questions whose text differs in its files.
        aliases: By file, the fields by the well-known names that were read as such.
        file_notes: By file, what its reader has to say about it.
        answer_counts: By system and question, how many answers there should be; empty for canonical
            files, and where all are one.
    """

    rejected: list[Rejected] = field(default_factory=list)
    unknown_questions: dict[str, list[str]] = field(default_factory=dict)
    systems: dict[str, None] = field(default_factory=dict)
    changed_texts: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[Path, dict[str, str]] = field(default_factory=dict)
    file_notes: dict[Path, list[str]] = field(default_factory=dict)
    answer_counts: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """The result of ingesting the questions or predictions of a benchmark.

    Attributes:
        rows: The number of rows that the table now holds for the benchmark.
        problems: The rejected rows with reasons.
        notes: Information that is not an error, such as missing predictions.
        digest: The digest of the files and of the settings they were read with.
        unchanged: Whether the files were up to date, so that nothing was read.
    """

    rows: int
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str
    unchanged: bool = False

    @property
    def rejected(self) -> int:
        """The number of rejected rows."""
        return len(self.problems)


def unchanged(warehouse: Warehouse, benchmark: str, table: str, digest: str) -> Ingested:
    """Return the stored result of files that have not changed."""
    where = {"benchmark": benchmark}
    count = warehouse.fetch(
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
        rows=int(count.item()),
        problems=tuple(Problem(*row) for row in rejects.iter_rows()),
        digest=digest,
        unchanged=True,
    )
