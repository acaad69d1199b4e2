"""N-grams: how often each series of neighbouring words occurs, and how many two texts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Counts: TypeAlias = Counter[Hashable]


def ngrams(words: Sequence[str], order: int) -> Iterable[Hashable]:
    """Every series of `order` neighbouring words, in the order of the text."""
    if order == 1:
        return words
    return zip(*(words[start:] for start in range(order)), strict=False)


def ngram_counts(words: Sequence[str], order: int) -> Counts:
    """How often each series of `order` neighbouring words occurs."""
    return Counter(ngrams(words, order))


def matches(words: Sequence[str], order: int, reference: Counts) -> int:
    """How many n-grams of a text are also in a reference, none counted more often than there."""
    found = Counter(filter(reference.__contains__, ngrams(words, order)))
    return sum(map(min, found.values(), map(reference.__getitem__, found)))
