"""Sentences: the one place where a text is cut into them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SPLITTER = "sentencex"
"""The distribution whose release decides where sentences end: for `Evaluator.libraries`."""

_SHORT = 10
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*")


def sentences(text: str, language: str = "en") -> list[str]:
    """Cut a text into sentences with sentencex, the splitter of the Wikimedia Foundation.

    Args:
        text: Any text.
        language: Its code (`en`, `de`, `zh`); sentencex falls back to rules that hold for most
            languages where it has none of its own.

    Returns:
        The sentences in their order, without the blanks around them; none of them is empty.
    """
    from sentencex import segment

    return [piece for part in segment(language, text) if (piece := part.strip())]


def long_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of more than ten characters: headings, numbers and "Yes." say too little."""
    return [sentence for sentence in sentences(text, language) if len(sentence) > _SHORT]


def comparable_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of more than ten characters; where there are none, the whole text as one."""
    whole = text.strip()
    return long_sentences(text, language) or ([whole] if whole else [])


def check_language(language: str) -> None:
    """Refuse what is no language code.

    Raises:
        ValueError: For anything but a code in lower case, such as `en` or `zh-hant`.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ValueError(f"language: expected a code such as 'en' or 'zh', got {language!r}")


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
