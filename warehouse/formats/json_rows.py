"""Rows of JSON files whose endings do not tell a list from JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.formats.files import opened
from warehouse.formats.rows import json_lines, json_members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.formats.format import Reject
    from warehouse.formats.rows import Row

_BLANK = b" \t\r\n\xef\xbb\xbf"


def json_rows(path: Path, *, key: str) -> Iterator[Row | Reject]:
    """The objects of a JSON list or of JSON Lines, whichever it is by its first character.

    Args:
        path: The file.
        key: The field that names a row.

    Raises:
        InputError: The file cannot be read, or is a list that breaks off.
    """
    with opened(path) as file:
        beginning = file.read(4096).lstrip(_BLANK)
    if beginning.startswith(b"["):
        return json_members(path, key=key)
    return json_lines(path)
