"""Each row of the table "What happens when" names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
NAMED = re.compile(r"<!-- (.*?) -->")
COLUMNS = 6


def test_every_row_has_an_answer_and_names_its_tests() -> None:
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## What happens when")
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    situations = [row for row in rows if not row.startswith("| **")]
    assert len(situations) > 20
    for row in situations:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == COLUMNS, row
        assert cells[1], row
        (named,) = NAMED.findall(cells[0])
        for test in named.split():
            assert (ROOT / test).is_file(), test


def test_every_link_has_an_address() -> None:
    text = PAGE.read_text(encoding="utf-8")
    used = set(re.findall(r"\]\[([a-z]-[a-z]+)\]", text))
    assert used == set(re.findall(r"^\[([a-z]-[a-z]+)\]: https://", text, re.MULTILINE))
