"""Every chart of the example project is valid according to the schema of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pytest
from jsonschema import ValidationError

from assets.publishing.report.benchmark_page import build_panels
from assets.publishing.report.panel import BenchmarkData
from assets.publishing.report.part import ReportPart
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from tests.assets.publishing.report.conftest import Report

CHARTS = {
    *("leaderboard", "failures", "phi", "delta", "noise", "mean_cost", "median_latency"),
    *("confusion", "hardest", "combined"),
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


def test_the_schema_refuses_an_invalid_chart() -> None:
    with pytest.raises(ValidationError):
        alt.Chart.from_dict({"mark": "circel", "data": {"values": []}})
