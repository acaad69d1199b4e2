"""Repeats: the longest piece of a text that stands in it twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


@dataclass(frozen=True, slots=True)
class Repeat:
    """A piece of a text, where it first stands, and how often it occurs without overlapping."""

    text: str
    start: int
    count: int


def longest_repeat(text: str, shortest: int = 1) -> Repeat | None:
    """The longest piece that occurs twice without overlapping itself.

    A text with a repeat of some length has one of every smaller length, so the length is found by
    doubling it and then halving the gap. Pieces are not compared as texts: each gets the position
    at which it first occurs as its name, and a piece of twice the length is a pair of names
    (Karp, Miller and Rosenberg, 1972).

    Args:
        text: Any text; lengths are code points.
        shortest: The smallest length that counts.

    Returns:
        The piece; the one that starts first where several are equally long; None if there is none.
    """
    names = _names(text)
    length, half, halves = 1, 0, names
    good, start = 0, 0
    while (found := _first_repeat(names, length)) is not None:
        good, start = length, found
        half, halves = length, names
        names = _names(zip(names, names[length:], strict=False))
        length *= 2
    bad = length
    while good and good + 1 < bad:
        length = (good + bad) // 2
        # Here the two parts of a piece, each of length `half`, overlap.
        names = _names(zip(halves, halves[length - half :], strict=False))
        found = _first_repeat(names, length)
        if found is None:
            bad = length
        else:
            good, start = length, found
    if not good or good < shortest:
        return None
    piece = text[start : start + good]
    return Repeat(piece, start, text.count(piece))


def _names(pieces: Iterable[Hashable]) -> list[int]:
    """Name each piece by the position at which one like it first stands."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(piece, position) for position, piece in enumerate(pieces)]


def _first_repeat(names: list[int], length: int) -> int | None:
    """The smallest position whose piece of this length occurs again behind its end."""
    return min(
        (name for position, name in enumerate(names) if position - name >= length), default=None
    )
