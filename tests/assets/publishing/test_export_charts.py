"""Charts are exported as images; one that cannot be drawn is missing, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.charts import style
from assets.publishing.exports.charts import write_charts
from warehouse.publish import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.assets.conftest import Workshop
    from warehouse.storage.transaction import Transaction

HOSTILE = {"q0": "q\u0001", "q1": "q\u0000", "q2": "q\u2028", "q3": "q\u2029", "q4": "q\uffff"}
"""Ids that no input file may contain, but an old warehouse may."""

SEPARATORS = {0x2028: 0xFFFD, 0x2029: 0xFFFD}
"""Characters that make the library refuse a chart. The others abort its process."""

CHARTS = ("leaderboard", "confusion", "hardest")
NOTE = "the chart 'hardest' is missing: the process that draws charts ended: SIGABRT"


@pytest.fixture
def hostile(published: Workshop) -> Workshop:
    """A published project whose tables contain hostile ids."""

    def rename(transaction: Transaction) -> None:
        for table in ("questions", "predictions", "grades"):
            for name, odd in HOSTILE.items():
                changed = transaction.execute(
                    f"UPDATE {table} SET question_id = $odd WHERE question_id = $name",
                    {"name": name, "odd": odd},
                )
                assert changed > 0

    published.warehouse.write(rename)
    return published


def export(workshop: Workshop, folder: Path) -> tuple[list[Path], list[str]]:
    """Publish, and export the charts into a folder."""
    path = snapshot.publish(workshop.warehouse, workshop.project.publish)
    with snapshot.Snapshot(path).open() as copy:
        return write_charts(copy, "trial", folder)


def test_hostile_ids_are_drawn(hostile: Workshop, tmp_path: Path) -> None:
    written, notes = export(hostile, tmp_path)
    assert notes == []
    names = [f"{name}.{kind}" for name in CHARTS for kind in ("svg", "png")]
    assert written == [tmp_path / name for name in names]
    drawn = (tmp_path / "hardest.svg").read_text(encoding="utf-8")
    assert "q\u2401" in drawn
    assert "q\u2400" in drawn
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_that_aborts_the_library_costs_one_image(
    hostile: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "UNDRAWABLE", SEPARATORS)
    written, notes = export(hostile, tmp_path)
    (note,) = notes
    assert note.startswith(NOTE)
    assert {path.stem for path in written} == {"leaderboard", "confusion"}
    assert not (tmp_path / "hardest.svg").exists()
