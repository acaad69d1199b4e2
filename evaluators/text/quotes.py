"""Quotes: whether a judge's quotes occur in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.text.normalization import normalize_unicode

if TYPE_CHECKING:
    from collections.abc import Iterable


def occurs(quote: str, text: str) -> bool:
    """Return whether a quote occurs in a text, ignoring white space, case and compatibility forms.

    An empty quote occurs in no text.
    """
    wanted = _plain(quote)
    return bool(wanted) and wanted in _plain(text)


def quote_evidence(quotes: Iterable[str], text: str) -> list[dict[str, Any]]:
    """Return quotes as evidence; `unverified_quote` marks those that do not occur in the text."""
    return [
        {"text": quote} | ({} if occurs(quote, text) else {"unverified_quote": True})
        for quote in quotes
    ]


def _plain(text: str) -> str:
    return " ".join(normalize_unicode("NFKC", text).casefold().split())
