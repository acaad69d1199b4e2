"""Tables in the width of a terminal: lines fit, words stay whole, nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestration.cli.layout import Column, lay_out, wrap

WORDS = st.text(st.sampled_from("abcxyz.-_0123é"), min_size=1, max_size=30)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
NUMBERS = st.floats(-1, 1).map("{:.3f}".format)


@st.composite
def columns(draw: st.DrawFn) -> list[Column]:
    rows = draw(st.integers(0, 4))
    found = []
    for number in range(draw(st.integers(1, 9))):
        numeric = draw(st.booleans())
        cells = draw(st.lists(NUMBERS if numeric else TEXTS, min_size=rows, max_size=rows))
        heading = draw(st.lists(WORDS, min_size=1, max_size=2))
        found.append(Column([f"{number}{line}" for line in heading], cells, numeric))
    return found


@given(columns(), st.integers(40, 120), st.booleans())
def test_lines_fit_and_words_stay_whole(table: list[Column], width: int, long_cells: bool) -> None:
    lines, left_out = lay_out(table, width, long_cells=long_cells)
    assert left_out == []
    assert max(map(len, lines), default=0) <= width
    printed = [word for line in lines for word in line.split()]
    cells = [word for column in table for cell in column.cells for word in cell.split()]
    headings = [word for column in table for line in column.heading for word in line.split()]
    for word in {*cells, *headings}:
        assert printed.count(word) >= max(cells.count(word), headings.count(word)), word


def test_what_fits_stands_side_by_side() -> None:
    table = [Column(["name"], ["a b", "c"], False), Column(["n"], ["1", "12"], True)]
    assert lay_out(table, 10)[0] == ["name    n", "─────────", "a b     1", "c      12"]
    # A narrower gap before anything else.
    assert lay_out(table, 8)[0] == ["name   n", "────────", "a b    1", "c     12"]


def test_optional_columns_are_left_out_in_their_order() -> None:
    table = [Column([name], ["x" * 16], False) for name in ("one", "two", "three", "four")]
    lines, left_out = lay_out(table, 60, ("three", "one"))
    assert left_out == ["three"]
    assert lines[0].split() == ["one", "two", "four"]
    lines, left_out = lay_out(table, 40, ("three", "one"))
    assert left_out == ["three", "one"]
    assert lines[0].split() == ["two", "four"]


def test_a_long_key_stands_above_and_a_long_remark_below() -> None:
    remark = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    table = [
        Column(["metric"], ["m" * 36], False),
        Column(["value"], ["0.500"], True),
        Column(["remark"], [remark], False),
    ]
    assert lay_out(table, 40)[0] == [
        "metric",
        "  value",
        "    remark",
        "─" * 40,
        "m" * 36,
        "  0.500",
        "    one two three four five six seven",
        "    eight nine ten eleven twelve",
        "    thirteen fourteen",
    ]


def test_many_columns_become_records() -> None:
    table = [Column([f"column_{at}"], ["0.500", "0.250"], True) for at in range(6)]
    lines, _ = lay_out(table, 40)
    assert lines[0] == "column_0   0.500"
    assert lines[6:8] == ["", "column_0   0.250"]


def test_wide_characters_take_two_cells() -> None:
    table = [Column(["系统"], ["甲乙"], False), Column(["n"], ["1"], True)]
    assert lay_out(table, 40)[0] == ["系统   n", "────────", "甲乙   1"]
    assert wrap("甲乙 丙丁", 8) == ["甲乙", "丙丁"]


def test_a_word_that_is_longer_than_a_line_stays_whole() -> None:
    assert wrap(f"see {'x' * 50} there", 40) == ["see", "x" * 50, "there"]
    assert wrap("   ", 2) == [""]
