"""Plain text: normalised characters, with a mapping to the original positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.text.normalization import normalize_unicode

if TYPE_CHECKING:
    from collections.abc import Sequence

# Zero width: soft hyphen, zero-width space and joiners, direction marks, word joiner, BOM.
_ZERO_WIDTH = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
_DASHES = "\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_PIECE = re.compile(r".[\u0300-\u036f\u3099\u309a]*", re.DOTALL)
_ZERO_WIDTH_CHARACTER = re.compile(f"[{_ZERO_WIDTH}]")
_DASH = re.compile(f"[{_DASHES}]")


@dataclass(frozen=True, slots=True)
class Plain:
    """A normalised text for detectors.

    Attributes:
        text: The text after NFKC normalisation, without zero-width characters; every dash is a
            hyphen and every no-break or figure space a space.
        origins: The original position of each character, and the original's length at the end; None
            if the two texts are equal.
    """

    text: str
    origins: Sequence[int] | None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the original positions of a part of `text`."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1 if end > start else start


def plain(text: str) -> Plain:
    """Normalise a text for detectors."""
    if text.isascii():
        return Plain(text, None)
    pieces: list[str] = []
    origins: list[int] = []
    for match in _PIECE.finditer(text):
        piece = match.group()
        if not piece.isascii():
            piece = _DASH.sub("-", normalize_unicode("NFKC", _ZERO_WIDTH_CHARACTER.sub("", piece)))
        pieces.append(piece)
        origins.extend([match.start()] * len(piece))
    return Plain("".join(pieces), [*origins, len(text)])


def plain_expr(text: pl.Expr) -> pl.Expr:
    """Normalise a column, without positions; used to rule out most texts quickly."""
    visible = text.str.replace_all(f"[{_ZERO_WIDTH}]", "").str.normalize("NFKC")
    dashed = visible.str.replace_all(f"[{_DASHES}]", "-")
    return pl.when(text.str.contains(r"[^\x00-\x7f]")).then(dashed).otherwise(text)
