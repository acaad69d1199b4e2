"""References: the expected answers that a text can be held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

NON_BLANK = r"[^\s\x1c-\x1f]"
"""A character that Python's `str.strip` leaves standing, as a pattern of Polars: Rust does not
count the four separators as blanks."""


def non_blank(texts: Iterable[str | None] | None) -> list[str]:
    """Those of some texts that are not blank."""
    return [text for text in texts or () if text and text.strip()]


def numbered_alternatives(texts: Iterable[str | None] | None) -> str | dict[str, str]:
    """The different texts that are not blank, as a block of a prompt.

    Returns:
        The text, or several by their number from 1.
    """
    different = list(dict.fromkeys(non_blank(texts)))
    if len(different) == 1:
        return different[0]
    return {str(number): text for number, text in enumerate(different, start=1)}


def no_reference_reason() -> pl.Expr:
    """The reason that all expected answers are blank; null where one is not."""
    has_text = pl.element().str.contains(NON_BLANK)
    some = pl.col("expected_answers").list.eval(has_text.fill_null(value=False)).list.any()
    return pl.when(~some).then(pl.lit("no expected answer with text"))
