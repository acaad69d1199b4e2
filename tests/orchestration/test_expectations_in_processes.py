"""Great Expectations in runs whose steps are separate processes: only workers import it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import dagster as dg
import pytest
import yaml

from orchestration import instance, starter
from orchestration.config import load
from orchestration.jobs import EVALUATE, range_tags
from tests.support.services import takes_longest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Commands = Callable[[str], list[list[str]]]

LIBRARY = "great_expectations"

WATCH = f"""
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "{LIBRARY}":
            is_worker = "--multiprocessing-fork" in sys.orig_argv
            with open(os.environ["LOADED"], "a") as log:
                print(os.getpid(), is_worker, file=log)

if "LOADED" in os.environ:
    sys.meta_path.insert(0, Watch())
"""
"""Python runs it when it starts; it logs each process that imports the library."""

MULTIPROCESS = {"executor": "multiprocess", "max_concurrent": 2}

ADDED = {
    table: [{"name": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}}]
    for table in ("questions", "predictions", "scores/citation", "leaderboard")
}
"""One expectation for each of the steps that validate."""


def with_scoreline(_: str) -> list[list[str]]:
    """Return the commands with which Scoreline runs the pipeline."""
    return [["orchestration.cli", "run"]]


def with_dagster(benchmark: str) -> list[list[str]]:
    """Return the commands with which Dagster runs the pipeline, as its interface does."""
    job = ["--module-name", "orchestration.definitions", "--job", EVALUATE]
    tags = json.dumps(range_tags(benchmark, benchmark))
    return [
        ["orchestration.cli", "dev", "--prepare"],
        ["dagster", "job", "execute", *job, "--tags", tags],
    ]


@takes_longest
@pytest.mark.parametrize("commands", [with_scoreline, with_dagster])
def test_only_workers_import_the_library(tmp_path: Path, commands: Commands) -> None:
    watch, home, loaded = tmp_path / "watch", tmp_path / "home", tmp_path / "loaded"
    watch.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    starter.write_starter(home)
    file = home / "scoreline.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    (starter_benchmark,) = document["benchmarks"].values()
    starter_benchmark["expectations"] = ADDED
    file.write_text(yaml.safe_dump({**document, "execution": MULTIPROCESS}), encoding="utf-8")
    project = load.load_config(file).project
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(watch), os.environ.get("PYTHONPATH")])),
        "LOADED": str(loaded),
        "SCORELINE_EXPECTATIONS": "full",
        "DAGSTER_HOME": str(instance.home(project)),
    }
    (benchmark,) = project.benchmarks
    for command in commands(benchmark):
        subprocess.run([sys.executable, "-m", *command], cwd=home, env=environment, check=True)
    warehouse = Warehouse(project.warehouse)
    stages = "SELECT count(*) FROM marks WHERE starts_with(stage, 'expectations/')"
    assert warehouse.fetch(stages).item() >= 4
    with dg.DagsterInstance.from_config(environment["DAGSTER_HOME"]) as opened:
        (run,) = opened.get_runs()
        events = opened.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTED)
        steps = [event.step_key or "" for event in events]
    # Four steps validate; each has one worker, which imports the library once.
    assert len([step for step in steps if step.startswith("check_") or "described" in step]) == 4
    imports = [line.split() for line in loaded.read_text(encoding="utf-8").splitlines()]
    assert len({process for process, _ in imports}) == len(imports) == 4
    assert {is_worker for _, is_worker in imports} == {"True"}
