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


def test_metadata_has_a_table_a_chart_and_numbers(workshop: Workshop) -> None:
    workshop.with_prediction("poor", 0, error="out of memory", answer=None)
    found = metadata(workshop)
    assert "| good |" in str(found["leaderboard"].value)
    picture = re.fullmatch(
        r"!\[means and 95 % intervals of trial\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)",
        str(found["plot"].value),
    )
    assert picture
    drawn = ET.fromstring(base64.b64decode(picture[1]))  # noqa: S314
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"citation.f1", "good", "poor"} <= set(texts)
    assert isinstance(found["citation.f1 of good"], dg.FloatMetadataValue)
    assert found["citation.f1 of good"].value == pytest.approx(1.0)
    assert found["failed answers"] == dg.MetadataValue.int(1)
    assert found["lost scores"] == dg.MetadataValue.int(0)
    assert found["lowest coverage"] == dg.MetadataValue.float(1.0)


def test_means_of_many_systems_are_not_plotted(workshop: Workshop) -> None:
    for at in range(12):
        workshop.predictions[f"s{at}"] = workshop.predictions["good"]
    assert not [name for name in metadata(workshop) if " of s" in name]


def test_table_cells_escape_markup_and_line_breaks() -> None:
    table = markdown_table([{"system": "<img src=x>|\n| b & c", "mean": "0.5"}])
    head, rules, row = table.split("\n")
    assert (head, rules) == ("| system | mean |", "| --- | ---: |")
    assert row == "| &lt;img src=x&gt;\\| \\| b &amp; c | 0.5 |"
