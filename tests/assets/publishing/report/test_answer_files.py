"""Answers are stored by column and passages once, and nothing is lost by that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.publishing.report import answer_files
from assets.publishing.report.answer_files import PackedColumn, Passages

if TYPE_CHECKING:
    from collections.abc import Sequence

texts = st.sampled_from(["", "a", "one passage", "another passage", "\u00e9\u4e2d"])
lists = st.lists(st.none() | st.lists(st.none() | texts, max_size=4), max_size=8)


def unpacked(packed: Any, length: int) -> list[Any]:
    """Return the values of a column, read as `PackedColumn.part` documents it."""
    if packed is None:
        return [None] * length
    if isinstance(packed, list):
        return packed
    values = iter(packed["values"])
    found = [None if n < 0 else [next(values) for _ in range(n)] for n in packed["lengths"]]
    assert not list(values)
    return found


def parts(column: pl.Series, cut: int) -> list[Any]:
    """Return the values of a column that is packed in two parts."""
    packed, n, found = PackedColumn(column), len(column), []
    for start, stop in ((0, min(cut, n)), (min(cut, n), n)):
        part = orjson.loads(orjson.dumps(packed.part(start, stop)))
        found += unpacked(part, stop - start)
    return found


@given(lists, st.integers(0, 8))
def test_a_column_of_lists_is_what_it_was(
    given_lists: list[list[str | None] | None], cut: int
) -> None:
    column = pl.Series("contexts", given_lists, dtype=pl.List(pl.String))
    assert parts(column, cut) == given_lists


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False)), st.integers(0, 8))
def test_a_column_of_numbers_is_what_it_was(values: list[float | None], cut: int) -> None:
    assert parts(pl.Series(values, dtype=pl.Float64), cut) == values


@given(st.lists(lists, max_size=4))
def test_passages_are_found_by_their_numbers(batches: list[list[list[str | None] | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer_files, "PASSAGES_PER_FILE", 12)
        passages = Passages()
        numbered, files = [], []
        for batch in batches:
            column = pl.Series("contexts", batch, dtype=pl.List(pl.String))
            numbered.append(passages.number(column).to_list())
            files += list(passages.take_files())
        files += list(passages.take_files(is_end=True))
    contents = [orjson.loads(content) for _, content in files]
    assert [name for name, _ in files] == [f"passages-{at}" for at in range(len(files))]
    assert passages.starts == [sum(map(len, contents[:at])) for at in range(len(contents))]
    stored = [text for content in contents for text in content]
    assert len(stored) == len(set(stored))

    def read(numbers: Sequence[int | None] | None) -> list[str | None] | None:
        return None if numbers is None else [None if n is None else stored[n] for n in numbers]

    assert [[read(numbers) for numbers in part] for part in numbered] == batches
