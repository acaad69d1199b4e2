"""Unicode normalisation in linear time, whatever a text consists of.

Python's own sorts each run of combining marks by insertion: 64 KB of two marks in turns take
seconds, and block all threads meanwhile.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

# No combining mark is a word character, and only these two letters become one.
_LONG_RUN = re.compile("(?:[^\\w\\s\x00-\x7f]|[\uff9e\uff9f]){64,}")


def normalize_unicode(form: Form, text: str) -> str:
    """Return what `unicodedata.normalize` does."""
    if text.isascii():
        return text
    decomposition: Form = "NFKD" if form.startswith("NFK") else "NFD"
    return unicodedata.normalize(
        form, _LONG_RUN.sub(lambda run: _ordered(decomposition, run.group()), text)
    )


def _ordered(form: Form, text: str) -> str:
    """Decompose a text and bring its marks into canonical order, a stable sort by class."""
    parts = (part for each in text for part in unicodedata.normalize(form, each))
    return "".join(_sorted_marks(parts))


def _sorted_marks(characters: Iterator[str]) -> Iterator[str]:
    for is_mark, run in groupby(characters, lambda each: unicodedata.combining(each) > 0):
        listed = list(run)
        yield from sorted(listed, key=unicodedata.combining) if is_mark else listed
