"""Words and signs of many scripts, for the properties of text metrics."""

from __future__ import annotations

import unicodedata
from functools import cache

from hypothesis import strategies as st

SCRIPTS = {
    "Latin": (0x00C0, 0x024F),
    "Greek": (0x0370, 0x03FF),
    "Cyrillic": (0x0400, 0x04FF),
    "Armenian": (0x0531, 0x0587),
    "Hebrew": (0x0591, 0x05EA),
    "Arabic": (0x0610, 0x06D3),
    "Devanagari": (0x0900, 0x0963),
    "Bengali": (0x0980, 0x09F1),
    "Gurmukhi": (0x0A01, 0x0A75),
    "Gujarati": (0x0A81, 0x0AEF),
    "Tamil": (0x0B82, 0x0BEF),
    "Telugu": (0x0C00, 0x0C6F),
    "Kannada": (0x0C80, 0x0CEF),
    "Malayalam": (0x0D00, 0x0D6F),
    "Sinhala": (0x0D81, 0x0DF3),
    "Thai": (0x0E01, 0x0E4E),
    "Lao": (0x0E81, 0x0ECD),
    "Tibetan": (0x0F40, 0x0FBC),
    "Myanmar": (0x1000, 0x103F),
    "Georgian": (0x10D0, 0x10FA),
    "Ethiopic": (0x1200, 0x135A),
    "Khmer": (0x1780, 0x17D2),
    "Mongolian": (0x1820, 0x1878),
    "Hiragana": (0x3041, 0x3096),
    "Katakana": (0x30A1, 0x30FA),
    "Han": (0x4E00, 0x51FF),
    "Hangul": (0xAC00, 0xAEFF),
    "Deseret": (0x10400, 0x1044F),
}
"""The code points of scripts, with some that are neither letters nor marks."""

EMOJI = [
    *("😀", "😢", "👍", "👍🏽", "❤\ufe0f", "💔", "🇩🇪", "🇫🇷", "🇨🇦", "🇦🇨"),
    *(
        "👨\u200d👩\u200d👧",
        "👨\u200d👩\u200d👦",
        "🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3",
        "2\ufe0f\u20e3",
    ),
    *("#\ufe0f\u20e3", "*\ufe0f\u20e3", "✓", "✗", "→", "←"),
]
CURRENCIES = list("$€£¥₹₽₩₪₺฿৳₫")
SIGNS = list("+=<>%‰§°±\u00d7÷≠≤≥∞√∑∈©®^~&")
DIGITS = [*"0123456789", *"٠١٢٣٤٥٦٧٨٩", *"०१२३४५६७८९", *"๐๑๒๓๔๕๖๗๘๙", *"²³½¾Ⅳ"]


@cache
def words(script: str) -> st.SearchStrategy[str]:
    """Words of a script: a letter, then letters and their marks."""
    characters = [chr(code) for code in range(SCRIPTS[script][0], SCRIPTS[script][1] + 1)]
    letters = [each for each in characters if unicodedata.category(each).startswith("L")]
    marks = [each for each in characters if unicodedata.category(each).startswith("M")]
    rest = st.lists(st.sampled_from(letters) | st.sampled_from(marks or letters), max_size=5)
    return st.builds(lambda first, more: first + "".join(more), st.sampled_from(letters), rest)


@cache
def _pairs(script: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(words(script), words(script))


any_word = st.sampled_from(sorted(SCRIPTS)).flatmap(words)
two_words = st.sampled_from(sorted(SCRIPTS)).flatmap(_pairs)
"""Two words of one script."""

any_symbol = st.sampled_from([*EMOJI, *CURRENCIES, *SIGNS])


def folded(text: str) -> str:
    """The text without differences of case and compatibility."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", plain).replace("\ufe0f", "")
