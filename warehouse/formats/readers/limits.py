"""The limits of input files; they bound the memory and the time that a file can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 2**20

LONGEST_ROW: Final = 16 * MIB
"""The maximum length of a row: in bytes for a line, in characters for CSV, JSON and Parquet."""

MAX_LINES: Final = 1_000_000
"""The maximum number of lines of one row of a CSV file."""

MAX_FIELDS: Final = 1_000
"""The maximum number of fields of a row."""

MAX_DEPTH: Final = 100
"""How deep lists and objects may be nested; Arrow allows as much for columns of Parquet files."""

LONGEST_FILE: Final = 256 * MIB
"""The maximum length in bytes of a file that is not read row by row."""

MAX_RATIO: Final = 500
FREE_EXPANSION: Final = 1024 * MIB
"""Above this number of bytes, data may expand to at most `MAX_RATIO` times its compressed size.

Text compresses to a tenth or so, and a file of equal lines to a thousandth. The same holds for rows
that repeat what a file has once: documents of a test, attributes of a resource, names of classes.
"""

MAX_REPEATED: Final = 10_000_000
"""The maximum number of attributes of resources that spans may repeat."""

MAX_VALUES: Final = 100_000
"""The number of values per row, on average, that a column of a large Parquet file may hold."""

MAX_CELLS: Final = 10_000_000
"""The cells of the part of an Excel sheet with values, empty ones included."""

MAX_REJECTED: Final = 1_000_000
"""The maximum number of rejected rows of a file."""

MAX_REPORTED: Final = 1_000
"""The number of problems after which reading a file ends, if it fails in any case."""


def too_many_fields(count: int) -> str | None:
    """Return the reason why a row cannot have this many fields; null if it can."""
    if count <= MAX_FIELDS:
        return None
    return f"expected at most {MAX_FIELDS:,} fields, found {count:,}"


def too_long(what: str) -> str:
    """Return the reason why a row is refused that is too long."""
    return f"{what} is longer than {LONGEST_ROW // MIB} MiB"


def require_bounded(path: Path, length: int) -> None:
    """Check the number of bytes of the rows that were read of a file so far.

    Raises:
        InputError: The rows are too long: they repeat texts that the file has once.
    """
    if length <= FREE_EXPANSION or not path.is_file():  # the rows of a query have no file
        return
    most = max(FREE_EXPANSION, MAX_RATIO * path.stat().st_size)
    if length > most:
        said = f"the rows are longer than {most // MIB:,} MiB, because they repeat texts that the "
        raise InputError([Problem(path, None, said + "file has once; split it")])


def reading_ends(count: int) -> str:
    """Return the reason why a file is not read to its end."""
    return f"reading ends here: {count:,} rows are not valid"


def is_too_deep(value: Any) -> bool:
    """Return whether a list or object is nested more than `MAX_DEPTH` levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
