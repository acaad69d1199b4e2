"""What tests of every room may ask for."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support import handbook
from tests.support.services import database

if TYPE_CHECKING:
    from collections.abc import Iterator

# A test tells what is right, not how long it takes on a busy machine.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

# Great Expectations takes seconds to load in each process: only its own tests ask for it.
os.environ.setdefault("SCORELINE_EXPECTATIONS", "sql")


@pytest.fixture(autouse=True)
def _no_storage_of_a_closed_instance() -> Iterator[None]:
    """Dagster remembers the storage of an instance that is closed before a later one."""
    module = sys.modules.get("dagster._core.storage.defs_state.base")
    with nullcontext() if module is None else module.set_defs_state_storage(None):
        yield


@pytest.fixture(scope="session")
def postgres_database() -> Iterator[str]:
    """The name of a PostgreSQL database, in which tests make schemas of their own."""
    with database() as name:
        yield name


@pytest.fixture(scope="session")
def handbook_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example project after its first run; tests leave it as it is."""
    return handbook.after_first_run(tmp_path_factory)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the repository, which is no part of it.

    Tests that ask for it are skipped where it is not.
    """
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"real data that cannot be given away is missing: {folder}")
    return folder
