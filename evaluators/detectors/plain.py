"""Plain text: look-alike characters replaced, with the way back to the original places."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

# Without width: soft hyphen, zero-width blank and joiners, marks of direction, word joiner, BOM.
_UNSEEN = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_DASHES = "\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_PIECE = re.compile(r".[\u0300-\u036f\u3099\u309a]*", re.DOTALL)
_UNSEEN_ONE = re.compile(f"[{_UNSEEN}]")
_DASH = re.compile(f"[{_DASHES}]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A text as detectors read it.

    Attributes:
        text: In the form NFKC, without characters that have no width; every dash is a hyphen and
            every no-break or figure space a blank.
        origins: The place in the original of each character, and the original's length at the
            end; None where the two are the same.
    """

    text: str
    origins: Sequence[int] | None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a piece of `text` stands in the original."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1 if end > start else start


def plain(text: str) -> Plain:
    """Prepare a text for detectors."""
    if text.isascii():
        return Plain(text, None)
    pieces: list[str] = []
    origins: list[int] = []
    for match in _PIECE.finditer(text):
        piece = match.group()
        if not piece.isascii():
            piece = _DASH.sub("-", unicodedata.normalize("NFKC", _UNSEEN_ONE.sub("", piece)))
        pieces.append(piece)
        origins.extend([match.start()] * len(piece))
    return Plain("".join(pieces), [*origins, len(text)])


def plain_expr(text: pl.Expr) -> pl.Expr:
    """The same for a column, without the places: for tests that rule most texts out quickly."""
    seen = text.str.replace_all(f"[{_UNSEEN}]", "").str.normalize("NFKC")
    dashed = seen.str.replace_all(f"[{_DASHES}]", "-")
    return pl.when(text.str.contains(r"[^\x00-\x7f]")).then(dashed).otherwise(text)
