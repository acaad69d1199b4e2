"""A small project in a temporary folder, whose files a test may change between two runs."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import dagster as dg
import pytest

from assets import definitions
from assets.keys import BENCHMARKS, LEADERBOARD, scores_key
from assets.project import Benchmark, Gate, Project
from evaluators import catalog
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

EVALUATORS = ("document_retrieval", "citation", "classification")


@dataclass
class Workshop:
    """A project and its files.

    `questions` and `predictions` (by system) are written out at every run; `run` materialises the
    real assets on an instance of its own.

    Attributes:
        last: The assets at which runs end; none: they make everything.
    """

    home: Path
    instance: dg.DagsterInstance
    questions: list[dict[str, Any]] = field(default_factory=list)
    predictions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    evaluators: dict[str, Mapping[str, Any]] = field(
        default_factory=lambda: {name: {} for name in EVALUATORS}
    )
    slices: tuple[str, ...] = ()
    cluster: str | None = None
    intervals: Literal["skew_adjusted_t", "t"] = "skew_adjusted_t"
    gates: tuple[Gate, ...] = ()
    default_threshold: Literal["none", "source"] = "none"
    rank_by: str | None = None
    last: tuple[dg.AssetKey, ...] = ()

    @property
    def project(self) -> Project:
        """The project as it is configured now."""
        benchmark = Benchmark(
            name="trial",
            questions=self.home / "questions.jsonl",
            predictions=self.home / "{system}.predictions.jsonl",
            evaluators=tuple(catalog.build(name, given) for name, given in self.evaluators.items()),
            slices=self.slices,
            cluster=self.cluster,
            intervals=self.intervals,
            gates=self.gates,
            default_threshold=self.default_threshold,
            rank_by=self.rank_by,
        )
        return Project(
            home=self.home,
            warehouse=self.home / "warehouse.duckdb",
            publish=self.home / "published",
            benchmarks={"trial": benchmark},
        )

    @property
    def warehouse(self) -> Warehouse:
        """The project's warehouse."""
        return Warehouse(self.project.warehouse)

    def run(self, **choices: Any) -> dict[str, int]:
        """Materialise all up to `last`; returns the number of samples scored, by evaluator."""
        write(self.home / "questions.jsonl", self.questions)
        for old in self.home.glob("*.predictions.jsonl"):
            old.unlink()
        for system, rows in self.predictions.items():
            write(self.home / f"{system}.predictions.jsonl", rows)
        result = materialise(self.project, self.instance, *self.last, **choices)
        return {
            event.materialization.asset_key.path[-1]: event.materialization.metadata["scored"].value
            for event in result.get_asset_materialization_events()
            for event in [event.step_materialization_data]
            if event.materialization.asset_key.path[0] == "scores"
        }

    def with_question(self, number: int, **changes: Any) -> None:
        """Change one question."""
        self.questions[number] = {**self.questions[number], **changes}

    def with_prediction(self, system: str, number: int, **changes: Any) -> None:
        """Change one prediction."""
        self.predictions[system][number] = {**self.predictions[system][number], **changes}

    def scores(self) -> dict[tuple[str, ...], float | None]:
        """Every value by system, question, evaluator and metric."""
        rows = self.warehouse.fetch(
            "SELECT system, question_id, evaluator, metric, value FROM scores"
        )
        return {tuple(row[:-1]): row[-1] for row in rows.iter_rows()}


def project_in(home: Path, benchmark: Benchmark) -> Project:
    """A project of one benchmark, with its warehouse and publication in a folder."""
    return Project(
        home=home,
        warehouse=home / "warehouse.duckdb",
        publish=home / "published",
        benchmarks={benchmark.name: benchmark},
    )


def materialise(
    project: Project, instance: dg.DagsterInstance, *last: dg.AssetKey, **choices: Any
) -> dg.ExecuteInProcessResult:
    """Materialise all assets, or those up to some, of all benchmarks of a project in one run."""
    names = list(project.benchmarks)
    instance.add_dynamic_partitions(BENCHMARKS.name, names)
    config = {"config": choices}
    return dg.materialize(
        [*definitions.build_assets(project), *definitions.build_checks(project)],
        instance=instance,
        selection=dg.AssetSelection.assets(*last).upstream() if last else None,
        resources={"warehouse": Warehouse(project.warehouse), "project": project},
        tags={
            "dagster/asset_partition_range_start": names[0],
            "dagster/asset_partition_range_end": names[-1],
        },
        run_config={
            "ops": dict.fromkeys(
                (
                    *("ingest", "score", "check_scores"),
                    *("leaderboard", "check_leaderboard"),
                ),
                config,
            )
        }
        if choices
        else None,
    )


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """Six questions and two systems: `good` mostly right, `poor` mostly wrong."""
    with six(tmp_path) as made:
        yield made


@pytest.fixture
def ranked(workshop: Workshop) -> Workshop:
    """The same, whose runs end with the leaderboard: for tests that look no further."""
    workshop.last = (LEADERBOARD,)
    return workshop


@pytest.fixture
def done(ranked: Workshop, ranked_once: Path) -> Workshop:
    """The same after its first run."""
    shutil.copytree(ranked_once, ranked.home, dirs_exist_ok=True)
    return ranked


@pytest.fixture
def graded(done: Workshop) -> Workshop:
    """The same, whose further runs end with the scores: for tests of what is scored again."""
    done.last = tuple(map(scores_key, EVALUATORS))
    return done


@pytest.fixture(scope="session")
def ranked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the project after its first run, to be copied."""
    home = tmp_path_factory.mktemp("ranked")
    with six(home) as made:
        made.last = (LEADERBOARD,)
        assert made.run() == dict.fromkeys(EVALUATORS, 12)
    return home


@pytest.fixture
def published(workshop: Workshop, published_once: Path) -> Workshop:
    """The same after a run that made everything."""
    shutil.copytree(published_once, workshop.home, dirs_exist_ok=True)
    return workshop


@pytest.fixture(scope="session")
def published_once(ranked_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the project after a run that made everything, to be copied."""
    home = tmp_path_factory.mktemp("whole") / "home"
    shutil.copytree(ranked_once, home)
    with six(home) as made:
        assert made.run() == dict.fromkeys(EVALUATORS, 0)
    return home


@contextmanager
def six(home: Path) -> Iterator[Workshop]:
    """Six questions and two systems in a folder, on an instance of their own."""
    with dg.DagsterInstance.ephemeral() as instance:
        made = Workshop(home, instance)
        made.questions = [
            {
                "question_id": f"q{i}",
                "question": f"What is {i}?",
                "gold_doc_ids": [f"d{i}"],
                "gold_sentence_ids": ["S1", "S2"],
                "expected_label": "even" if i % 2 == 0 else "odd",
                "tags": {"half": "first" if i < 3 else "second"},
            }
            for i in range(6)
        ]
        made.predictions = {
            system: [
                {
                    "question_id": f"q{i}",
                    "answer": "even" if right or i % 3 == 0 else "odd",
                    "retrieved": [{"doc_id": f"d{i}" if right else "d9"}, {"doc_id": "d8"}],
                    "cited_sentence_ids": ["S1", "S2"] if right else ["S3"],
                }
                for i in range(6)
            ]
            for system, right in (("good", True), ("poor", False))
        }
        yield made
