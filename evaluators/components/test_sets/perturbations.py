"""Perturbations without a model: small changes of a question that leave its answer as it is."""

from __future__ import annotations

import re
import unicodedata
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from evaluators.outcome import Undefined
from evaluators.text.words import graphemes, unicode_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evaluators.components.test_sets.draws import Draws

VERSION: Final = 2
"""Increase it when the same seed and texts give other variants than before."""

WORDS_PER_TYPO: Final = 6
"""One word with a typo, and one more for each further so many words that may have one."""

DISTRACTORS: Final = (
    "My neighbour repainted her garden fence last spring.",
    "It has been raining here since the early morning.",
    "The coffee in this cup went cold half an hour ago.",
    "A friend of mine is learning to play the accordion.",
    "We are having pancakes for dinner tonight.",
    "The lift in our building is out of order again.",
    "I found an old photograph album in the attic.",
    "Somebody left a red umbrella on the bus.",
    "My sister's cat sleeps on top of the wardrobe.",
    "The bakery around the corner has a new sign.",
    "I am writing this on a very slow train.",
    "There is a chess tournament at the library this weekend.",
)
"""Sentences that have nothing to do with any question."""

# Letters with their marks.
_WORD = r"(?<!\w)(?:(?=\p{L})\X){4,}(?!\w)"
_MARKS = (
    "?!.,;:\u2026\u00bf\u00a1\u061f\u060c\u061b\u0964\u3002\u3001\uff1f\uff01\uff0c\uff1b\uff1a"
)
_SPACE = re.compile(r"\s+")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


class Variant(NamedTuple):
    """A variant of a question.

    Attributes:
        text: Its text, which differs from that of the question.
        edits: What was changed, for the person who reviews it.
    """

    text: str
    edits: tuple[str, ...]


def add_typos(text: str, draws: Draws) -> Variant:
    """Misspell one word in six: swap, drop or double a letter, or hit the key beside it.

    Each word has at most one typo, which changes the length by at most one letter; marks stay with
    their letter. First letters, names with digits, words of fewer than four letters and, if there
    are others, abbreviations stay.

    Raises:
        Undefined: No word has four letters.
    """
    words = list(unicode_pattern(_WORD).finditer(text))
    plain = [word for word in words if word[0][1:] == word[0][1:].lower()]
    candidates = draws.shuffled(plain or words)
    if not candidates:
        raise Undefined("no word has four letters")
    count = 1 + (len(candidates) - 1) // WORDS_PER_TYPO
    edits = []
    for word in sorted(candidates[:count], key=lambda word: word.start(), reverse=True):
        misspelt = _misspell(word[0], draws)
        text = text[: word.start()] + misspelt + text[word.end() :]
        edits.append(f"{word[0]} > {misspelt}")
    return Variant(text, tuple(reversed(edits)))


def change_case(text: str, draws: Draws) -> Variant:
    """Write all letters in upper case, or all in lower case; letters without the other case stay.

    Raises:
        Undefined: No letter changes.
    """
    options = []
    for name, convert in (("upper case", str.upper), ("lower case", str.lower)):
        changed = "".join(_with_case(letter, convert(letter)) for letter in text)
        if changed != text:
            options.append(Variant(changed, (name,)))
    if not options:
        raise Undefined("no letter has another case")
    return draws.pick(options)


def drop_punctuation(text: str, draws: Draws) -> Variant:  # noqa: ARG001 - one way only
    """Leave out sentence marks, but not those inside of words and numbers.

    Raises:
        Undefined: There is none, or nothing else.
    """
    kept, dropped = "", []
    for position, mark in enumerate(text):
        before, after = text[position - 1 : position], text[position + 1 : position + 2]
        is_inside = after.isdigit() or (_is_of_word(before) and after.isalnum())
        if mark in _MARKS and not is_inside:
            dropped.append(mark)
        else:
            kept += mark
    if not dropped or not kept.strip():
        raise Undefined("no punctuation mark can be left out")
    return Variant(kept, (f"without {' '.join(dropped)}",))


def change_whitespace(text: str, draws: Draws) -> Variant:
    """Double some of the spaces between the words, and add one before or after the text."""
    words = _SPACE.split(text.strip())
    gaps = ["  " if draws.below(2) else " " for _ in words[1:]]
    ends = ["", " "] if draws.below(2) else [" ", ""]
    if "  " not in gaps:
        ends = [" ", " "]
    joined = "".join(gap + word for gap, word in zip(["", *gaps], words, strict=True))
    changed = ends[0] + joined + ends[1]
    if changed == text:
        changed += " "
    return Variant(changed, ("whitespace",))


def add_distractor(text: str, draws: Draws, sentences: Sequence[str] = DISTRACTORS) -> Variant:
    """Put a sentence that has nothing to do with the question before or after it.

    Args:
        text: The question, which stays as it is.
        draws: Chooses the sentence and its place.
        sentences: The sentences to choose from.
    """
    sentence = draws.pick(sentences)
    changed = f"{sentence} {text}" if draws.below(2) else f"{text} {sentence}"
    return Variant(changed, (sentence,))


PERTURBATIONS: Mapping[str, Callable[[str, Draws], Variant]] = MappingProxyType(
    {
        "typos": add_typos,
        "case": change_case,
        "punctuation": drop_punctuation,
        "whitespace": change_whitespace,
        "distractor": add_distractor,
    }
)
"""The perturbations by kind."""


def _misspell(word: str, draws: Draws) -> str:
    """Return a word of at least four letters with one typo."""
    letters = graphemes(word)
    at = 1 + draws.below(len(letters) - 2)
    misspelt = draws.pick([_swap, _drop, _double, _hit_neighbour])(letters, at, draws)
    # Equal letters can be swapped, and letters of other scripts have no key.
    return "".join(_double(letters, at, draws) if misspelt == letters else misspelt)


def _swap(word: list[str], at: int, _: Draws) -> list[str]:
    return [*word[:at], word[at + 1], word[at], *word[at + 2 :]]


def _drop(word: list[str], at: int, _: Draws) -> list[str]:
    return word[:at] + word[at + 1 :]


def _double(word: list[str], at: int, _: Draws) -> list[str]:
    return word[: at + 1] + word[at:]


def _hit_neighbour(word: list[str], at: int, draws: Draws) -> list[str]:
    """Replace a letter by one beside it on an English keyboard; others have no neighbours."""
    for row in _ROWS:
        found = row.find(word[at].lower())
        if found >= 0:
            beside = row[max(found - 1, 0) : found] + row[found + 1 : found + 2]
            hit = draws.pick(beside)
            return [*word[:at], hit.upper() if word[at].isupper() else hit, *word[at + 1 :]]
    return word


def _is_of_word(character: str) -> bool:
    """Return whether it is a letter, a digit or a mark on one."""
    return character.isalnum() or unicodedata.category(character or " ").startswith("M")


def _with_case(letter: str, converted: str) -> str:
    """Return the converted letter, unless it became several or another letter (ß, İ)."""
    is_same = len(converted) == 1 and converted.casefold() == letter.casefold()
    return converted if is_same else letter
