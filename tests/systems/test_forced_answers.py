"""Answers that are asked for again: stored as they come, and paid for once in a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from assets.inputs.ask import ask_systems
from assets.inputs.ingest import stored_answers
from systems import answering
from systems.client import SystemRefused
from tests.systems.scripted_system import ScriptedSystem, settings
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assets.inputs.ask import AskingResult
    from warehouse.ledger.answers import SystemAnswers

BENCHMARKS = ("halls", "rooms")


class Asked:
    """Two benchmarks with the same three questions, and a system that both ask."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.system = ScriptedSystem()
        self.warehouse = Warehouse(folder / "warehouse.duckdb")
        monkeypatch.setattr(answering, "make_client", lambda *_: self.system)
        lines = [json.dumps({"question_id": f"q{n}", "question": f"{n}?"}) for n in range(3)]
        (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
        files = [self._files(name) for name in BENCHMARKS]
        ingest(self.warehouse, files, kinds=["questions"])

    def ask(self, *benchmarks: str, force: bool = False) -> list[AskingResult]:
        """Ask the system, one question after the other."""
        self.system.asked.clear()
        system = settings(self.folder, concurrency=1)
        pairs = [(name, system) for name in benchmarks]
        repeats = dict.fromkeys(BENCHMARKS, 1)
        return ask_systems(self.warehouse, pairs, repeats, run_id="run", force=force)

    def predictions(self, benchmark: str) -> list[Any]:
        """Ingest the answers, and return their texts by question."""
        marks = self.warehouse.fingerprints(benchmark)
        files = self._files(
            benchmark, stored_answers(self.warehouse, benchmark, ["scripted"], marks)
        )
        ingest(self.warehouse, [files], kinds=["predictions"])
        query = "SELECT answer FROM predictions WHERE benchmark = $benchmark ORDER BY question_id"
        return self.warehouse.fetch(query, {"benchmark": benchmark})["answer"].to_list()

    def _files(self, benchmark: str, answers: Sequence[SystemAnswers] = ()) -> BenchmarkFiles:
        return BenchmarkFiles(
            benchmark=benchmark,
            format="canonical",
            questions=[self.folder / "questions.jsonl"],
            answers=answers,
        )


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return two benchmarks whose questions have not been asked."""
    return Asked(tmp_path, monkeypatch)


def test_new_answers_of_a_run_that_was_broken_off_are_used(asked: Asked) -> None:
    asked.ask("rooms")
    assert asked.predictions("rooms") == ["about q0", "about q1", "about q2"]

    def reply(question: str) -> str:
        if question == "q1":
            raise SystemRefused("no credit")
        return f"new answer to {question}"

    asked.system.reply = reply
    with pytest.raises(SystemRefused):
        asked.ask("rooms", force=True)
    (found,) = asked.ask("rooms")
    assert (found.asked, found.held, asked.system.asked.total()) == (0, 3, 0)
    assert asked.predictions("rooms") == ["new answer to q0", "about q1", "about q2"]


def test_a_call_that_two_benchmarks_share_is_asked_again_once(asked: Asked) -> None:
    asked.ask(*BENCHMARKS)
    asked.system.reply = lambda question: f"new answer to {question}"
    halls, rooms = asked.ask(*BENCHMARKS, force=True)
    assert asked.system.asked == {"q0": 1, "q1": 1, "q2": 1}
    assert (halls.asked, rooms.asked, rooms.held) == (3, 0, 3)
    for name in BENCHMARKS:
        assert asked.predictions(name) == [
            "new answer to q0",
            "new answer to q1",
            "new answer to q2",
        ]
