"""Rows in each output format."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from orchestration.cli.output import OutputFormat, to_json_value, write, write_frame

COLUMNS = ["name", "value", "flag", "parts"]
ROWS: list[list[Any]] = [
    ["plain", 0.5, True, ["a", "b"]],
    ['quote " comma , pipe | line\nbreak', None, False, {"k": 1}],
    ["not a number", float("nan"), None, []],
    ["infinite", float("inf"), True, None],
]


def written(capsys: pytest.CaptureFixture[str], form: OutputFormat) -> str:
    write(COLUMNS, ROWS, form, "A title")
    return capsys.readouterr().out


def test_json_is_a_list_of_objects(capsys: pytest.CaptureFixture[str]) -> None:
    text = written(capsys, "json")
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text) == [
        {"name": "plain", "value": 0.5, "flag": True, "parts": ["a", "b"]},
        {"name": ROWS[1][0], "value": None, "flag": False, "parts": {"k": 1}},
        {"name": "not a number", "value": None, "flag": None, "parts": []},
        {"name": "infinite", "value": None, "flag": True, "parts": None},
    ]


def test_csv_round_trip(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(written(capsys, "csv"), newline="")))
    assert rows == [
        COLUMNS,
        ["plain", "0.5", "true", '["a", "b"]'],
        [ROWS[1][0], "", "false", '{"k": 1}'],
        ["not a number", "", "", "[]"],
        ["infinite", "", "true", ""],
    ]


def test_csv_keeps_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    write(["value"], [[0.1 + 0.2]], "csv")
    assert float(capsys.readouterr().out.splitlines()[1]) == 0.1 + 0.2


def test_markdown_escapes_what_would_break_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    lines = written(capsys, "md").splitlines()
    assert lines[:2] == ["## A title", ""]
    assert lines[2] == "| name | value | flag | parts |"
    assert lines[3] == "| --- | ---: | --- | --- |"
    assert lines[5].startswith('| quote " comma , pipe \\| line\\\\nbreak | - | no |')
    assert len(lines) == 4 + len(ROWS)


def test_table_is_not_truncated_and_has_no_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "x" * 500
    write(["text", "n"], [[f"\x1b[31m{long}", 3], ["[bold]kept[/bold]", 12]], "table", "A title")
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert f"\\x1b[31m{long}" in text
    assert "[bold]kept[/bold]" in text
    assert text.startswith("A title\n")
    # The word is too long for a column, so that the texts stand above the numbers.
    assert text.splitlines()[-3::2] == ["   3", "  12"]
    assert text.splitlines()[-2] == "[bold]kept[/bold]"


@pytest.mark.parametrize("form", ["csv", "json", "md", "table"])
def test_no_rows(capsys: pytest.CaptureFixture[str], form: OutputFormat) -> None:
    write(["a", "b"], [], form)
    text = capsys.readouterr().out
    assert json.loads(text) == [] if form == "json" else "a" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("1.5"), 1.5),
        (Decimal("NaN"), None),
        (dt.date(2026, 11, 2), "2026-11-02"),
        (dt.datetime(2026, 11, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-11-02T03:04:05+00:00"),
        (dt.timedelta(seconds=61), "0:01:01"),
        (b"\x00\xff", "00ff"),
        ({"a": [float("nan"), (1, None)]}, {"a": [None, [1, None]]}),
        (2**70, 2**70),
        (True, True),
    ],
)
def test_to_json_value(value: Any, expected: Any) -> None:
    assert to_json_value(value) == expected


def test_a_frame_with_nested_columns(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"a": [[1.0, None]], "b": [{"x": dt.date(2026, 1, 1)}]})
    write_frame(frame, "json")
    assert json.loads(capsys.readouterr().out) == [{"a": [1.0, None], "b": {"x": "2026-01-01"}}]
