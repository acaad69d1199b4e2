"""Skip the tests of faults unless services are required, and never retry them.

A retry hides exactly what these tests look for: what happens at one moment in many.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.services import REQUIRED

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skipped = pytest.mark.skip(reason="takes minutes and services: `make faults` runs it")
    once = pytest.mark.flaky(reruns=0)
    for item in items:
        # The hook is told of all tests, not only of those of this folder.
        if item.path.is_relative_to(HERE):
            item.add_marker(once if REQUIRED else skipped)
