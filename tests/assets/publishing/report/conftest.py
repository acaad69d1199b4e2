"""Published reports, and a browser to test them in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import dagster as dg
import pytest

from assets.project import Benchmark, Project
from evaluators import catalog
from tests.assets.conftest import materialise, write
from tests.assets.test_grounded_qa import write_files
from tests.assets.test_rgb import fifty, larger, lines
from tests.support.browser import Browser, started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Report:
    """A published report."""

    publish: Path

    @property
    def index(self) -> Path:
        """The first page."""
        return self.publish / "index.html"

    @property
    def copy(self) -> Path:
        """The published copy."""
        return self.publish / "scoreline.duckdb"

    def page(self, benchmark: str) -> Path:
        """The page of a benchmark; those of earlier publications may be beside it."""
        links = re.findall(r'href="(report/[^"]+/index\.html)"', self.index.read_text("utf-8"))
        (found,) = {link for link in links if re.fullmatch(rf"report/{benchmark}-\w+/.+", link)}
        return self.publish / unquote(found)


def published(project: Project) -> Report:
    """Run a project and publish it."""
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(project, instance)
    return Report(project.publish)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    yield from started(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="session")
def handbook(handbook_run: Path) -> Report:
    """The report of the example project."""
    return Report(handbook_run / "published")


def _evaluators(*names: str) -> Any:
    return tuple(catalog.build(name) for name in names)


@pytest.fixture(scope="session")
def sources(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of real data: RGB, multiple choice, and document-grounded answers."""
    data = shared / "data"
    if not all((data / name).is_dir() for name in ("rgb", "mcqa", "grounded_qa")):
        pytest.skip(f"real data is missing in {data}")
    home = tmp_path_factory.mktemp("sources")
    fifty(data / "rgb", home)
    larger(data / "rgb", home)
    write_files(data / "grounded_qa", home)
    algebra(data / "mcqa", home)
    noise = _evaluators("noise_robustness", "negative_rejection", "counterfactual_robustness")
    benchmarks = [
        Benchmark(
            name="rgb-noise",
            format="rgb",
            questions=home / "noise.json",
            predictions=home / "noise_{system}_all.json",
            evaluators=noise,
            slices=("noise_ratio",),
        ),
        Benchmark(
            name="rgb-fifty",
            format="rgb",
            questions=home / "fifty.json",
            predictions=home / "fifty_{system}_noise*.json",
            evaluators=noise,
        ),
        Benchmark(
            name="algebra",
            questions=home / "algebra.jsonl",
            predictions=home / "algebra-{system}.jsonl",
            evaluators=_evaluators("option_confidence"),
        ),
        Benchmark(
            name="grounded-train",
            format="document-grounded-qa",
            questions=home / "train_final_jsonl.txt",
            documents=home / "corpus" / "*.json",
            predictions=home / "train_{system}_output.json",
            evaluators=_evaluators("document_retrieval", "citation", "evidence_overlap"),
            slices=("question_type",),
        ),
    ]
    project = Project(
        home=home,
        warehouse=home / "warehouse.duckdb",
        publish=home / "published",
        benchmarks={benchmark.name: benchmark for benchmark in benchmarks},
    )
    return published(project)


def algebra(source: Path, home: Path) -> None:
    """Real option probabilities of two models, in the canonical format."""
    name = "mmlu_abstract_algebra.jsonl"
    asked = list(lines(source / f"questions_{name}"))
    rows = list(lines(source / f"option_probs_{name}"))
    write(
        home / "algebra.jsonl",
        (
            {
                "question_id": str(row["idx"]),
                "question": row["question"],
                "choices": row["choices"],
                "correct_choice": row["answer"],
            }
            for row in asked
        ),
    )
    for model in sorted({row["model"] for row in rows}):
        own = (row for row in rows if row["model"] == model)
        write(
            home / f"algebra-{model}.jsonl",
            ({"question_id": str(row["idx"]), "choice_probs": row["probs"]} for row in own),
        )
