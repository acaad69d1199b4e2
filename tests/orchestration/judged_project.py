"""A small project whose evaluators ask a judge, and runs of it in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from click.testing import CliRunner

from orchestration.cli.program import program
from orchestration.config import load
from orchestration.runs import RunOptions
from orchestration.runs.progress import Progress
from orchestration.runs.run import evaluate
from tests.support.dagster_instance import furnish
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from assets.project import Project
    from orchestration.runs.events import RunRecord

QUESTIONS = [
    {
        "question_id": f"q{number}",
        "question": f"What is kept in room {number}?",
        "expected_answer": f"Room {number} holds the maps. It is locked.",
    }
    for number in range(4)
]
SYSTEMS = ("plain", "wordy")
PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}


def predictions(system: str) -> list[dict[str, Any]]:
    """Answers of one system, each different."""
    return [
        {
            "question_id": f"q{number}",
            "answer": f"The {system} answer: maps are in room {number}. Bring a key.",
            "contexts": [
                f"Room {number} holds maps and charts. It faces the harbour.",
                "The key hangs in the office.",
            ],
        }
        for number in range(len(QUESTIONS))
    ]


@dataclass
class JudgedProject:
    """A project folder.

    Attributes:
        home: The folder.
        judge: The section `judge` of the configuration; None for none.
        evaluators: What is computed.
        predictions: The predictions by system.
        questions: The questions.
        more: Other keys of the configuration.
    """

    home: Path
    judge: dict[str, Any] | None
    evaluators: list[str] = field(default_factory=lambda: ["faithfulness", "context_relevancy"])
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    predictions: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {system: predictions(system) for system in SYSTEMS}
    )
    questions: list[dict[str, Any]] = field(
        default_factory=lambda: [dict(question) for question in QUESTIONS]
    )
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.home / "scoreline.yaml"

    def write(self) -> None:
        """Write the files as they are to be now."""
        self.home.mkdir(exist_ok=True)
        _lines(self.home / "questions.jsonl", self.questions)
        for old in self.home.glob("*.answers.jsonl"):
            old.unlink()
        for system, rows in self.predictions.items():
            _lines(self.home / f"{system}.answers.jsonl", rows)
        benchmark = {
            "questions": "questions.jsonl",
            "predictions": "{system}.answers.jsonl",
            "evaluators": self.evaluators,
            "parameters": self.parameters,
        }
        document = {**self.more, "benchmarks": {"rooms": benchmark}}
        if self.judge is not None:
            document["judge"] = self.judge
        self.config.write_text(yaml.safe_dump(document), encoding="utf-8")

    def project(self) -> Project:
        """The project as its files say."""
        self.write()
        return load.load_config(self.config).project

    def run(self, **choices: Any) -> RunRecord:
        """What `scoreline run` does, in this process."""
        project = self.project()
        furnish(project)
        return evaluate(project, RunOptions(**choices), Progress(), verbose=False)

    def scoreline(self, *arguments: str) -> Result:
        """The result of a command, in this process, on the files as they are."""
        result = CliRunner().invoke(program, [*arguments, "--config", str(self.config)])
        assert "Traceback" not in result.output
        return result

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query on the warehouse."""
        return Warehouse(load.load_config(self.config).project.warehouse).fetch(sql).rows()

    def statuses(self) -> dict[str, int]:
        """How many scores have which status."""
        return dict(self.rows("SELECT status, count(*) FROM scores GROUP BY ALL"))

    def everything(self) -> list[tuple[Any, ...]]:
        """Every score, without what says when and by which run."""
        return self.rows(
            "SELECT system, question_id, evaluator, metric, value, status, reason, detail "
            "FROM scores ORDER BY ALL"
        )


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
