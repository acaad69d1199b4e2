"""What tests of every room may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Great Expectations takes seconds to load in each process: only its own tests ask for it.
os.environ.setdefault("SCORELINE_EXPECTATIONS", "sql")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the repository, which is no part of it.

    Tests that ask for it are skipped where it is not.
    """
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"real data that cannot be given away is missing: {folder}")
    return folder
