"""A file that is replaced is never seen half, however many write it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path


def test_two_that_write_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    target, both = tmp_path / "page.html", Barrier(2)

    def write(text: str) -> None:
        with replace_file(target) as beside:
            both.wait(10)
            beside.write_text(text)
            both.wait(10)

    with ThreadPoolExecutor(2) as writers:
        list(writers.map(write, ["a" * 1000, "b" * 1000]))
    assert target.read_text() in ("a" * 1000, "b" * 1000)
    assert list(tmp_path.iterdir()) == [target]


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("before")

    def fail() -> None:
        with replace_file(target) as beside:
            beside.write_text("half")
            raise ValueError("full")

    with pytest.raises(ValueError, match="full"):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
