"""Pictures of a benchmark that the page shows as tables: they are drawn in files only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from assets.charts.leaderboard import MOST_SYSTEMS

if TYPE_CHECKING:
    from assets.charts.leaderboard import Spec
    from assets.publishing.report.heatmap import Grid
    from assets.publishing.report.page_data import Facts

MOST_HARD = 40
"""Questions in the drawn heat map."""

SMALLEST_SHARE_IN_WHITE = 0.6

NONE = "(none)"
"""What stands for the empty label of an answer that chose no class."""


def heat_map(facts: Facts, grid: Grid, metric: str, *, low_is_best: bool) -> Spec | None:
    """The questions that systems did worst on, the hardest on top, by one metric.

    Args:
        facts: About the benchmark.
        grid: The numbers of the metric's evaluator.
        metric: The metric.
        low_is_best: Whether smaller numbers are better.
    """
    hard = facts.questions.with_row_index("q").drop_nulls("hardness")
    hard = hard.sort("hardness", descending=True).head(MOST_HARD)
    order = facts.order[:MOST_SYSTEMS]
    at = grid.metrics.index(metric)
    rows = [
        {"question": question, "system": system, "value": float(value)}
        for place, question in hard.select("q", "question_id").iter_rows()
        for system, value in zip(facts.systems, grid.values[at, place], strict=True)
        if system in order and not np.isnan(value)
    ]
    if not rows:
        return None
    drawn: Spec = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "system:N", sort=order, title=None, axis=alt.Axis(orient="top", labelAngle=-30)
            ),
            y=alt.Y("question:N", sort=hard["question_id"].to_list(), title=None),
            color=alt.Color(
                "value:Q",
                title=metric,
                scale=alt.Scale(scheme="viridis", reverse=low_is_best),
            ),
        )
        .properties(width=max(120, 48 * len(order)), height=16 * hard.height)
        .to_dict(validate=False)
    )
    return drawn


def confusion(facts: Facts) -> Spec | None:
    """A confusion matrix for each system: rows are the right classes, columns those chosen."""
    rows: list[dict[str, Any]] = []
    for system, matrix in matrices(facts).items():
        classes = [*matrix["labels"], *(each or NONE for each in matrix["unexpected"])]
        for right, line in zip(classes, matrix["confusion_matrix"], strict=True):
            for chosen, n in zip(classes, line, strict=True):
                share = n / max(1, sum(line))
                rows.append(
                    {"system": system, "right": right, "chosen": chosen, "n": n, "share": share}
                )
    if not rows:
        return None
    base = alt.Chart().encode(
        x=alt.X("chosen:N", title="Chosen", sort=None), y=alt.Y("right:N", title="Right", sort=None)
    )
    white = alt.datum.share > SMALLEST_SHARE_IN_WHITE
    drawn: Spec = (
        alt.layer(
            base.mark_rect().encode(
                color=alt.Color("share:Q", legend=None, scale=alt.Scale(scheme="blues"))
            ),
            base.mark_text().encode(
                text="n:Q",
                color=alt.when(white).then(alt.value("white")).otherwise(alt.value("black")),
            ),
            data=alt.InlineData(values=rows),
        )
        .properties(width=200, height=200)
        .facet(facet=alt.Facet("system:N", header=alt.Header(title=None)), columns=3)
        .to_dict(validate=False)
    )
    return drawn


def matrices(facts: Facts) -> dict[str, dict[str, Any]]:
    """The confusion matrix of each system, best first: labels, confusion_matrix, unexpected."""
    found = {
        row["system"]: json.loads(row["detail"])
        for row in facts.system_scores.iter_rows(named=True)
        if row["evaluator"] == "classification" and row["detail"] is not None
    }
    return {name: found[name] for name in facts.order if "confusion_matrix" in found.get(name, {})}
