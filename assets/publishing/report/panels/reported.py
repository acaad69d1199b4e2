"""Scores of other tools beside our own: how far they agree, and where they differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.analysis.agreement import rank_correlation
from assets.publishing.report.formatting import NO_VALUE, format_count, format_number
from assets.publishing.report.panel import BenchmarkData, Content, Panel
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.judges.agreement import confusion, kappa

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats

FAMILY = "reported"
"""The family of evaluators whose metrics are what another tool scored."""

MAX_ROWS = 100
"""The answers that are listed of each pair of metrics."""

MAX_CLUSTERS = 5_000
"""The most questions for which the interval of kappa, which is small then, is computed."""

# A failed answer has the worst value of both metrics, whatever they are.
ANSWERS = """
WITH shown AS (
    SELECT DISTINCT l.benchmark, l.evaluator, l.metric, l.signature, m.family = 'reported' AS theirs
    FROM leaderboard AS l
    INNER JOIN metrics AS m USING (evaluator, metric)
    WHERE l.benchmark IN ({benchmarks}) AND l.slice = 'all' AND l.is_primary = 1
        AND m.level = 'sample'
)

SELECT s.benchmark, s.system, s.question_id, s.repeat, s.evaluator, s.metric, s.value,
    coalesce(q.cluster, s.question_id) AS cluster
FROM answer_scores AS s
INNER JOIN shown USING (benchmark, evaluator, metric, signature)
INNER JOIN questions AS q USING (benchmark, question_id)
WHERE s.benchmark IN ({benchmarks}) AND s.value IS NOT NULL
    AND s.reason IS DISTINCT FROM 'target_error'
    AND s.benchmark IN (SELECT benchmark FROM shown WHERE theirs)
ORDER BY s.question_id, s.system, s.repeat
"""

_ANSWER = ["system", "question_id", "repeat", "cluster"]


def build(data: BenchmarkData) -> Content | None:
    """Return the agreement of each of our primary metrics with each reported one."""
    rows = {(row["evaluator"], row["metric"]): row for row in data.overall}
    shown = [rows[name] for name in data.shown_metrics if rows[name]["level"] == "sample"]
    theirs = [row for row in shown if row["family"] == FAMILY]
    if not theirs:
        return None
    scores = data.fetch(ANSWERS)
    pairs = [
        pair
        for their in theirs
        for our in shown
        if our["family"] != FAMILY and (pair := _compare(data, scores, our, their)) is not None
    ]
    if not pairs:
        return None
    listed = [
        {"title": pair["title"], "ours": pair["ours"], "theirs": pair["theirs"], "rows": rows}
        for pair in pairs
        for rows in (pair.pop("rows"),)
    ]
    return Content(
        values={"pairs": pairs, "max_clusters": format_count(MAX_CLUSTERS)},
        page_data={"reported": listed},
    )


def _compare(
    data: BenchmarkData, scores: pl.DataFrame, our: dict[str, Any], their: dict[str, Any]
) -> dict[str, Any] | None:
    """Compare two metrics on the answers that have a value of both; None without any."""
    ours, theirs = (_values(scores, row) for row in (our, their))
    both = ours.join(theirs, on=_ANSWER, suffix="_theirs", maintain_order="left")
    if both.is_empty():
        return None
    values, others = both["value"].to_numpy(), both["value_theirs"].to_numpy()
    good, other_good = _good(values, our), _good(others, their)
    both = both.with_columns(difference=np.abs(good - other_good))
    names = [f"{row['evaluator']}.{row['metric']}" for row in (our, their)]
    cells = [format_number(float(values.mean())), format_number(float(others.mean()))]
    return {
        "title": " / ".join(names),
        "ours": names[0],
        "theirs": names[1],
        "cells": [format_count(len(both)), *cells, *_agreement(good, other_good, both)],
        "n_different": format_count(int((both["difference"] > 0).sum())),
        "rows": _most_different(data, both),
    }


def _values(scores: pl.DataFrame, row: dict[str, Any]) -> pl.DataFrame:
    own = scores.filter(pl.col("evaluator") == row["evaluator"], pl.col("metric") == row["metric"])
    return own.select(*_ANSWER, "value")


def _good(values: Floats, row: dict[str, Any]) -> Floats:
    """Return values from 0 (worst) to 1 (best); by their ranks where the scale has no bounds."""
    low, high = row["scale_low"], row["scale_high"]
    if low is None or high is None:
        ordered = np.sort(values)
        left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        scaled: Floats = (left + right) / (2 * len(values))
    else:
        scaled = (values - low) / (high - low)
    return scaled if row["best"] == "high" else 1 - scaled


def _agreement(good: Floats, other_good: Floats, both: pl.DataFrame) -> list[str]:
    """Return the share of equal verdicts, kappa with its interval, and the rank correlation."""
    shares, kappas = NO_VALUE, NO_VALUE
    if is_pass_fail(good) and is_pass_fail(other_good):
        shares = format_number(confusion(good == 1, other_good == 1).agreement)
        clusters = both["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
        few = int(clusters.max()) < MAX_CLUSTERS
        agreed = kappa(good, other_good, clusters=clusters if few else np.zeros_like(clusters))
        if np.isfinite(agreed.value):
            kappas = format_number(agreed.value)
        if np.isfinite(agreed.low):
            kappas += f" [{format_number(agreed.low)}, {format_number(agreed.high)}]"
    ranked = pl.DataFrame({"value": good, "label": other_good, "weight": np.ones(len(good))})
    correlation = rank_correlation(ranked)
    return [shares, kappas, format_number(correlation if np.isfinite(correlation) else None)]


def _most_different(data: BenchmarkData, both: pl.DataFrame) -> list[list[Any]]:
    """Return the answers that differ most: question, system, repeat, both values, difference."""
    systems = {name: at for at, name in enumerate(data.systems)}
    different = both.filter(
        pl.col("difference") > 0, pl.col("question_id").is_in(list(data.question_numbers))
    ).sort("difference", descending=True, maintain_order=True)
    columns = ("question_id", "system", "repeat", "value", "value_theirs", "difference")
    return [
        [data.question_numbers[question], systems[system], *others]
        for question, system, *others in different.head(MAX_ROWS).select(columns).iter_rows()
    ]


PANEL = Panel(title="Scores of other tools", position=65, build=build)
