"""The screenshots of the documentation show the report as it is now."""

from __future__ import annotations

import runpy
from difflib import ndiff
from typing import TYPE_CHECKING

import pytest

from tests.support.documents import ROOT
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "docs" / "screenshots"
MAKE = runpy.run_path(str(FOLDER / "make.py"))
DAGSTER = {"graph", "leaderboard", "backfill"}
"""Pictures of Dagster, whose pages change with its version only."""


def test_each_picture_has_its_text_and_is_in_a_document() -> None:
    pictures = {path.stem for path in FOLDER.glob("*.png")}
    assert {path.stem for path in FOLDER.glob("*.txt")} == pictures
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in sorted(pictures) if f"screenshots/{name}.png)" not in shown] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("published 2026-11-23 20:25 UTC", "published DATE UTC"),
        ("Nov 23, 8:20 PM", "DATE"),
        ("scored in 0.35 s by run 92ecc304", "scored in DURATION by run DIGEST"),
        ("Scoreline 0.1.0", "Scoreline VERSION"),
        ("rag (0.861), 24 questions, 12345678 rows", "rag (0.861), 24 questions, 12345678 rows"),
    ],
)
def test_what_differs_from_run_to_run_does_not_count(text: str, expected: str) -> None:
    assert MAKE["normalize"](text) == f"{expected}\n"


@pytest.mark.browser
@takes_minutes
def test_no_screenshot_is_outdated(handbook_run: Path) -> None:
    shown: dict[str, str] = {}
    with MAKE["browser"]() as driver:
        for name, css in MAKE["show_report"](driver, handbook_run / "published"):
            shown[name] = MAKE["read_text"](driver, css)
    saved = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    assert {*shown} == {*saved} - DAGSTER - {"overview"}
    for name, text in shown.items():
        lines = ndiff(saved[name].splitlines(), text.splitlines())
        changed = [line for line in lines if not line.startswith(" ")]
        assert not changed, f"{name}.png is outdated: `make screenshots` takes it again"
