"""Memory: what engines answered, kept for the rest of a run up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict

_OVERHEAD = 200
"""Bytes that an entry takes beside its value: its key, its places in the table, headers."""


class Memory:
    """The answers that were asked for last; the least recently used make room."""

    def __init__(self, limit_bytes: int) -> None:
        """Keep values that, with all that they take, stay below `limit_bytes`."""
        self._limit = limit_bytes
        self._taken = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._kept)

    def get(self, key: bytes) -> bytes | None:
        """The answer to a question, or None."""
        value = self._kept.get(key)
        if value is not None:
            self._kept.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Keep an answer; drop those that were not asked for the longest."""
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._taken -= len(gone) + _OVERHEAD
        self._kept[key] = value
        self._taken += len(value) + _OVERHEAD
        while self._taken > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._taken -= len(dropped) + _OVERHEAD
