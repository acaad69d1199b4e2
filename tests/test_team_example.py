"""The example of a team's own code location: Dagster loads it, and new answers are evaluated."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import polars as pl
import pytest

from tests.support.services import takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "team-dagster"
RIGHT = {"words": 6, "long-words": 5}
"""Of six questions, by hand: "What does a new card cost?" has no word of five letters."""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy whose package can be imported."""
    ignored = shutil.ignore_patterns(".scoreline", "published", "answers", "__pycache__")
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example", ignore=ignored))
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "help_desk"]:
        del sys.modules[name]


class Location:
    """The code location of the example, with the sensor of upstream assets switched on."""

    def __init__(self, folder: Path, instance: dg.DagsterInstance) -> None:
        self.folder = folder
        self.instance = instance
        self.defs: dg.Definitions = importlib.import_module("help_desk.definitions").defs
        self.repository = self.defs.get_repository_def()
        self.cursor: str | None = None

    def answer(self) -> None:
        """Materialise the team's asset."""
        module = importlib.import_module("help_desk.answers")
        assert dg.materialize([module.answers], instance=self.instance).success

    def tick(self) -> int:
        """Evaluate the sensor and execute the runs that it requests; return their number."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.repository
        )
        result = self.repository.get_sensor_def("quality_upstream_assets").evaluate_tick(context)
        self.cursor = result.cursor or self.cursor
        requests = result.run_requests or []
        for request in requests:
            job = self.repository.get_job("quality_evaluate")
            tags = dict(request.tags)
            assert job.execute_in_process(instance=self.instance, tags=tags).success
        return len(requests)

    def recall(self) -> dict[str, float]:
        """The mean recall at 1 by system."""
        sql = "SELECT system, mean FROM leaderboard WHERE metric = 'recall_at_1' AND slice = 'all'"
        rows = Warehouse(self.folder / ".scoreline" / "warehouse.duckdb").fetch(sql)
        return dict(rows.iter_rows())


@takes_minutes
def test_new_answers_start_the_evaluation(example: Path) -> None:
    with dg.instance_for_test() as instance:
        location = Location(example, instance)
        assert location.tick() == 0
        location.answer()
        assert location.tick() == 1
        assert location.recall() == pytest.approx({k: n / 6 for k, n in RIGHT.items()})

        # A new version of the search: no article is called "harbour".
        articles = example / "data" / "articles.jsonl"
        text = articles.read_text("utf-8")
        articles.write_text(text.replace('"doc_id": "hours"', '"doc_id": "harbour"'), "utf-8")
        location.answer()
        assert location.tick() == 1
        assert location.recall() == pytest.approx({k: (n - 1) / 6 for k, n in RIGHT.items()})
        assert location.tick() == 0


def test_the_answers_are_the_input_of_the_evaluation(example: Path) -> None:
    with dg.instance_for_test() as instance:
        location = Location(example, instance)
        location.answer()
    graph = location.defs.resolve_asset_graph()
    predictions = graph.get(dg.AssetKey(["quality", "predictions"]))
    assert dg.AssetKey(["help_desk", "answers"]) in predictions.parent_keys
    lines = (example / "data" / "questions.jsonl").read_text("utf-8").splitlines()
    gold = {each["question_id"]: each["gold_doc_ids"] for each in map(json.loads, lines)}
    for system, right in RIGHT.items():
        rows = pl.read_parquet(example / "answers" / f"{system}.parquet")
        found = rows.select("question_id", pl.col("retrieved").list.first()).rows()
        assert sum(first["doc_id"] in gold[question] for question, first in found) == right


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with an empty instance and without our variable."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", "utf-8")
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "DG_CLI_CONFIG": str(home / "dg.toml"),
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(Path(sys.prefix)),
    }
    environment.pop("SCORELINE_CONFIG", None)
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


@takes_minutes
def test_dagster_validates_the_example(example: Path) -> None:
    done = run(example, sys.executable, "-m", "dagster", "definitions", "validate")
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr


@takes_minutes
def test_dg_checks_the_example_and_adds_a_project_by_its_component(example: Path) -> None:
    pytest.importorskip("dagster_dg_cli")
    done = run(example, "dg", "check", "defs")
    assert done.returncode == 0, done.stdout + done.stderr

    # The same project as a component: `definitions.py` loads the folder `defs`.
    component = example / "help_desk" / "defs" / "quality"
    component.mkdir(parents=True)
    (component / "defs.yaml").write_text(
        "type: scoreline.dagster.ScorelineProject\n"
        "attributes:\n"
        "  config: ../../../scoreline.yaml\n"
        "  key_prefix: desk\n"
        "  group_prefix: desk\n",
        "utf-8",
    )
    (example / "help_desk" / "definitions.py").write_text(
        "from pathlib import Path\n"
        "import dagster as dg\n"
        "from help_desk.answers import answers\n\n"
        "@dg.definitions\n"
        "def defs():\n"
        "    loaded = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
        "    return dg.Definitions.merge(dg.Definitions(assets=[answers]), loaded)\n",
        "utf-8",
    )
    done = run(example, "dg", "check", "defs")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(example, "dg", "list", "defs", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout[done.stdout.index("{") :])
    keys = {each["asset_key"] for each in listed["assets"]}
    assert {"help_desk/answers", "desk/predictions", "desk/scores/rouge"} <= keys
    assert "desk_upstream_assets" in {each["name"] for each in listed["sensors"]}

    # A wrong attribute is an error that names it.
    text = (component / "defs.yaml").read_text("utf-8")
    (component / "defs.yaml").write_text(text.replace("key_prefix", "prefix"), "utf-8")
    done = run(example, "dg", "check", "defs")
    assert done.returncode != 0
    assert "prefix" in done.stdout + done.stderr


@takes_minutes
def test_the_examples_share_a_code_location() -> None:
    done = run_in_repository("-m", "dagster", "definitions", "validate")
    assert done.returncode == 0, done.stderr


def run_in_repository(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the repository, whose pyproject.toml names the code location."""
    environment = {**os.environ, "DAGSTER_DISABLE_TELEMETRY": "yes"}
    environment.pop("SCORELINE_CONFIG", None)
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
