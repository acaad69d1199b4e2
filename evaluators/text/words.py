"""Words as ROUGE sees them: those of its reference program, and those of any script."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

STEMMER = "nltk"
"""The distribution that stems: for `Evaluator.libraries`."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Scripts that are written without blanks: each character is a word. Ideographs with their
# extensions and compatibility forms, kana, and Thai, Lao, Khmer and Burmese letters stay runs.
_CHARACTER = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_BEYOND = "\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CHARACTER}{_BEYOND}]|(?:(?![{_CHARACTER}{_BEYOND}_])\w)+")
_UNSTEMMED = 3


def ascii_words(text: str, *, stem: bool = True) -> list[str]:
    """The words of the reference program of ROUGE: runs of a to z and 0 to 9, in lower case.

    Everything else separates words, letters with accents too. Words of more than three letters
    are cut to their Porter stem.
    """
    words = _ASCII_WORD.findall(text.lower())
    return list(map(_stem, words)) if stem else words


def unicode_words(text: str) -> list[str]:
    """The words of any script: runs of letters and digits, and each ideograph or kana alone.

    The text is brought to the form NFKC and case-folded first; nothing is stemmed.
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def is_mostly_ascii(text: str) -> bool:
    """Whether at least half of the letters of a text are ASCII letters (also when it has none)."""
    if text.isascii():
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(map(str.isascii, letters)) >= len(letters)


@cache
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem


@lru_cache(maxsize=2**17)
def _stem(word: str) -> str:
    return _porter()(word) if len(word) > _UNSTEMMED else word


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
