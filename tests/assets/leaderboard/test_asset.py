"""The leaderboard's metadata in Dagster's interface: a table, a chart, numbers over time."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import dagster as dg
import pytest

from assets.keys import LEADERBOARD
from assets.metadata import markdown_table
from tests.assets.conftest import materialise, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.assets.conftest import Workshop


def metadata(workshop: Workshop) -> Mapping[str, dg.MetadataValue]:
    write(workshop.home / "questions.jsonl", workshop.questions)
    for system, rows in workshop.predictions.items():
        write(workshop.home / f"{system}.predictions.jsonl", rows)
    result = materialise(workshop.project, workshop.instance, LEADERBOARD)
    (event,) = result.asset_materializations_for_node("leaderboard")
    return event.metadata


def test_metadata_begins_with_a_table_and_a_picture(workshop: Workshop) -> None:
    workshop.with_prediction("poor", 0, error="out of memory", answer=None)
    found = metadata(workshop)
    # Some tables of the interface sort by name, others do not.
    assert list(found)[:2] == sorted(found)[:2] == ["Leaderboard", "Leaderboard plot"]
    board = str(found["Leaderboard"].value)
    verdict, _, head, _, good, poor, *_ = board.split("\n")
    assert verdict == (
        "good (1.000) is best on document_retrieval.recall_at_5, before poor (0.000): "
        "the difference is significant."
    )
    assert head.startswith("| system | ")
    assert re.match(r"\| good \| (\*\*1\.000\*\*|1\.000) \(0\.\d{3} to 1\.000\) \|", good)
    assert poor.startswith("| poor | 0.")
    assert isinstance(found["citation.f1 of good"], dg.FloatMetadataValue)
    assert found["citation.f1 of good"].value == pytest.approx(1.0)
    assert found["failed answers"] == dg.MetadataValue.int(1)
    assert found["lost scores"] == dg.MetadataValue.int(0)
    assert found["lowest coverage"] == dg.MetadataValue.float(1.0)


def test_many_systems_with_long_names_still_show_without_a_click(workshop: Workshop) -> None:
    for at in range(40):
        workshop.predictions[f"a system with a long name, number {at}"] = workshop.predictions[
            "good"
        ]
    found = metadata(workshop)
    board, plot = (str(found[name].value) for name in ("Leaderboard", "Leaderboard plot"))
    # Dagster's interface shows Markdown of fewer than 1,000 characters as it is.
    assert 500 < len(board) < 1_000
    assert re.search(r"and \d+ more systems, 2 more primary metrics$", board)
    assert 500 < len(plot) < 1_000
    picture = re.fullmatch(
        r"!\[means and 95 % intervals\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", plot
    )
    assert picture
    drawn = ET.fromstring(base64.b64decode(picture[1]))  # noqa: S314
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert len(texts) > 4
    assert texts[0] == "a system with a lon…"


def test_means_of_many_systems_are_not_plotted(workshop: Workshop) -> None:
    for at in range(12):
        workshop.predictions[f"s{at}"] = workshop.predictions["good"]
    assert not [name for name in metadata(workshop) if " of s" in name]


def test_table_cells_escape_markup_and_line_breaks() -> None:
    table = markdown_table([{"system": "<img src=x>|\n| b & c", "mean": "0.5"}])
    head, rules, row = table.split("\n")
    assert (head, rules) == ("| system | mean |", "| --- | ---: |")
    assert row == "| &lt;img src=x&gt;\\| \\| b &amp; c | 0.5 |"
