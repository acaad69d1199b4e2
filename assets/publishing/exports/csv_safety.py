"""CSV for spreadsheets: a text that a program would take for a formula stays text."""

from __future__ import annotations

import polars as pl

FORMULA = r"^[=+\-@\t\r\n]"
"""How texts begin that spreadsheets compute, or that hide one that they compute."""


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame as it may be opened in a spreadsheet.

    A text that begins like a formula gets an apostrophe in front, which spreadsheets take for
    "this is text". Lists and structures become JSON, times become text; numbers stay numbers.
    """
    return frame.select(_guarded(name, kind) for name, kind in frame.schema.items())


def _guarded(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if kind.is_nested():
        column = column.map_elements(_json, return_dtype=pl.String)
    elif kind != pl.String:
        return column
    text = pl.concat_str(pl.lit("'"), column)
    return pl.when(column.str.contains(FORMULA)).then(text).otherwise(column).alias(name)


def _json(value: object) -> str:
    import json

    plain = value.to_list() if isinstance(value, pl.Series) else value
    return json.dumps(plain, ensure_ascii=False, default=str)
