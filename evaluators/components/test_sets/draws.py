"""Draws that follow from a seed and from texts alone, on every machine and version of Python."""

from __future__ import annotations

import hashlib
import json
from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")


class Draws:
    """Pseudo-random draws.

    Python guarantees the sequence of `Random.random` across versions, but not that of its other
    methods, so that everything is derived from it.
    """

    def __init__(self, *key: str | int) -> None:
        """Prepare draws; equal keys give equal draws."""
        digest = hashlib.sha256(json.dumps(key).encode()).digest()
        self._random = Random(int.from_bytes(digest))  # noqa: S311 - not for secrets

    def below(self, count: int) -> int:
        """Return a whole number from 0 to `count` - 1."""
        return int(self._random.random() * count)

    def pick(self, items: Sequence[T]) -> T:
        """Return one of some items; there must be one."""
        return items[self.below(len(items))]

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """Return the items in another order."""
        keyed = [(self._random.random(), position, item) for position, item in enumerate(items)]
        return [item for _, _, item in sorted(keyed, key=lambda each: each[:2])]
