"""What an annotator sees of a sample with a conversation."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from assets.analysis.label_queue import SampleId
from orchestration.webserver.annotate.shown import show_sample
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


class Published:
    """A warehouse, as if it were published."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def open(self) -> AbstractContextManager[Published]:
        """Open it."""
        return nullcontext(self)

    def fetch_rows(self, sql: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a statement."""
        return self._warehouse.fetch(sql, values).to_dicts()


def shown(tmp_path: Path, **answer: Any) -> dict[str, str]:
    asked = {"question_id": "q", "messages": [{"role": "user", "content": "Hello."}]}
    given = {"question_id": "q", "answer": "x", **answer}
    paths = tmp_path / "q.jsonl", tmp_path / "s.jsonl"
    for path, row in zip(paths, (asked, given), strict=True):
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = BenchmarkFiles(
        benchmark="b", format="canonical", questions=[paths[0]], predictions=[(paths[1], "s")]
    )
    ingest(warehouse, [files])
    evaluator = SimpleNamespace(columns={"history", "messages"}, name="e")
    found = show_sample(
        cast("Any", Published(warehouse)),
        "b",
        cast("Any", evaluator),
        "m",
        SampleId("s", "q"),
        is_blind=True,
    )
    return {each["title"]: each["texts"][0] for each in found["fields"]}


def test_the_conversation_is_that_of_the_question_unless_the_system_has_its_own(
    tmp_path: Path,
) -> None:
    found = shown(tmp_path)
    assert "Hello." in found["History"]
    assert "Messages" not in found
    own = [{"role": "user", "content": "Hi."}]
    said = [{"role": "assistant", "content": "A boat."}]
    found = shown(tmp_path, history=own, messages=said)
    assert "Hi." in found["History"]
    assert "A boat." in found["Messages"]
