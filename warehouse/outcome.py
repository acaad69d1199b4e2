"""What becomes of the rows of input files that were read one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.errors import Problem


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
