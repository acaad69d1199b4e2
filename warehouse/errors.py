"""The exceptions of the warehouse and the helpers for their messages."""

# ruff: noqa: N818 - the base class says that these are errors

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warehouse.foreign_text import appearance, describe_twins, twin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


_VALUES: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+""")
"""Values in messages: texts in quotation marks, and numbers."""


class WarehouseError(Exception):
    """The base class of all errors of this package; the message is meant for the user."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with an input file.

    Attributes:
        file: The path as the user wrote it.
        line: The line from 1; null: the problem concerns the whole file.
        message: What is wrong and what was expected.
    """

    file: Path | str
    line: int | None
    message: str

    @property
    def cause(self) -> tuple[str, str]:
        """The file, and the message without what differs from row to row: values and numbers."""
        return str(self.file), _VALUES.sub("", self.message)

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        return f"{location}: {self.message}"


class InputError(WarehouseError):
    """Input files are not valid.

    The message lists some problems of each cause, so that many of one do not hide another.

    Attributes:
        problems: All problems, in the order of the files.
        listed: Those that the message lists.
    """

    shown = 20

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        causes: dict[tuple[str, str], list[Problem]] = {}
        for problem in self.problems:
            causes.setdefault(problem.cause, []).append(problem)
        is_short = len(self.problems) <= self.shown
        most = self.shown if is_short else max(1, self.shown // len(causes))
        groups = list(causes.values())[: self.shown]
        lines: list[str] = []
        listed: list[Problem] = []
        for group in groups:
            listed += group[:most]
            lines += map(str, group[:most])
            more = len(group) - most
            if more > 0:
                lines.append(f"{group[0].file}: ... and {more:,} more like {_these(most)}")
        others = len(self.problems) - sum(map(len, groups))
        if others:
            lines.append(f"... and {others:,} more")
        self.listed = tuple(listed)
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross from one process to another with the problems, not with the message."""
        return type(self), (self.problems,)


def _these(number: int) -> str:
    return "this one" if number == 1 else f"these {number}"


class FileDiffers(WarehouseError):
    """Files that a command would write exist, and their contents would change."""

    def __init__(self, files: Sequence[str]) -> None:
        names = ", ".join(repr(file) for file in files)
        verb = "exists and is" if len(files) == 1 else "exist and are"
        super().__init__(f"{names} {verb} not overwritten; --force overwrites, --out names another")


class UnknownFormat(WarehouseError):
    """The input format does not exist."""


class UnknownColumn(WarehouseError):
    """The table or the samples do not have the column."""


class UnknownTable(WarehouseError):
    """The warehouse does not have the table."""


class UnknownSystem(WarehouseError):
    """The system has no predictions."""


class SchemaMismatch(WarehouseError):
    """The tables of the warehouse are not those of this version."""


class SchemaOutdated(SchemaMismatch):
    """An earlier version wrote the warehouse; opening it for writing migrates it."""


class DuplicateKey(WarehouseError):
    """Two rows of a table have the same key."""


class InvalidQuery(WarehouseError):
    """DuckDB rejects a user's query."""


class QueryTimeout(WarehouseError):
    """A user's query takes longer than its time limit."""


class QueryOutOfMemory(WarehouseError):
    """A user's query needs more memory than its limit, and cannot spill to disk."""


class WarehouseDamaged(WarehouseError):
    """A file is not, or no longer, a DuckDB database that can be read."""


class WarehouseLocked(WarehouseError):
    """Another process holds the lock for longer than the timeout."""


class WarehouseOutOfMemory(WarehouseError):
    """DuckDB needs more memory than its limit, and cannot spill to disk."""


class WarehouseTooNew(WarehouseError):
    """A later version of Scoreline or DuckDB wrote the warehouse."""


class WarehouseUnreachable(WarehouseError):
    """The server with the catalog of a lake cannot be reached."""


class WarehouseConflict(WarehouseError):
    """Other processes changed the lake during every attempt."""


class NoSpace(WarehouseError):
    """The disk is full."""


MIN_SIMILARITY = 0.85
"""The Jaro-Winkler similarity from which a name is suggested."""


def closest_match(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a misspelt one; null if none is similar.

    A name that looks alike is the most similar one.
    """
    names = sorted(known)
    twin = twin_of(name, names)
    if twin is not None:
        return twin
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import extractOne

    found = extractOne(name, names, scorer=JaroWinkler.similarity, score_cutoff=MIN_SIMILARITY)
    return None if found is None else found[0]


def did_you_mean(name: str, close: str) -> str:
    """Return the end of a message that suggests a name; if both look alike, with what differs."""
    if appearance(name) != appearance(close):
        return f"; did you mean {close!r}?"
    return f"; did you mean {close!r}? {describe_twins([name, close])}"


def suggest_twin(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the name that looks alike; empty without one."""
    twin = twin_of(name, known)
    return "" if twin is None else did_you_mean(name, twin)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the closest known name, or lists them all.

    It reads ``; did you mean 'answer'?`` or ``; known: 'answer', 'label'``.
    """
    names = sorted(known)
    close = closest_match(name, names)
    if close is not None:
        return did_you_mean(name, close)
    return "; known: " + ", ".join(repr(each) for each in names)
