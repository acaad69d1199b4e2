"""Everything that can go wrong between the files, the warehouse and its readers."""

# ruff: noqa: N818 - the name says what is the matter; that it is an error, its base says.

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class WarehouseError(Exception):
    """The root of all errors of this room; its text is meant for the user."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input file.

    Attributes:
        file: The file, as the user named it.
        line: The line from 1, or null when the problem is about the whole file.
        message: What is wrong and what was expected.
    """

    file: Path | str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        return f"{place}: {self.message}"


class InputError(WarehouseError):
    """Input files cannot be used as they are.

    Attributes:
        problems: Every problem that was found, in the order of the files.
    """

    shown = 20

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[: self.shown]]
        if len(self.problems) > self.shown:
            lines.append(f"... and {len(self.problems) - self.shown} more")
        super().__init__("\n".join(lines))


class UnknownFormat(WarehouseError):
    """An input format is asked for that does not exist."""


class UnknownColumn(WarehouseError):
    """A column is asked for that the table or the samples do not have."""


class UnknownTable(WarehouseError):
    """A table is asked for that the warehouse does not describe."""


class UnknownSystem(WarehouseError):
    """A system is asked for that has answered nothing."""


class SchemaMismatch(WarehouseError):
    """The tables of a warehouse are not those that this version describes."""


class SchemaOutdated(SchemaMismatch):
    """An earlier version wrote the warehouse; opening it for writing brings it up to date."""


class DuplicateKey(WarehouseError):
    """Two rows of one table have the same key."""


class InvalidQuery(WarehouseError):
    """A query that a user wrote cannot be answered."""


class WarehouseLocked(WarehouseError):
    """Another process holds the warehouse for longer than one was willing to wait."""


class WarehouseTooNew(WarehouseError):
    """The warehouse was written by a later version of this program."""


class WarehouseUnreachable(WarehouseError):
    """The server that keeps the catalogue of a lake is not there, or went away."""


class WarehouseConflict(WarehouseError):
    """Another process changed a lake at the same time, again and again."""


class NoSpace(WarehouseError):
    """The disk is full."""


def near(name: str, known: Iterable[str]) -> str:
    """The end of an error message that suggests the nearest known name, or lists them.

    Args:
        name: The name that is not known.
        known: The names that are.

    Returns:
        A text such as ``; did you mean 'answer'?`` or ``; known: 'answer', 'label'``.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return "; known: " + ", ".join(repr(each) for each in names)
