"""Values, names and paths as they stand in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def literal(value: str | float) -> str:
    """Return a value as a SQL literal."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def path_literal(path: Path) -> str:
    """Return a file path as a SQL literal, with `*`, `?` and `[` escaped."""
    text = "".join(f"[{each}]" if each in "*?[" else each for each in str(path))
    # In a pattern, DuckDB takes a backslash for a slash, unless it is one of a range.
    return literal(text if text == str(path) else text.replace("\\", "[[-]]"))


def scan_literal(reader: str, files: Sequence[Path], options: str = "") -> str:
    """Return a call of a function of DuckDB that reads files, which takes their paths as they are.

    Unless told otherwise, DuckDB makes columns of folders that are called `name=value`.
    """
    listed = ", ".join(map(path_literal, files))
    return f"{reader}([{listed}], hive_partitioning = false{options})"


def quoted(name: str) -> str:
    """Return an identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'
