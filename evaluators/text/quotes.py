"""Quotes: whether what a judge says that a text says stands in that text."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def occurs(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, white space, compatibility forms and case apart.

    An empty quote stands in no text.
    """
    wanted = _plain(quote)
    return bool(wanted) and wanted in _plain(text)


def quote_evidence(quotes: Iterable[str], text: str) -> list[dict[str, Any]]:
    """Quotes as evidence: `unverified_quote` marks those that do not stand in the text."""
    return [
        {"text": quote} | ({} if occurs(quote, text) else {"unverified_quote": True})
        for quote in quotes
    ]


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
