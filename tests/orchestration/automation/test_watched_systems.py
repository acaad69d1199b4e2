"""The sensor of files and the systems that are asked: an edit of their source starts a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from assets.project import Automation
from orchestration.automation.file_watch import FileWatch
from orchestration.config.load import load_config
from tests.orchestration.asked_project import AskedProject

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Project

SETTLE_S = 10


@pytest.fixture
def asked(tmp_path: Path) -> AskedProject:
    """Return a project with a benchmark for each kind of system that has files."""
    made = AskedProject(
        tmp_path / "project",
        systems={
            "rag": {"python": "my_rag.py:answer"},
            "model": {"model": "openai/m", "prompt": "prompt.j2"},
            "script": {"command": ["python", "answer.py"]},
        },
        benchmark={"systems": ["rag"]},
        more={"modelled": {"systems": ["model"]}, "scripted": {"systems": ["script"]}},
    )
    made.home.mkdir()
    for name in ("prompt.j2", "answer.py"):
        (made.home / name).write_text("{{ question }}", encoding="utf-8")
    made.write()
    return made


@pytest.fixture
def project(asked: AskedProject) -> Project:
    loaded = load_config(asked.home / "scoreline.yaml").project
    return replace(loaded, automation=Automation(settle_s=SETTLE_S))


def settled(watch: FileWatch, project: Project, now: float) -> tuple[FileWatch, list[str]]:
    """The benchmarks that are ready once their files have settled, marked as requested."""
    watch, _, _ = watch.update(project, now)
    watch, ready, _ = watch.update(project, now + SETTLE_S)
    return watch.mark_requested(ready), ready


@pytest.mark.parametrize(
    ("edited", "benchmark"),
    [("my_rag.py", "rooms"), ("prompt.j2", "modelled"), ("answer.py", "scripted")],
)
def test_an_edited_file_of_a_system_makes_its_benchmark_ready(
    asked: AskedProject, project: Project, edited: str, benchmark: str
) -> None:
    watch, ready = settled(FileWatch(), project, 0)
    assert ready == list(project.benchmarks)
    watch, ready = settled(watch, project, 100)
    assert ready == []
    file = asked.home / edited
    file.write_bytes(file.read_bytes() + b"\n")
    watch, ready, changing = watch.update(project, 200)
    assert (ready, changing) == ([], [benchmark])
    watch, ready = settled(watch, project, 200)
    assert ready == [benchmark]
    assert settled(watch, project, 300)[1] == []


def test_a_file_of_a_system_that_is_missing_waits(asked: AskedProject, project: Project) -> None:
    watch, _ = settled(FileWatch(), project, 0)
    file = asked.home / "my_rag.py"
    file.rename(asked.home / "elsewhere.py")
    watch, ready = settled(watch, project, 100)
    assert ready == []
    (asked.home / "elsewhere.py").rename(file)
    file.write_bytes(file.read_bytes() + b"\n")
    assert settled(watch, project, 200)[1] == ["rooms"]
