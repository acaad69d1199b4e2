"""The panel of pairwise comparisons: win matrix, strengths and the judge's position bias."""

from __future__ import annotations

import polars as pl

from assets.publishing.report.panels.pairwise import order_sentence, win_matrix


def pairs(*rows: tuple[str, str, int, int, int], **counts: int) -> pl.DataFrame:
    names = ("system_a", "system_b", "wins_a", "wins_b", "ties")
    order = {"n_judged": 0, "n_changed": 0, "prefers_first": 0, "prefers_second": 0, **counts}
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(pl.lit(n).alias(name) for name, n in order.items())


def test_win_matrix() -> None:
    rows = pairs(("a", "b", 6, 1, 1), ("b", "c", 0, 4, 0))
    found = {
        system: [None if cell is None else (cell["text"], cell["counts"]) for cell in cells]
        for system, cells in win_matrix(rows, ["c", "b", "a"])
    }
    assert found == {
        "c": [None, ("1.00", "4 wins, 0 losses, 0 ties"), None],
        "b": [
            ("0.00", "0 wins, 4 losses, 0 ties"),
            None,
            ("0.19", "1 win, 6 losses, 1 tie"),
        ],
        "a": [None, ("0.81", "6 wins, 1 loss, 1 tie"), None],
    }


def test_order_in_a_sentence() -> None:
    changed = {"n_judged": 10, "n_changed": 3, "prefers_first": 2, "prefers_second": 1}
    assert order_sentence(pairs(("a", "b", 5, 2, 3), **changed)) == (
        "With the order of the answers, the judge changed its verdict in 3 of 10 comparisons "
        "(30.0 %), in favour of the answer shown first in 2 of them and of the one shown second "
        "in 1. They count as ties."
    )
    assert order_sentence(pairs(("a", "b", 5, 2, 3), n_judged=10)).endswith(
        "in 0 of 10 comparisons (0.0 %)."
    )
    assert order_sentence(pairs(("a", "b", 1, 0, 0))) == (
        "The judge was not asked about any comparison."
    )
