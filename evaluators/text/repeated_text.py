"""Repeats: the longest substring that occurs twice in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


_SHORT = 2000


@dataclass(frozen=True, slots=True)
class Repeat:
    """A substring, its first position, and its number of occurrences without overlaps."""

    text: str
    start: int
    count: int


def longest_repeat(text: str, shortest: int = 1) -> Repeat | None:
    """Find the longest substring that occurs twice without overlapping itself.

    In a short text each position is searched for a longer repeat than the best one so far. In a
    long one that would take the square of the length: since a text with a repeat of some length has
    repeats of every smaller length, the length is found by doubling and bisection. Substrings are
    not compared as texts there: each is named by the position of its first occurrence, and a
    substring of twice the length is a pair of names (Karp, Miller and Rosenberg, 1972).

    Args:
        text: Any text; lengths are code points.
        shortest: The smallest length that counts.

    Returns:
        The substring; the first of several equally long ones; None if there is no repeat.
    """
    good, start = _scan(text) if len(text) <= _SHORT else _bisect(text)
    if not good or good < shortest:
        return None
    piece = text[start : start + good]
    return Repeat(piece, start, text.count(piece))


def _scan(text: str) -> tuple[int, int]:
    """Return the length and the position of the longest repeat; see `longest_repeat`."""
    good, start = 0, 0
    for position in range(len(text)):
        end = position + good + 1
        if end + good + 1 > len(text):
            break
        while text.find(text[position:end], end) >= 0:
            good, start = good + 1, position
            end += 1
    return good, start


def _bisect(text: str) -> tuple[int, int]:
    """Return the length and the position of the longest repeat; see `longest_repeat`."""
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
    return good, start


def _names(pieces: Iterable[Hashable]) -> list[int]:
    """Name each substring by the position of its first occurrence."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(piece, position) for position, piece in enumerate(pieces)]


def _first_repeat(names: list[int], length: int) -> int | None:
    """Return the smallest position whose substring of this length occurs again after its end."""
    return min(
        (name for position, name in enumerate(names) if position - name >= length), default=None
    )
