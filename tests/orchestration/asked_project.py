"""A project that asks a Python function, which writes down what it is asked."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from tests.support.command import Ended, scoreline

if TYPE_CHECKING:
    from pathlib import Path

RAG = """
import os, time
from pathlib import Path

def note(question, name):
    with Path(__file__).with_name("asked.txt").open("a") as file:
        file.write(f"{name} {question['question_id']}\\n")

def answer(question):
    note(question, "answer")
    return {"answer": "Room " + question["question_id"][1:], "cost_usd": 0.25}

def short(question):
    note(question, "short")
    time.sleep(SECONDS)
    return "Room"

def cited(question):
    note(question, "cited")
    number = question["question_id"][1:]
    return {"answer": f"In room {number}.", "contexts": [f"Room {number} is here.", "A hall."]}
"""


@dataclass
class AskedProject:
    """A project folder.

    Attributes:
        home: The folder.
        systems: The section `systems`.
        questions: The questions.
        benchmark: Other keys of the benchmark.
        seconds: How long the function `short` takes.
        more: Other benchmarks, by the keys that they have instead of those of the first.
        judge: The section `judge`; None for none.
    """

    home: Path
    systems: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "rag": {"python": "my_rag.py:answer"},
            "short": {"python": "my_rag.py:short"},
        }
    )
    questions: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"question_id": f"q{n}", "question": f"Where is {n}?", "expected_answer": f"Room {n}"}
            for n in range(6)
        ]
    )
    benchmark: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    judge: dict[str, Any] | None = None

    def write(self) -> None:
        """Write the files of the project."""
        self.home.mkdir(exist_ok=True)
        rag = RAG.replace("SECONDS", str(self.seconds))
        (self.home / "my_rag.py").write_text(rag, encoding="utf-8")
        lines = [json.dumps(question) + "\n" for question in self.questions]
        (self.home / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
        keys = {
            "questions": "questions.jsonl",
            "systems": list(self.systems),
            "evaluators": ["rouge"],
            **self.benchmark,
        }
        benchmarks = {"rooms": keys, **{name: {**keys, **own} for name, own in self.more.items()}}
        config = {"systems": self.systems, "expectations": "sql", "benchmarks": benchmarks}
        if self.judge is not None:
            config["judge"] = self.judge
        (self.home / "scoreline.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")

    def scoreline(self, *arguments: str, **variables: str) -> Ended:
        """Run a command in the folder, after writing the files."""
        self.write()
        return scoreline(self.home, *arguments, **variables)

    def asked(self) -> Counter[str]:
        """Return how often each function was asked each question since the last call."""
        file = self.home / "asked.txt"
        found = Counter(file.read_text("utf-8").splitlines()) if file.is_file() else Counter()
        file.unlink(missing_ok=True)
        return found

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what the published copy answers."""
        with duckdb.connect(self.home / "published" / "scoreline.duckdb", read_only=True) as copy:
            return copy.sql(sql).fetchall()
