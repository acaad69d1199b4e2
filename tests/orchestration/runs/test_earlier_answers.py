"""A project of an earlier version that asks systems is up to date, and asks for nothing again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import orjson

from tests.orchestration.asked_project import AskedProject
from tests.support.services import takes_minutes
from warehouse.formats.catalog import format_named
from warehouse.formats.missing_answers import MissingAnswers
from warehouse.ingest.digests import NONE, predictions_digest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

REPLIES = """
SELECT a.system, a.question_id, j.reply FROM answers AS a JOIN judgments AS j USING (digest)
ORDER BY a.question_id
"""


@takes_minutes
def test_a_project_of_an_earlier_version_is_up_to_date(tmp_path: Path) -> None:
    """Earlier versions had answers in files, and their fingerprint in other words."""
    project = AskedProject(tmp_path / "project")
    assert project.scoreline("ask").code == 0
    state = project.home / ".scoreline"
    warehouse = Warehouse(state / "warehouse.duckdb")
    earlier = "UPDATE marks SET digest = replace(digest, '-', ' ') WHERE stage LIKE 'answers/%'"
    assert warehouse.write(lambda transaction: transaction.execute(earlier)) == 2
    project.asked()
    assert "12 scored" in project.scoreline("run").messages

    folder = state / "warehouse.duckdb.answers" / "rooms"
    folder.mkdir(parents=True)
    for system, question, reply in warehouse.fetch(REPLIES).iter_rows():
        with (folder / f"{system}.jsonl").open("ab") as file:
            file.write(orjson.dumps({"question_id": question, **json.loads(reply)}) + b"\n")
    stored = warehouse.fingerprints("rooms")
    missing = MissingAnswers("failed", {"rag": "not_asked", "short": "not_asked"})
    settings = (0.0, stored["questions"], NONE, missing)
    files = [(folder / f"{system}.jsonl", system) for system in ("rag", "short")]
    assert predictions_digest(format_named("canonical"), files, *settings) == stored["predictions"]

    assert "nothing has changed" in project.scoreline("run").messages
    assert project.asked() == {}
    assert not folder.parent.exists()
    # A new question is asked; nothing else changes.
    project.questions.append({"question_id": "q6", "question": "?", "expected_answer": "Room 6"})
    assert "2 scored, 12 up to date" in project.scoreline("run").messages
    assert project.asked() == {"answer q6": 1, "short q6": 1}
    assert "nothing has changed" in project.scoreline("run").messages
