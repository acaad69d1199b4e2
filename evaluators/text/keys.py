"""Keys of sentences, passages and claims: short names that a judge can point at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(number: int) -> str:
    """The name of a position, counted from 0: a, b, ..., z, aa, ab, ... (bijective base 26)."""
    name = ""
    rest = number + 1
    while rest:
        rest, place = divmod(rest - 1, len(_ALPHABET))
        name = _ALPHABET[place] + name
    return name


def sentence_keys(passages: Iterable[str]) -> dict[str, str]:
    """The sentences of passages by key: `0a`, `0b`, ... of the first, `1a`, ... of the second."""
    return {
        f"{number}{letters(place)}": sentence
        for number, passage in enumerate(passages)
        for place, sentence in enumerate(sentences(passage))
    }


def answer_keys(text: str) -> dict[str, str]:
    """The sentences of one text by key: `a`, `b`, ..."""
    return {letters(place): sentence for place, sentence in enumerate(sentences(text))}


def passage_keys(passages: Sequence[str]) -> dict[str, str]:
    """Passages by key: `c0` is the best one; blank ones are left out but counted."""
    return {f"c{number}": text for number, text in enumerate(passages) if text.strip()}
