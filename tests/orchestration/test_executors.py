"""Executors: steps in processes of their own produce the same tables and messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestration import starter
from orchestration.config import load
from orchestration.errors import SettingsError
from tests.orchestration.conftest import Ended, scoreline
from tests.orchestration.daemon import LOADED, interface, until
from tests.orchestration.judged_project import JudgedProject
from tests.orchestration.runs.test_lake_runs import moved, warehouse
from tests.support import services
from tests.support.judge_server import JudgeServer
from tests.support.lakes import fresh, unlike
from tests.support.services import takes_minutes
from tests.support.warehouse_contents import contents
from warehouse.store import Warehouse

MULTIPROCESS: dict[str, Any] = {"executor": "multiprocess", "max_concurrent": 2}


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return contents(Warehouse(load.load_config(folder / "scoreline.yaml").project.warehouse))


def configure(folder: Path, **more: object) -> None:
    file = folder / "scoreline.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump({**document, **more}, sort_keys=False), encoding="utf-8")


@services.takes_minutes
def test_processes_write_the_same_tables(
    done_project: Path, first_run: Ended, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    starter.write_starter(folder)
    configure(folder, execution=MULTIPROCESS)
    done = scoreline(folder, "run")
    assert done.out == first_run.out, done.err
    assert done.messages == first_run.messages.replace(str(done_project), str(folder))
    assert tables(folder) == tables(done_project)


@services.takes_longest
def test_processes_call_the_judge_as_often_as_one_process(tmp_path: Path) -> None:
    found = []
    for execution in ({}, MULTIPROCESS):
        with JudgeServer() as server:
            judge = {"model": "openai/a-judge", "api_base": server.url, "concurrency": 4}
            home = tmp_path / f"{len(found)}"
            project = JudgedProject(home, judge, more={"execution": execution})
            project.write()
            done = scoreline(home, "run", OPENAI_API_KEY="none")
            assert done.code == 0, done.err
            found.append((server.count, tables(home)))
    assert found[0][0] > 0
    assert found[1] == found[0]


@services.takes_longest
@pytest.mark.timeout(900)
def test_processes_write_the_same_tables_on_a_lake(postgres_database: str, tmp_path: Path) -> None:
    """Great Expectations validates both runs."""
    validated = {"SCORELINE_EXPECTATIONS": "full"}
    on_file, on_lake = tmp_path / "file", tmp_path / "lake"
    starter.write_starter(on_file)
    starter.write_starter(on_lake)
    with fresh(postgres_database, tmp_path / "data") as lake:
        configure(moved(on_lake, lake), execution=MULTIPROCESS)
        for home in (on_file, on_lake):
            done = scoreline(home, "run", **validated)
            assert done.code == 0, done.err
        assert unlike(warehouse(on_file), warehouse(on_lake)) == []
        assert warehouse(on_lake).fetch("SELECT count(*) FROM validations").item() > 0
        assert not list(on_lake.rglob("warehouse.duckdb*"))


@takes_minutes
def test_a_failing_step_has_the_same_message_in_its_own_process(tmp_path: Path) -> None:
    ended = []
    for execution in ({"executor": "in_process"}, MULTIPROCESS):
        folder = tmp_path / execution["executor"]
        starter.write_starter(folder)
        configure(folder, execution=execution)
        questions = folder / "data" / "questions.jsonl"
        questions.write_text(questions.read_text(encoding="utf-8") + "{oops\n", encoding="utf-8")
        done = scoreline(folder, "run")
        ended.append((done.code, done.out, done.messages.replace(str(folder), "")))
    assert ended[0] == ended[1]
    assert ended[0][0] == 2
    assert "questions.jsonl" in ended[0][2]


# The script, unlike `python -m`, does not put the current folder on `sys.path`.
SCRIPT = str(Path(sys.executable).with_name("scoreline"))
SHADOWS = (
    *("warehouse.py", "evaluators.py", "assets/__init__.py", "orchestration/__init__.py"),
    *("systems.py", "calls.py", "records.py"),
)


@pytest.fixture
def shadowed(tmp_path: Path) -> Path:
    """A project whose folder holds modules with the names of our packages, which cannot load."""
    starter.write_starter(tmp_path)
    for name in SHADOWS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise RuntimeError(__file__)\n", encoding="utf-8")
    return tmp_path


@services.takes_longest
def test_steps_import_nothing_from_the_current_folder(shadowed: Path) -> None:
    configure(shadowed, execution=MULTIPROCESS)
    environment = {**os.environ, "SCORELINE_EXPECTATIONS": "full"}
    done = subprocess.run(
        [SCRIPT, "run"], cwd=shadowed, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "RuntimeError" not in done.stderr


@services.takes_longest
def test_the_interface_imports_nothing_from_the_current_folder(shadowed: Path) -> None:
    configure(shadowed, execution=MULTIPROCESS)
    with interface(shadowed, command=(SCRIPT,)) as dev:
        assert dev.query(LOADED)["workspaceOrError"]["locationEntries"] == [
            {"name": "scoreline", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
        ]
        run = dev.launch("harbour", "harbour")
        until("the run", lambda: dev.status(run) in ("SUCCESS", "FAILURE"))
        assert dev.status(run) == "SUCCESS"


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        ({"executor": "kubernetes"}, "'multiprocess'"),
        ({"executor": "celery"}, "'celery' no longer exists.*run_per_benchmark: true"),
        ({"max_concurrent": 4}, "only the executor 'multiprocess'"),
        ({"executor": "multiprocess", "max_concurrent": 0}, "1"),
    ],
)
def test_invalid_execution_settings(
    tmp_path: Path, execution: dict[str, object], expected: str
) -> None:
    file = tmp_path / "scoreline.yaml"
    benchmark = {"questions": "q.jsonl", "predictions": "p.jsonl", "evaluators": ["rouge"]}
    document = {"benchmarks": {"b": benchmark}, "execution": execution}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(SettingsError, match=expected):
        load.load_config(file)
