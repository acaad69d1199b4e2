"""Every chart of the example project is one of Vega-Lite's, as its schema has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pytest
from jsonschema import ValidationError

from assets.publishing.report.benchmark_folder import interactive
from assets.publishing.report.charts.images import confusion, heat_map
from assets.publishing.report.heatmap import read_grid
from assets.publishing.report.page_data import benchmarks, gather
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from tests.assets.publishing.report.conftest import Report

KINDS = {
    *("leaderboard", "failures", "phi", "delta", "noise", "mean_cost", "median_latency"),
    *("confusion", "hardest"),
}


def test_every_kind_of_chart_is_valid(handbook: Report) -> None:
    drawn = set()
    with Snapshot(handbook.copy).held() as copy:
        for name in benchmarks(copy):
            facts = gather(copy, name, "any")
            first = facts.evaluators.row(0, named=True)
            grid = read_grid(copy, facts, first["evaluator"], first["signature"], first["metrics"])
            specs = {
                **interactive(facts),
                "confusion": confusion(facts),
                "hardest": heat_map(facts, grid, first["metrics"][0], low_is_best=True),
            }
            for kind, spec in specs.items():
                if spec is not None:
                    alt.Chart.from_dict(spec)
                    drawn.add(kind)
    assert drawn == KINDS


def test_a_chart_that_is_not_valid_is_found() -> None:
    with pytest.raises(ValidationError):
        alt.Chart.from_dict({"mark": "circel", "data": {"values": []}})
