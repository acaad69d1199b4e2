"""A project of two benchmarks with a judge on loopback, and what its rows tell of a backfill."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from orchestration import starter
from orchestration.config import load
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BENCHMARKS = ("north", "south")
TEMPLATE = "Does the answer deal with the question?\n{INPUT}\n{ACTUAL_OUTPUT}"


@dataclass(frozen=True)
class StoryProject:
    """A project folder with the starter's data twice, in other words each.

    Attributes:
        home: The folder.
    """

    home: Path

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.home / "scoreline.yaml"

    def write(self, judge: str) -> None:
        """Write the project.

        Args:
            judge: The address of the judge.
        """
        source = self.home / "source"
        starter.write_starter(source)
        data = source / "data"
        benchmarks = {}
        for name in BENCHMARKS:
            folder = self.home / name
            folder.mkdir()
            for file in data.glob("*.jsonl"):
                text = file.read_text(encoding="utf-8")
                # Other words, so that the two share no question to the judge.
                (folder / file.name).write_text(
                    text.replace('"question": "', f'"question": "In the {name}: '), encoding="utf-8"
                )
            benchmarks[name] = {
                "questions": f"{name}/questions.jsonl",
                "documents": f"{name}/documents.jsonl",
                "predictions": f"{name}/predictions_{{system}}.jsonl",
                "evaluators": ["document_retrieval", "citation", "byop"],
                "parameters": {"byop": {"prompt_template": TEMPLATE}},
            }
        model = {"model": "openai/judge", "api_base": judge}
        prices = {"usd_per_million_in": 0, "usd_per_million_out": 0}
        document = {"judge": {**model, **prices}, "benchmarks": benchmarks}
        self.config.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    def configure(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change what the configuration says of each benchmark."""
        document = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        for name in BENCHMARKS:
            change(document["benchmarks"][name])
        self.config.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The rows of a file."""
        text = (self.home / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def rewrite(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a file."""
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.home / name).write_text(text, encoding="utf-8")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query on the warehouse."""
        return Warehouse(load.load_config(self.config).project.warehouse).fetch(sql).rows()

    def published(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query on the published copy."""
        return Snapshot(self.home / "published" / FILE_NAME).fetch(sql).rows()

    def graded_after(self, runs: set[str]) -> set[tuple[str, str, str, str]]:
        """Benchmark, system, question and evaluator of the scores that none of some runs wrote."""
        known = ", ".join(f"'{run}'" for run in runs) or "''"
        found = self.rows(
            "SELECT DISTINCT benchmark, system, question_id, evaluator FROM scores "
            f"WHERE run_id NOT IN ({known})"
        )
        return {(str(a), str(b), str(c), str(d)) for a, b, c, d in found}

    def runs(self) -> set[str]:
        """The runs that wrote the present scores."""
        return {str(run) for (run,) in self.rows("SELECT DISTINCT run_id FROM scores")}

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All results, without what says when and by which run."""
        return {
            "scores": self.rows(
                "SELECT benchmark, system, question_id, evaluator, metric, value, status, reason, "
                "input_digest, signature FROM scores ORDER BY ALL"
            ),
            "leaderboard": self.rows(
                "SELECT * EXCLUDE (published_at) FROM leaderboard ORDER BY benchmark, slice, "
                "system, evaluator, metric"
            ),
            "asks": self.rows("SELECT * FROM asks ORDER BY ALL"),
            "judgments": self.rows("SELECT digest, reply, status FROM judgments ORDER BY ALL"),
        }
