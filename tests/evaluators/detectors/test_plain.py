"""Plain text: what look-alike characters become, and the way back."""

from __future__ import annotations

import polars as pl
import pytest

from evaluators.detectors.plain import plain, plain_expr

TEXTS = [
    ("plain", "plain"),
    ("a\u00a0b\u2007c", "a b c"),
    ("4539\u20115787\u22126362", "4539-5787-6362"),
    ("45\u200b39\ufeff57", "453957"),
    ("anna\uff20bank\uff0ecom", "anna@bank.com"),
    ("ﬁne \uff14\uff15", "fine 45"),
    ("bu\u0308cher", "bücher"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_plain(text: str, expected: str) -> None:
    assert plain(text).text == expected
    assert pl.select(plain_expr(pl.lit(text))).item() == expected


@pytest.mark.parametrize(
    ("text", "piece", "expected"),
    [
        ("x ﬁne 45", "45", (6, 8)),
        ("(45\u200b39)", "4539", (1, 6)),
        ("bu\u0308cher!", "bücher", (0, 7)),
        ("plain", "lai", (1, 4)),
    ],
)
def test_the_way_back(text: str, piece: str, expected: tuple[int, int]) -> None:
    prepared = plain(text)
    start = prepared.text.index(piece)
    assert prepared.origin(start, start + len(piece)) == expected
