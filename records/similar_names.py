"""Hints at similar names, for names that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MIN_SIMILARITY: Final = 60
"""The least similarity of a hint, in percent."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the most similar option, or an empty text."""
    from rapidfuzz import fuzz, process

    choices = list(options)  # of a mapping `extractOne` would compare the values
    best = process.extractOne(name, choices, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY)
    return f" (did you mean {best[0]!r}?)" if best else ""


def most_similar(name: str, options: Iterable[str], count: int) -> list[str]:
    """Return the most similar options, at most so many, the best first, equal ones by name."""
    from rapidfuzz import fuzz

    return sorted(sorted(options), key=lambda each: -fuzz.ratio(name, each))[:count]
