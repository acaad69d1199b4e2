"""Projects in temporary folders, and the real command run on them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from orchestration import starter
from tests.orchestration.interface_browser import browser
from tests.orchestration.judged_project import PRICES, JudgedProject
from tests.support.command import Ended, scoreline
from tests.support.judge_server import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


__all__ = ["Ended", "browser", "scoreline"]


@pytest.fixture(scope="session")
def _once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    folder = tmp_path_factory.mktemp("done") / "demo"
    starter.write_starter(folder)
    return folder, scoreline(folder, "run")


@pytest.fixture(scope="session")
def first_run(_once: tuple[Path, Ended]) -> Ended:
    """What the first run of the starter project printed."""
    return _once[1]


@pytest.fixture(scope="session")
def done_project(_once: tuple[Path, Ended]) -> Path:
    """The starter project after its first run; tests leave it as it is."""
    return _once[0]


@pytest.fixture
def own_project(_once: tuple[Path, Ended], tmp_path: Path) -> Path:
    """A copy of the starter project after its first run, to be changed at will."""
    return shutil.copytree(_once[0], tmp_path / "demo")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    """A judge that gives replies of the right form."""
    with JudgeServer() as running:
        yield running


@pytest.fixture
def priced(tmp_path: Path, server: JudgeServer) -> JudgedProject:
    """A project with one judged evaluator, whose calls have a price."""
    judge = {"model": "openai/judge", "api_base": server.url, "max_attempts": 1, **PRICES}
    project = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    project.write()
    return project
