"""Great Expectations and steps in processes of their own: it is loaded once for the whole run."""

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
from tests.services import takes_longest, takes_minutes
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
            with open(os.environ["LOADED"], "a") as told:
                told.write(str(os.getpid()) + "\\n")

if "LOADED" in os.environ:
    sys.meta_path.insert(0, Watch())
"""
"""Run by Python when it starts; writes down each process that loads the library."""

APART = {"executor": "multiprocess", "max_concurrent": 2}


def by_itself(_: str) -> list[list[str]]:
    """The commands by which Scoreline carries out a run."""
    return [["orchestration.cli", "run"]]


def by_dagster(benchmark: str) -> list[list[str]]:
    """The commands by which Dagster carries out a run, as when the interface asked for it."""
    job = ["--module-name", "orchestration.definitions", "--job", EVALUATE]
    tags = json.dumps(range_tags(benchmark, benchmark))
    return [
        ["orchestration.instance", "scoreline.yaml"],
        ["dagster", "job", "execute", *job, "--tags", tags],
    ]


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(by_itself, fingerprints=takes_minutes),
        pytest.param(by_dagster, fingerprints=takes_longest),
    ],
)
def test_it_is_loaded_once_in_a_run(tmp_path: Path, commands: Commands) -> None:
    watch, home, loaded = tmp_path / "watch", tmp_path / "home", tmp_path / "loaded"
    watch.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    starter.write_starter(home)
    file = home / "scoreline.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump({**document, "execution": APART}), encoding="utf-8")
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
    # Several steps asked it, each in a process of its own.
    warehouse = Warehouse(project.warehouse)
    stages = "SELECT count(*) FROM marks WHERE starts_with(stage, 'expectations/')"
    assert warehouse.fetch(stages).item() >= 4
    with dg.DagsterInstance.from_config(environment["DAGSTER_HOME"]) as opened:
        (run,) = opened.get_runs()
        events = opened.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_WORKER_STARTED)
        assert len(events) >= 4
    assert len(loaded.read_text(encoding="utf-8").split()) == 1
