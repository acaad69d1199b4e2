"""Words: worked cases, one rule on both paths, and time that grows with the length of the text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.text.words import ascii_words, graphemes, unicode_words, words

SIGNS = ("a", "b2", "5", " ", "\n", *"$%&+<=>^~#@*/|-_.,;:!?'\"()[]`\\")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop: 3.14, e-mail; U.S.", "don t stop 3 14 e mail u s"),
        ("C++ and C#, F# or .NET", "c + + and c # f # or net"),
        ("-5 to 10 (not 3-5, not - 5)", "- 5 to 10 not 3 5 not 5"),
        ("\u22125 °C, \u201110", "- 5 ° c 10"),
        ("**bold**, *it*, # Title, | a | b |, `x`, > y", "bold it title a b x > y"),
        ("2*3 = 2 * 3, a|b, x || y, 3/4 km/h", "2 * 3 = 2 * 3 a | b x | | y 3 / 4 km h"),
        ("10² ½ H₂O ℃ №5 ﬁne", "10 2 1 / 2 h2o ° c no 5 fine"),
        ("STRASSE Straße", "strasse strasse"),
        ("دَرَسَ الطَّالِبُ", "دَرَسَ الطَّالِبُ"),
        ("दिन में किताब।", "दिन में किताब"),
        ("北京は\uff05東京", "北 京 は % 東 京"),
        ("か\u3099", "が"),
        ("น้ำใจ", "น้ํ า ใ จ"),
        ("👨\u200d👩\u200d👧🇨🇦👍🏽1\ufe0f\u20e3", "👨\u200d👩\u200d👧 🇨🇦 👍🏽 1\u20e3"),
        ("Donau\u00addampf \u200eשלמה\u200f", "donaudampf שלמה"),
        ("… !", ". . . !"),
        (" \n\t", ""),
        ("", ""),
    ],
)
def test_worked_cases(text: str, expected: str) -> None:
    assert unicode_words(text) == expected.split()


def test_stems_are_those_of_ascii_words() -> None:
    assert unicode_words("Running rivières policies", stem=True) == ["run", "rivières", "polici"]


def test_words_keep_case_and_have_no_marks_alone() -> None:
    assert words("été snake_case — \uff15 €") == ["été", "snake", "case", "\uff15", "€"]
    assert words("— …") == []


def test_graphemes_are_characters_with_their_marks() -> None:
    assert graphemes("नि\u00e9e\u0301x") == ["नि", "\u00e9", "e\u0301", "x"]


@given(text=st.lists(st.sampled_from(SIGNS), max_size=12).map("".join))
def test_ascii_texts_have_the_same_words_on_both_paths(text: str) -> None:
    found = words(text)
    assert words(f"{text}. é") == [*found, "é"]


@given(text=st.text(alphabet=st.sampled_from("abYZ019 \n.,;:!?'\"()[]{}_\\`"), max_size=40))
def test_ascii_words_are_those_of_rouge_score(text: str) -> None:
    plain = ascii_words(text, stem=False)
    if plain:
        assert unicode_words(text) == plain
        assert unicode_words(text, stem=True) == ascii_words(text)


FAMILIES = [
    *(
        "a",
        "a ",
        "é",
        "é ",
        "-5",
        "*",
        "a*",
        "|",
        "/5",
        "#",
        "$",
        "( ",
        "北",
        "か\u3099",
        "ก็",
        "क्ष",
    ),
    *("\u0301", "a\u0301", "😀", "👨\u200d", "🇩", "\u200b", "\ufe0f", "½", "\uff11", "℃", "-.,5"),
]


def seconds(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        unicode_words(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("piece", FAMILIES)
def test_the_time_is_linear_in_the_length(piece: str) -> None:
    small, large = (f"é {piece * (size // len(piece))}" for size in (4_096, 32_768))
    # Eight times the text; a quadratic split would take 64 times as long.
    assert seconds(large) < 24 * seconds(small) + 0.01
