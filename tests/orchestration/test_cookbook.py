"""The queries of the SQL cookbook run on a finished project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warehouse.publish.snapshot import FILE_NAME, Snapshot

PAGE = Path(__file__).parents[2] / "docs" / "sql-cookbook.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
EMPTY = ("v_flips", "v_cost", "v_stale")
"""The starter project has no rows for these: no variants, no judge, nothing stale."""


def test_there_are_ten_queries() -> None:
    titles = re.findall(r"^## (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [int(number) for number in titles] == list(range(1, 11))
    assert len(QUERIES) == 11


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: re.search(r"FROM (\w+)", query)[1])
def test_every_query_runs(query: str, done_project: Path) -> None:
    copy = Snapshot(done_project / "published" / FILE_NAME)
    rows = copy.fetch(query.replace("'answers'", "'harbour'"))
    few = any(part in query for part in (*EMPTY, "verdict IN", "HAVING"))
    assert rows.height > 0 or few
