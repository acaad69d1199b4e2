"""Characters that cannot be seen are shown as escapes; what scripts and emoji need stays."""

from __future__ import annotations

import unicodedata

import pytest

from warehouse.foreign_text import appearance, show_hidden, show_hidden_line, twin_of

SEEN = [
    "plain text\n\twith ends of lines",
    "caf\u00e9 cafe\u0301",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian needs a non-joiner
    "\u0915\u094d\u200d\u0937",  # Hindi a joiner
    "\U0001f469\u200d\U0001f467 \u2764\ufe0f 1\ufe0f\u20e3",
    "\u5317\u4eac\u3000\u5168\u89d2",
    "2 000 km \u2014 \u00ab\u00a0oui\u00a0\u00bb",
]


@pytest.mark.parametrize("text", SEEN)
def test_what_can_be_seen_stays(text: str) -> None:
    assert show_hidden(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("\u200b", "\\u200b"),
        ("a\u200db", "a\\u200db"),
        ("\u00e9\u200d", "\u00e9\\u200d"),
        ("a\ufe0f", "a\\ufe0f"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u3164", "\\u3164"),
    ],
)
def test_what_cannot_be_seen_is_an_escape(text: str, shown: str) -> None:
    assert show_hidden(text) == shown


def test_every_format_character_and_control_is_an_escape() -> None:
    kept = {"\n", "\r", "\t"}
    # Signs of Arabic, Syriac, Kaithi and Egyptian have ink, though Unicode calls them controls.
    has_ink = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    has_ink |= {*range(0x13430, 0x13440)}
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co"}:
            if chr(code) in kept or code in has_ink:
                continue
            assert show_hidden(f"a{chr(code)}b").isascii(), hex(code)


def test_a_line_has_no_ends() -> None:
    assert show_hidden_line("a\nb\tc\r\u2028") == "a\\nb\\tc\\r\\u2028"


@pytest.mark.parametrize("name", ["A", "a ", " a", "a\u200b", "\ufeffa", "a\u00a0", "a\ufe0f"])
def test_names_that_look_like_a(name: str) -> None:
    assert appearance(name) == appearance("a")
    assert twin_of(name, ["b", "a"]) == "a"
    assert twin_of("a", ["a", "b"]) is None


def test_composed_and_decomposed_letters_look_alike() -> None:
    assert twin_of("cafe\u0301", ["cafe", "caf\u00e9"]) == "caf\u00e9"
    assert twin_of("cafe", ["caf\u00e9"]) is None
