"""The limits of input files; they bound the memory and the time that a file can take."""

from __future__ import annotations

from typing import Any, Final

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

Text compresses to a tenth or so, and a file of equal lines to a thousandth.
"""

MAX_VALUES: Final = 100_000
"""The number of values per row, on average, that a column of a large Parquet file may hold."""

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
