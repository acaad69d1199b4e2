"""Classification: all metrics of the classes, and a confusion matrix for each system."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assets.charts import style
from assets.publishing.report.formatting import format_number, format_words
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

MATRICES = """
SELECT benchmark, system, detail
FROM system_scores
WHERE benchmark IN ({benchmarks}) AND slice = 'all' AND evaluator = 'classification'
    AND detail IS NOT NULL
ORDER BY metric, system
"""

NO_LABEL = "(none)"
"""What the matrix shows for an answer without a class."""

WHITE_TEXT_SHARE = 0.6
"""Cells with a greater share are so dark that their text is white."""


def build(data: BenchmarkData, matrices: pl.DataFrame) -> Content | None:
    """Return the metrics of the systems and their confusion matrices."""
    details = {system: json.loads(detail) for system, detail in matrices.iter_rows()}
    confusion = {
        system: details[system]
        for system in data.ranked_systems
        if "confusion_matrix" in details.get(system, {})
    }
    if not confusion:
        return None
    for matrix in confusion.values():
        matrix["classes"] = [*matrix["labels"], *(x or NO_LABEL for x in matrix["unexpected"])]
    heads, rows = metric_rows(data)
    return Content(
        values={"heads": heads, "rows": rows, "matrices": confusion},
        images={"confusion": confusion_chart(confusion)},
    )


def metric_rows(data: BenchmarkData) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the names of the metrics, and the mean of each for each system."""
    rows = [row for row in data.overall if row["evaluator"] == "classification"]
    primary_first = sorted(rows, key=lambda row: row["is_primary"] != 1)
    metrics = list(dict.fromkeys(row["metric"] for row in primary_first))
    means = {(row["system"], row["metric"]): row["mean"] for row in rows}
    return [format_words(metric) for metric in metrics], [
        (system, [format_number(means.get((system, metric))) for metric in metrics])
        for system in data.ranked_systems
    ]


def confusion_chart(matrices: dict[str, dict[str, Any]]) -> style.Spec:
    """Draw a matrix for each system: expected classes in rows, chosen classes in columns."""
    rows = [
        {
            "system": system,
            "expected": expected,
            "chosen": chosen,
            "n": n,
            "share": n / max(1, sum(counts)),
        }
        for system, matrix in matrices.items()
        for expected, counts in zip(matrix["classes"], matrix["confusion_matrix"], strict=True)
        for chosen, n in zip(matrix["classes"], counts, strict=True)
    ]
    cell_text = {
        "text": style.quantity("n"),
        "color": {
            "condition": {"test": f"datum.share > {WHITE_TEXT_SHARE}", "value": "white"},
            "value": "black",
        },
    }
    colour = style.quantity("share", legend=None, scale={"scheme": "blues"})
    matrix = {
        "encoding": {
            "x": style.nominal("chosen", title="Chosen", sort=None),
            "y": style.nominal("expected", title="Expected", sort=None),
        },
        "layer": [
            {"mark": "rect", "encoding": {"color": colour}},
            {"mark": "text", "encoding": cell_text},
        ],
        "width": 200,
        "height": 200,
    }
    return style.to_spec(
        {
            "data": {"values": rows},
            "facet": style.nominal("system", header={"title": None}),
            "columns": 3,
            "spec": matrix,
        }
    )


PANEL = Panel(title="Classification", position=40, build=build, queries={"matrices": MATRICES})
