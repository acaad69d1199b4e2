"""The generated pages in `docs/` are what the code declares."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from docs import generate

if TYPE_CHECKING:
    from pathlib import Path


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_change_by_hand_is_found_and_undone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in generate.PAGES:
        shutil.copy(generate.HERE / page, tmp_path)
    page = tmp_path / name
    right = page.read_text(encoding="utf-8")
    line = max((line for line in right.splitlines() if line.startswith("| `")), key=len)
    page.write_text(right.replace(line, line.replace(" ", "  ", 1), 1), encoding="utf-8")
    assert generate.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == f"docs/{name} is stale: run `make docs`\n"
    assert generate.main([], tmp_path) == 0
    assert page.read_text(encoding="utf-8") == right
