"""Steps in processes of their own, and with a worker: the same tables, the same messages."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestration import starter
from orchestration.config import load
from orchestration.errors import SettingsError
from tests import services
from tests.contents import contents
from tests.judge_server import JudgeServer
from tests.orchestration.celery_worker import worker
from tests.orchestration.conftest import Ended, scoreline
from tests.orchestration.judged_project import JudgedProject
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

MULTIPROCESS: dict[str, Any] = {"executor": "multiprocess", "max_concurrent": 2}


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return contents(Warehouse(load.read(folder / "scoreline.yaml").project.warehouse))


def configure(folder: Path, **more: object) -> None:
    file = folder / "scoreline.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump({**document, **more}, sort_keys=False), encoding="utf-8")


@services.takes_minutes
def test_steps_in_processes_of_their_own_make_the_same_tables(
    done_project: Path, first_run: Ended, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    starter.write(folder)
    configure(folder, execution=MULTIPROCESS)
    done = scoreline(folder, "run")
    assert done.out == first_run.out, done.err
    assert done.err == first_run.err.replace(str(done_project), str(folder))
    assert tables(folder) == tables(done_project)


@services.takes_longest
@pytest.mark.timeout(900)
def test_a_judge_is_asked_as_often_by_steps_apart(tmp_path: Path) -> None:
    address = {"SCORELINE_BROKER": services.redis()}
    found = []
    for name, execution in (
        ("together", {}),
        ("processes", MULTIPROCESS),
        ("worker", {"executor": "celery"}),
    ):
        with JudgeServer() as server, ExitStack() as workers:
            judge = {"model": "openai/a-judge", "api_base": server.url, "concurrency": 4}
            project = JudgedProject(tmp_path / name, judge, more={"execution": execution})
            project.write()
            key = {"OPENAI_API_KEY": "none"}
            if name == "worker":
                workers.enter_context(worker(project.home, **key, **address))
                # Who starts the run needs no key: it is the worker who asks.
                key = {}
            done = scoreline(project.home, "run", **key, **address)
            assert done.code == 0, done.err
            found.append((server.count, tables(project.home)))
    assert found[0][0] > 0
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_what_goes_wrong_in_a_step_is_told_as_ever(tmp_path: Path) -> None:
    told = []
    for execution in ({"executor": "in_process"}, MULTIPROCESS):
        folder = tmp_path / execution["executor"]
        starter.write(folder)
        configure(folder, execution=execution)
        questions = folder / "data" / "questions.jsonl"
        questions.write_text(questions.read_text(encoding="utf-8") + "{oops\n", encoding="utf-8")
        done = scoreline(folder, "run")
        told.append((done.code, done.out, done.err.replace(str(folder), "")))
    assert told[0] == told[1]
    assert told[0][0] == 2
    assert "questions.jsonl" in told[0][2]


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        ({"executor": "kubernetes"}, "'celery'"),
        ({"max_concurrent": 4}, "only the executor 'multiprocess'"),
        ({"executor": "celery", "max_concurrent": 4}, "scoreline worker --concurrency"),
        ({"executor": "multiprocess", "max_concurrent": 0}, "1"),
    ],
)
def test_settings_that_fit_no_executor(
    tmp_path: Path, execution: dict[str, object], expected: str
) -> None:
    file = tmp_path / "scoreline.yaml"
    benchmark = {"questions": "q.jsonl", "predictions": "p.jsonl", "evaluators": ["rouge"]}
    document = {"benchmarks": {"b": benchmark}, "execution": execution}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(SettingsError, match=expected):
        load.read(file)


def test_without_a_broker_nobody_waits(own_project: Path) -> None:
    configure(own_project, execution={"executor": "celery"})
    for command in (["run", "--force"], ["worker"]):
        done = scoreline(own_project, *command, SCORELINE_BROKER="")
        assert done.code == 2
        assert "SCORELINE_BROKER is not set" in done.err


def test_a_worker_that_would_have_nothing_to_do_is_refused(own_project: Path) -> None:
    done = scoreline(own_project, "worker")
    assert done.code == 2
    assert "execution: {executor: celery}" in done.err
