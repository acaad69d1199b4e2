"""Words and n-grams: the words of any text, and those of ROUGE's reference implementation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from evaluators.text.normalization import normalize_unicode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from regex import Pattern

STEMMER = "nltk"
"""The distribution of the stemmer, for `Evaluator.libraries`."""

SEGMENTER = "regex"
"""The distribution with Unicode's properties and graphemes, for `Evaluator.libraries`."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_UNSTEMMED = 3

# Ideographs, kana, Yi, and the scripts of Unicode's line breaking class SA (Thai, Lao, Khmer,
# Myanmar and others), which are written without spaces.
_SPACELESS = (
    r"[\u4e00-\u9fff[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Yiii}\p{LB=SA}]&&\p{Alphabetic}]]"
)
_RUN = r"[\p{Alphabetic}\p{M}\p{N}]"
_SYMBOL = r"[\p{S}\p{Co}\p{Cn}%&\u00a7\u0609\u060a\u066a\u2030-\u2034\u2057--[`|]]"
# Signs that are words in some places only: those of Markdown where they cannot be markup, the
# slash and the hyphen as signs of numbers.
_SIGN = r"[-\u2013](?<![\w)\]].)(?=[.,]?\d|[$+<=>^~\u0080-\U0010ffff])"
_PLACED = rf"""
      [\#@](?=\w) | (?<=\w)\# | (?<=[\w)])\*(?=\*?[\w(]) | (?<=[\w)]\*)\*(?=[\w(])
    | (?<=\w\s)\*(?=\s\w) | (?<=\w)\|(?=\w) | \|(?=\|) | (?<=\|)\|
    | (?<=\d)/(?=\d) | (?<=\d\s)/(?=\s\d) | {_SIGN}
"""
# In a long series of these, `\X` would look for its beginning again and again.
_FLAG = r"[\U0001f1e6-\U0001f1ff]{2}"
_WORDS = rf"""
      [a-z0-9]++(?!{_RUN}) | {_SPACELESS}\p{{M}}*+ | [{_RUN}--{_SPACELESS}]++ | {_FLAG}
    | (?![\s.,;:!?'"()]) (?={_SYMBOL}|[\#*]\u20e3|{_PLACED})\X
"""
_ASCII_WORDS = rf"[a-z0-9]+ | [$%&+<=>^~] | {_PLACED}"
# Without one of these, and without a sign of a number, the words of a text are its runs.
_ASCII_SPECIAL = b"$%&+<=>^~#@*/|"
_SPECIAL = (
    rf"[\p{{S}}\p{{C}}\p{{No}}{_SPACELESS}%&\#@*/|\u00a7\u034f\u0609\u060a\u066a\u180b-\u180f"
    r"\u200c-\u200f\u2030-\u2034\u2057\ufe00-\ufe6f\uff00-\uffef\U000e0100-\U000e01ef]"
)
# Characters that NFKC would fuse with the letters and digits beside them (10² is not 102). Digits
# below the line stay: H₂O is H2O.
_COMPATIBLE = (
    r"[[\p{No}\p{So}]&&[\u00b2-\u00be\u2070-\u218f\u2460-\u24ff\u3200-\u33ff"
    r"\U0001f100-\U0001f1ad\U0001f200-\U0001f251]--[\u2080-\u2089]]"
)
# Characters that say how a text looks or joins, not what it says.
_INVISIBLE = (
    r"[\u00ad\u034f\u061c\u180b-\u180f\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\U000e0100-\U000e01ef]|(?<=[\p{L}\p{M}])[\u200c\u200d]"
)
# CJK punctuation and full-width forms are tokens of their own, as in sacrebleu's `zh`.
_ALONE = rf"[\u3000-\u303f\uff00-\uffef]|{_SPACELESS}\p{{M}}*+"


def compose(text: str) -> str:
    """Return the composed form (NFC), in which equal letters have equal code points."""
    return normalize_unicode("NFC", text)


