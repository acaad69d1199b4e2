"""Executors of many processes on a lake: the same tables as in one process on a file."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from orchestration import starter
from tests import services
from tests.lakes import fresh, unlike
from tests.orchestration.celery_worker import worker
from tests.orchestration.conftest import scoreline
from tests.orchestration.executors.test_executors import MULTIPROCESS, configure
from tests.orchestration.runs.test_lake_runs import moved, warehouse
from tests.services import takes_longest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Lake

VALIDATED = {"SCORELINE_EXPECTATIONS": "full"}


@pytest.fixture
def lake(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path / "lake") as place:
        yield place


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after a run in one process on a file, validated by Great Expectations."""
    home = tmp_path_factory.mktemp("alone") / "demo"
    starter.write(home)
    done = scoreline(home, "run", **VALIDATED)
    assert done.code == 0, done.err
    return home


@takes_longest
@pytest.mark.timeout(900)
@pytest.mark.parametrize("execution", [MULTIPROCESS, {"executor": "celery"}])
def test_steps_apart_on_a_lake(
    alone: Path, lake: Lake, tmp_path: Path, execution: dict[str, Any]
) -> None:
    home = tmp_path / "demo"
    starter.write(home)
    configure(moved(home, lake), execution=execution)
    variables = {"SCORELINE_BROKER": services.redis(), **VALIDATED}
    with ExitStack() as workers:
        if execution["executor"] == "celery":
            workers.enter_context(worker(home, **variables))
        done = scoreline(home, "run", **variables)
    assert done.code == 0, done.err
    assert unlike(warehouse(alone), warehouse(home)) == []
    assert warehouse(home).fetch("SELECT count(*) FROM validations").item() > 0
    assert not list(home.rglob("warehouse.duckdb*"))
