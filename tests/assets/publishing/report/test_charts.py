"""Every chart of the example project is valid according to the schema of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import pytest
from jsonschema import ValidationError

from assets.publishing.report.benchmark_page import build_panels
from assets.publishing.report.panel import BenchmarkData
from assets.publishing.report.part import ReportPart
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.assets.publishing.report.conftest import Report

CHARTS = {
    *("leaderboard", "failures", "phi", "delta", "noise", "mean_cost", "median_latency"),
    *("confusion", "hardest", "combined", "history"),
}


def test_every_chart_is_valid(handbook: Report) -> None:
    drawn = set()
    with Snapshot(handbook.copy).open() as copy:
        benchmarks = copy.fetch("SELECT DISTINCT benchmark FROM leaderboard")["benchmark"]
        part = ReportPart(copy, benchmarks.to_list())
        for name in benchmarks:
            for _, content in build_panels(BenchmarkData(part, name, "digest")):
                for chart, spec in {**content.charts, **content.images}.items():
                    if spec is not None:
                        alt.Chart.from_dict(spec)
                        drawn.add(chart)
    assert drawn == CHARTS


def legends(part: Any) -> Iterator[list[str]]:
    """Yield the systems of each legend in a chart."""
    if isinstance(part, dict):
        legend = part.get("legend")
        if part.get("field") == "system" and isinstance(legend, dict):
            yield legend["values"]
        for each in part.values():
            yield from legends(each)
    elif isinstance(part, list):
        for each in part:
            yield from legends(each)


@pytest.mark.parametrize(
    ("benchmark", "charts"),
    [
        ("deck-hand-exam", {"phi", "delta"}),
        ("ticket-counter", {"combined"}),
        ("noisy-passages", {"noise"}),
    ],
)
def test_legends_have_the_order_of_the_leaderboard(
    handbook: Report, benchmark: str, charts: set[str]
) -> None:
    with Snapshot(handbook.copy).open() as copy:
        data = BenchmarkData(ReportPart(copy, [benchmark]), benchmark, "digest")
        # An order that no chart has by chance.
        order = sorted(data.systems, reverse=True)
        data.__dict__["ranked_systems"] = order
        found = {
            chart: list(legends(spec))
            for _, content in build_panels(data)
            for chart, spec in content.charts.items()
        }
    named = {chart: each for chart, each in found.items() if each}
    assert charts <= set(named)
    for chart, each in named.items():
        for systems in each:
            assert len(systems) > 1
            assert systems == [system for system in order if system in systems], chart


def test_the_schema_refuses_an_invalid_chart() -> None:
    with pytest.raises(ValidationError):
        alt.Chart.from_dict({"mark": "circel", "data": {"values": []}})
