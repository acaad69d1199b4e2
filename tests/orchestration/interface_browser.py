"""A browser for the tests that look at the interface."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium import webdriver

SIZE = (1600, 1000)
"""The window, wide enough for the graph beside its panels."""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """A browser without a history, settings or an account."""
    with contextmanager(started)(tmp_path / "profile") as running:
        running.driver.set_window_size(*SIZE)
        yield running.driver
