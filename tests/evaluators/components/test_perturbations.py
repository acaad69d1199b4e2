"""Perturbations without a model: what they may change, what they leave, and that they repeat."""

from __future__ import annotations

import hashlib
import unicodedata
from difflib import SequenceMatcher
from random import Random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evaluators.components.test_sets import perturbations
from evaluators.components.test_sets.draws import Draws
from evaluators.components.test_sets.perturbations import (
    DISTRACTORS,
    PERTURBATIONS,
    WORDS_PER_TYPO,
    Variant,
    add_distractor,
    add_typos,
    change_case,
    change_whitespace,
    drop_punctuation,
)
from evaluators.outcome import Undefined

FERRY = "When does the last ferry to the island sail, and from which pier?"
HEBREW = "מתי יוצאת המעבורת האחרונה אל האי?"
TEXTS = st.one_of(
    st.sampled_from(
        [
            FERRY,
            HEBREW,
            "東京は大きいですか\uff1f",
            "Wie heißt die Straße in İzmir?",
            "e\u0301te\u0301",
            "दिन में किताबें पढ़ना कैसा है?",
            "מָתַי יוֹצֵאת הַמַּעְבּוֹרֶת?",
        ]
    ),
    st.text(min_size=1, max_size=60),
    st.lists(st.sampled_from(["ferry", "NASA", "Ünïcode", "42", "it", "اللغة", "a.b"])).map(
        " ".join
    ),
).filter(str.strip)
SEEDS = st.integers(0, 1000)
WORD = r"(?:(?=\p{L})\X){4,}"


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", text)


def variant(kind: str, text: str, seed: int) -> Variant | None:
    try:
        return PERTURBATIONS[kind](text, Draws(seed, kind, text))
    except Undefined:
        return None


@given(text=TEXTS, seed=SEEDS, kind=st.sampled_from(list(PERTURBATIONS)))
def test_every_variant_differs_says_how_and_repeats(text: str, seed: int, kind: str) -> None:
    made = variant(kind, text, seed)
    assert made == variant(kind, text, seed)
    if made is not None:
        assert made.text != text
        assert made.text.strip()
        assert made.edits


@given(text=TEXTS, seed=SEEDS)
def test_a_typo_changes_one_letter_of_a_word_and_its_length_by_one_at_most(
    text: str, seed: int
) -> None:
    made = variant("typos", text, seed)
    words = [word for word in regex.findall(r"\w+", text) if regex.fullmatch(WORD, word)]
    if made is None:
        assert not words
        return
    assert 1 <= len(made.edits) <= 1 + (len(words) - 1) // WORDS_PER_TYPO
    assert abs(len(graphemes(made.text)) - len(graphemes(text))) <= len(made.edits)
    for edit in made.edits:
        word, misspelt = edit.split(" > ")
        assert word in words
        one, other = graphemes(word), graphemes(misspelt)
        assert one[0] == other[0]
        blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
        assert sum(block.size for block in blocks) >= len(one) - 1
    # What is not a letter with its marks stays, in its order.
    left = [regex.sub(r"\p{L}\p{M}*", "", each) for each in (made.text, text)]
    assert left[0] == left[1]


@pytest.mark.parametrize("seed", range(30))
def test_typos_spare_numbers_short_words_and_abbreviations(seed: int) -> None:
    text = "Did the NASA probe of 1977, v2beta, pass it?"
    made = add_typos(text, Draws(seed))
    assert len(made.edits) == 1
    assert made.edits[0].partition(" > ")[0] in {"probe", "pass"}
    assert add_typos("NASA", Draws(seed)).text != "NASA"


def test_one_word_in_six_has_a_typo() -> None:
    words = " ".join(["ferry", "leaves", "island", "harbour", "morning", "ticket"] * 2)
    assert len(add_typos(words, Draws(1)).edits) == 2
    assert len(add_typos(f"{words} luggage", Draws(1)).edits) == 3


@given(text=TEXTS, seed=SEEDS)
def test_case_changes_nothing_but_case(text: str, seed: int) -> None:
    made = variant("case", text, seed)
    if made is None:
        letters = [letter for letter in text if len(letter.swapcase()) == 1]
        assert all(
            letter.swapcase() == letter or letter.swapcase().casefold() != letter.casefold()
            for letter in letters
        )
    else:
        assert made.text.casefold() == text.casefold()
        assert len(made.text) == len(text)


def test_both_cases_are_drawn_and_special_letters_stay() -> None:
    made = {change_case("Straße in İzmir", Draws(seed)) for seed in range(20)}
    assert made == {
        Variant("STRAßE IN İZMIR", ("upper case",)),
        Variant("straße in İzmir", ("lower case",)),
    }
    with pytest.raises(Undefined, match="no letter has another case"):
        change_case(HEBREW, Draws(0))


@given(text=TEXTS, seed=SEEDS)
def test_punctuation_is_the_only_thing_that_is_left_out(text: str, seed: int) -> None:
    made = variant("punctuation", text, seed)
    if made is not None:
        left = iter(text)
        assert all(mark in left for mark in made.text)
        removed = len(text) - len(made.text)
        assert removed == len(made.edits[0].removeprefix("without ").split(" "))
        marks = made.edits[0].removeprefix("without ").split(" ")
        assert all(unicodedata.category(mark).startswith("P") for mark in marks)


def test_marks_inside_of_words_and_numbers_stay() -> None:
    made = drop_punctuation("Is 3.5, or .5, more than a.m. at 10:30; isn't it?", Draws(0))
    assert made.text == "Is 3.5 or .5 more than a.m at 10:30 isn't it"
    with pytest.raises(Undefined):
        drop_punctuation("?!", Draws(0))
    with pytest.raises(Undefined):
        drop_punctuation("no marks", Draws(0))


@given(text=TEXTS, seed=SEEDS)
def test_whitespace_leaves_the_words(text: str, seed: int) -> None:
    assert change_whitespace(text, Draws(seed)).text.split() == text.split()


@given(text=TEXTS, seed=SEEDS)
def test_a_distractor_keeps_the_original_text(text: str, seed: int) -> None:
    made = add_distractor(text, Draws(seed))
    (sentence,) = made.edits
    assert sentence in DISTRACTORS
    assert made.text in {f"{sentence} {text}", f"{text} {sentence}"}
    assert add_distractor(text, Draws(seed), ["Own."]).edits == ("Own.",)


def test_draws_follow_from_random_alone() -> None:
    # `random` is the only method whose sequence Python keeps from version to version.
    known = Random(int.from_bytes(hashlib.sha256(b'[7, "typos"]').digest(), "big"))
    draws = Draws(7, "typos")
    assert [draws.below(10) for _ in range(9)] == [int(known.random() * 10) for _ in range(9)]
    keyed = {letter: known.random() for letter in "abcde"}
    assert draws.shuffled("abcde") == sorted("abcde", key=lambda letter: keyed[letter])


def test_seeds_give_different_variants() -> None:
    for kind in ("typos", "whitespace", "distractor"):
        assert len({variant(kind, FERRY, seed) for seed in range(20)}) > 5, kind
    assert perturbations.VERSION == 2
