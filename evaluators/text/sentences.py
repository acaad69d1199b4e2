"""Sentences: splitting texts, and keys for sentences and passages in prompts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SPLITTER = "sentencex"
"""The distribution of the sentence splitter, for `Evaluator.libraries`."""

_MIN_LENGTH = 10
_PARAGRAPH = re.compile(r"(?s:.+?)(?:\n{2,}|\Z)")
_WINDOW, _LONGEST = 4000, 16_000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


def sentences(text: str, language: str = "en") -> list[str]:
    """Split a text into sentences with sentencex of the Wikimedia Foundation.

    Args:
        text: Any text.
        language: The language code (`en`, `de`, `zh`); sentencex uses general rules for other
            languages.

    Returns:
        The sentences in their order, stripped; none of them is empty. One of more than 16,000
        characters is cut.
    """
    return [
        piece
        for paragraph in _PARAGRAPH.findall(text)
        for part in _parts(paragraph, language)
        if (piece := part.strip())
    ]


def _parts(paragraph: str, language: str) -> Iterator[str]:
    """Yield the sentences of a paragraph with the spaces between them.

    The time of sentencex grows with the square of a paragraph (64 KB of Chinese take seconds), so a
    long one is split window by window. The last sentence of a window begins the next one.
    """
    from sentencex import segment

    start, size = 0, _WINDOW
    while len(paragraph) - start > size:
        parts = segment(language, paragraph[start : start + size])
        if len(parts) == 1 and size < _LONGEST:
            size *= 2
            continue
        complete = parts[:-1] or parts
        yield from complete
        start, size = start + sum(map(len, complete)), _WINDOW
    yield from segment(language, paragraph[start:])


def long_sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of more than ten characters, without headings, numbers and "Yes."."""
    return [sentence for sentence in sentences(text, language) if len(sentence) > _MIN_LENGTH]


def comparable_sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of more than ten characters or, if there are none, the whole text."""
    whole = text.strip()
    return long_sentences(text, language) or ([whole] if whole else [])


def check_language(language: str) -> None:
    """Validate a language code.

    Raises:
        ValueError: It is not a code in lower case, such as `en` or `zh-hant`.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ValueError(f"language: expected a code such as 'en' or 'zh', got {language!r}")


_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def letters(number: int) -> str:
    """Return the name of a position from 0: a, b, ..., z, aa, ab, ... (bijective base 26)."""
    name = ""
    rest = number + 1
    while rest:
        rest, position = divmod(rest - 1, len(_ALPHABET))
        name = _ALPHABET[position] + name
    return name


def sentence_keys(passages: Iterable[str]) -> dict[str, str]:
    """Return the sentences of passages by key: `0a`, `0b`, ..., then `1a`, ..."""
    return {
        f"{number}{letters(position)}": sentence
        for number, passage in enumerate(passages)
        for position, sentence in enumerate(sentences(passage))
    }


def answer_keys(text: str) -> dict[str, str]:
    """Return the sentences of one text by key: `a`, `b`, ..."""
    return {letters(position): sentence for position, sentence in enumerate(sentences(text))}


def passage_keys(passages: Sequence[str]) -> dict[str, str]:
    """Return passages by key: `c0` is the best one; blank ones are left out but counted."""
    return {f"c{number}": text for number, text in enumerate(passages) if text.strip()}
