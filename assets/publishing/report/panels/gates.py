"""The verdicts of the configured gates, failed ones first."""

from __future__ import annotations

from collections import Counter
from typing import Any

from assets.publishing.report.formatting import (
    GATE_STATES,
    NO_VALUE,
    format_number,
    format_words,
    gate_state,
)
from assets.publishing.report.panel import BenchmarkData, Content, Panel

Row = dict[str, Any]


def build(data: BenchmarkData) -> Content | None:
    """Return a row per gate; None where none is configured."""
    if data.gates.is_empty():
        return None
    rows = [describe_gate(row) for row in data.gates.iter_rows(named=True)]
    counts = Counter(row["state"] for row in rows)
    counted = [f"{counts[state]} {state}" for state in GATE_STATES if counts[state]]
    return Content(values={"rows": rows, "counted": ", ".join(counted)})


def describe_gate(row: Row) -> Row:
    """Return a row of the table `gates` as texts."""
    interval = NO_VALUE
    if row["ci_low"] is not None:
        interval = f"{format_number(row['ci_low'])} to {format_number(row['ci_high'])}"
    return {
        "state": gate_state(row),
        "system": row["system"],
        "baseline": row["baseline"],
        "metric": f"{row['evaluator']}.{row['metric']}",
        "kind": row["kind"],
        "limit": f"{row['limit']:g}",
        "value": format_number(row["value"]),
        "interval": interval,
        "verdict": format_words(row["verdict"]),
        "message": row["message"],
    }


PANEL = Panel(title="Gates", position=15, build=build)
