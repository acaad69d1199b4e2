"""Skips every fault where nobody asked for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services import REQUIRED

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if REQUIRED:
        return
    why = pytest.mark.skip(reason="takes minutes and services: `make faults` runs it")
    for item in items:
        # The hook is told of all tests, not only of those of this folder.
        if item.path.is_relative_to(HERE):
            item.add_marker(why)
