"""Quotes: found whatever their white space and case, and marked where they are not found."""

from __future__ import annotations

import pytest

from evaluators.text.quotes import occurs, quote_evidence

TEXT = "The  Ferry\nleaves at ① o'clock. Straße."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("the ferry leaves", True),
        (" ferry\tleaves ", True),
        ("at 1 o'clock", True),
        ("STRASSE", True),
        ("the bus leaves", False),
        ("ferryleaves", False),
        ("", False),
        (" \n", False),
    ],
)
def test_occurrence(quote: str, found: bool) -> None:
    assert occurs(quote, TEXT) is found


def test_what_is_not_found_is_marked() -> None:
    assert quote_evidence(["Ferry", "bus"], TEXT) == [
        {"text": "Ferry"},
        {"text": "bus", "unverified_quote": True},
    ]
