"""Words and n-grams: the words of ROUGE's reference implementation, and words of any script."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from evaluators.text.nltk_parts import import_part
from evaluators.text.normalization import normalize_unicode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

STEMMER = "nltk"
"""The distribution of the stemmer, for `Evaluator.libraries`."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# In scripts without spaces, each character is a word: ideographs with their extensions and
# compatibility forms, and kana. Thai, Lao, Khmer and Burmese letters form runs.
_CHARACTER = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_BEYOND = "\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CHARACTER}{_BEYOND}]|(?:(?![{_CHARACTER}{_BEYOND}_])\w)+")
_UNSTEMMED = 3
# CJK punctuation and full-width forms are tokens of their own, as in sacrebleu's `zh`.
_CJK_MARKS = "\u3000-\u303f\uff00-\uffef"
# Thai, Lao, Burmese and Khmer are written without spaces too.
_SOUTH_EAST = [
    chr(code) for code in (*range(0xE00, 0xF00), *range(0x1000, 0x10A0), *range(0x1780, 0x1800))
]
_LETTERS = "".join(each for each in _SOUTH_EAST if unicodedata.category(each) == "Lo")
_SIGNS = "".join(each for each in _SOUTH_EAST if unicodedata.category(each).startswith("M"))
_ALONE = re.compile(rf"[{_CHARACTER}{_BEYOND}{_CJK_MARKS}]|[{_LETTERS}][{_SIGNS}]*")


def ascii_words(text: str, *, stem: bool = True) -> list[str]:
    """Return words as ROUGE's reference implementation: runs of a-z and 0-9, in lower case.

    All other characters separate words, even accented letters. Words of more than three letters are
    reduced to their Porter stem.
    """
    words = _ASCII_WORD.findall(text.lower())
    return list(map(_stem, words)) if stem else words


def unicode_words(text: str) -> list[str]:
    """Return words of any script: runs of letters and digits, and single ideographs and kana.

    The text is normalised (NFKC) and case-folded first; there is no stemming.
    """
    return _WORD.findall(normalize_unicode("NFKC", text).casefold())


def space_characters(text: str) -> str:
    """Put spaces around each character of a script that is written without spaces.

    So a tokenizer for English gives ideographs, kana, and letters of Thai, Lao, Burmese and Khmer
    one by one. Combining signs stay with their letter. Texts in other scripts stay as they are.

    Source: sacrebleu's tokens `zh`, extended to the other scripts.
    """
    return text if text.isascii() else _ALONE.sub(r" \g<0> ", text)


def is_mostly_ascii(text: str) -> bool:
    """Return whether at least half of a text's letters are ASCII (true for no letters)."""
    if text.isascii():
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(map(str.isascii, letters)) >= len(letters)


@cache
def _porter() -> Callable[[str], str]:
    stem: Callable[[str], str] = import_part("nltk.stem.porter").PorterStemmer().stem
    return stem


@lru_cache(maxsize=2**17)
def _stem(word: str) -> str:
    return _porter()(word) if len(word) > _UNSTEMMED else word


Counts: TypeAlias = Counter[Hashable]


def ngrams(words: Sequence[str], order: int) -> Iterable[Hashable]:
    """Return all n-grams of `order` consecutive words, in the order of the text."""
    if order == 1:
        return words
    return zip(*(words[start:] for start in range(order)), strict=False)


def ngram_counts(words: Sequence[str], order: int) -> Counts:
    """Count the n-grams of `order` consecutive words."""
    return Counter(ngrams(words, order))


def matches(words: Sequence[str], order: int, reference: Counts) -> int:
    """Count the n-grams that a text shares with a reference, each at most as often as there."""
    found = Counter(filter(reference.__contains__, ngrams(words, order)))
    return sum(map(min, found.values(), map(reference.__getitem__, found)))
