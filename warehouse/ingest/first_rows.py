"""Reads the first rows of a file to find problems before anything else starts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from warehouse.errors import InputError, Problem
from warehouse.formats.format import Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warehouse.formats.format import Read, Source

AnyReader: TypeAlias = "Callable[[Source], Iterator[Read[Any] | Reject]]"
"""Reads records of any kind."""


def find_problems(
    reader: AnyReader, source: Source, rows: int, *, max_reject_ratio: float
) -> list[Problem]:
    """Return the problems of the first rows of a file for which ingesting it certainly fails.

    Args:
        reader: Reads the file.
        source: The file.
        rows: The number of rows to read.
        max_reject_ratio: The share of the rows that may be rejected. If it is not 0, only problems
            of the whole file are returned.
    """
    problems: list[Problem] = []
    is_empty = True
    try:
        for each in islice(reader(source), rows):
            is_empty = False
            if isinstance(each, Reject) and not max_reject_ratio:
                problems.append(Problem(source.path, each.line, each.reason))
    except InputError as error:
        return [*problems, *error.problems]
    if is_empty:
        problems.append(Problem(source.path, None, "the file is empty"))
    return problems