def words(text: str) -> list[str]:
    """Split a text into words and symbols, by one rule for all scripts.

    A word is a run of letters and digits with their marks, as in Unicode's rule for words (UAX 29),
    except that punctuation always ends it ("don't" is two words), as in ROUGE. In scripts that are
    written without spaces each grapheme is a word. Symbols are words of their own: signs, currency,
    operators, emoji. Punctuation is none.

    Args:
        text: A text in composed form and one case.
    """
    return _split(text, is_special=_is_special(text))


def unicode_words(text: str, *, stem: bool = False) -> list[str]:
    """Return the words and symbols of a text, whatever its case and compatibility forms.

    The text is normalised (NFKC) and case-folded first; see `words`. In a text without words and
    symbols each punctuation mark is a word. On request, ASCII words of more than three letters are
    reduced to their Porter stem.
    """
    is_special = _is_special(text)
    folded = text
    if not text.isascii():
        if is_special:
            folded = unicode_pattern(_COMPATIBLE).sub(r" \g<0> ", text.replace("\u00b4", "'"))
            folded = unicode_pattern(_INVISIBLE).sub("", folded)
        folded = normalize_unicode("NFKC", folded).casefold().replace("\u2044", "/")
    found = _split(compose(folded.lower()), is_special=is_special)
    # Texts of marks, or of characters that cannot be seen.
    found = found or unicode_pattern(r"(?=\S)\X").findall(folded) or text.split()
    return list(map(_stem, found)) if stem else found


def _is_special(text: str) -> bool:
    """Return whether a text may have words besides runs of letters, marks and digits."""
    if ("-" in text or "\u2013" in text) and _number_sign().search(text):
        return True
    if text.isascii():
        data = text.encode()
        return len(data.translate(None, _ASCII_SPECIAL)) < len(data)
    return unicode_pattern(_SPECIAL).search("".join(set(text))) is not None


def _split(text: str, *, is_special: bool) -> list[str]:
    if text.isascii():
        found = (_ascii_words() if is_special else _ASCII_WORD).findall(text)
    else:
        found = unicode_pattern(_WORDS if is_special else _RUN + "+").findall(text)
        if "\u2212" in text or "\u2013" in text:  # one sign for all forms of minus
            found = ["-" if word in {"\u2212", "\u2013"} else word for word in found]
    return found


def graphemes(text: str) -> list[str]:
    """Split a text into what readers see as characters: letters with their marks, emoji."""
    return list(text) if text.isascii() else unicode_pattern(r"\X").findall(text)


def ascii_words(text: str, *, stem: bool = True) -> list[str]:
    """Return words as ROUGE's reference implementation: runs of a-z and 0-9, in lower case.

    All other characters separate words, even accented letters. Words of more than three letters are
    reduced to their Porter stem.
    """
    found = _ASCII_WORD.findall(text.lower())
    return list(map(_stem, found)) if stem else found


def space_characters(text: str) -> str:
    """Put spaces around each grapheme of a script that is written without spaces.

    So a tokenizer for English gives ideographs, kana, and letters of Thai, Lao, Burmese and Khmer
    one by one. Combining signs stay with their letter. Texts in other scripts stay as they are.

    Source: sacrebleu's tokens `zh`, extended to the other scripts.
    """
    return text if text.isascii() else unicode_pattern(_ALONE).sub(r" \g<0> ", text)


@cache
def _number_sign() -> re.Pattern[str]:
    return re.compile(_SIGN)


@cache
def _ascii_words() -> re.Pattern[str]:
    return re.compile(_ASCII_WORDS, re.ASCII | re.VERBOSE)


@cache
def unicode_pattern(source: str) -> Pattern[str]:
    """Compile a pattern with Unicode's properties and graphemes (`regex`, verbose)."""
    import regex

    return regex.compile(source, regex.VERSION1 | regex.VERBOSE)


@cache
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer

    stem: Callable[[str], str] = PorterStemmer().stem
    return stem


@lru_cache(maxsize=2**17)
def _stem(word: str) -> str:
    return _porter()(word) if len(word) > _UNSTEMMED and word.isascii() else word


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
