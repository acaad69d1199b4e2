"""References: the expected answers of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

NON_BLANK = r"[^\s\x1c-\x1f]"
"""A Polars pattern of a character that Python's `str.strip` keeps. Rust's white space lacks the
four ASCII separators."""


def non_blank(texts: Iterable[str | None] | None) -> list[str]:
    """Return the texts that are not blank."""
    return [text for text in texts or () if text and text.strip()]


def numbered_alternatives(texts: Iterable[str | None] | None) -> str | dict[str, str]:
    """Return the distinct texts that are not blank, as a block of a prompt.

    Returns:
        A single text, or several texts by number from 1.
    """
    different = list(dict.fromkeys(non_blank(texts)))
    if len(different) == 1:
        return different[0]
    return {str(number): text for number, text in enumerate(different, start=1)}


def no_reference_reason() -> pl.Expr:
    """Return the reason where all expected answers are blank; null elsewhere."""
    has_text = pl.element().str.contains(NON_BLANK)
    some = pl.col("expected_answers").list.eval(has_text.fill_null(value=False)).list.any()
    return pl.when(~some).then(pl.lit("no expected answer with text"))
