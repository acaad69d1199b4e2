"""Earlier publications: how results moved, where they are not comparable, and what flipped."""

from __future__ import annotations

from typing import Any

import polars as pl

from assets.analysis.compare_publication import NotKept, compare_publication
from assets.analysis.publications import Publication
from assets.charts import style
from assets.project import CLUSTERS, Benchmark
from assets.publishing.report.formatting import (
    NO_VALUE,
    format_number,
    format_plural,
    format_time,
    format_words,
)
from assets.publishing.report.panel import BenchmarkData, Content, Panel
from warehouse.queries.publications import HISTORY

POINTS = f"""
SELECT *
FROM ({HISTORY})
WHERE benchmark IN ({{benchmarks}})
ORDER BY published_at, system, evaluator, metric
"""  # noqa: S608

MIN_PUBLICATIONS = 2
"""A line needs two points."""

INTERVAL_STEP = 0.006
"""The distance of the intervals of two systems, as a share of the time between the first and the
last publication."""

MAX_TICKS = 6
"""The times below the chart; publications of one minute would get one for each second."""

MAX_QUESTIONS = 20
"""The changed questions that are listed, flipped ones first."""

MAX_BENCHMARKS = 20
"""The benchmarks read together of which changes are listed: each takes a twentieth of a second."""

MAX_CHARACTERS = 400
"""How much of an answer is shown."""

Row = dict[str, Any]


def build(data: BenchmarkData, points: pl.DataFrame) -> Content | None:
    """Return the results by publication, and what changed since the one before."""
    if len(set(points["version"])) < MIN_PUBLICATIONS:
        return None
    points = points.filter(pl.col("system").is_in(data.systems))
    if points["version"].n_unique() < MIN_PUBLICATIONS:
        return None
    metrics = [".".join(name) for name in data.shown_metrics]
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    changes = _describe_changes(data, points, metrics)
    address = pl.concat_str("evaluator", "metric", separator=".")
    shown = points.with_columns(metric=address).filter(pl.col("metric").is_in(metrics))
    return Content(
        values={
            "systems": systems,
            "metric": metrics[0] if metrics else None,
            "rows": [
                _describe_publication(rows, systems)
                for rows in shown.filter(pl.col("metric").is_in(metrics[:1])).partition_by(
                    "published_at", maintain_order=True
                )
            ],
            **changes,
        },
        charts={"history": history_chart(data, shown, metrics)},
        card={
            "changes": {
                row["system"]: row["verdict"]
                for row in changes.get("changes", ())
                if [row["metric"]] == metrics[:1]
            }
        },
    )


def _describe_publication(rows: pl.DataFrame, systems: list[str]) -> Row:
    """Return a row of the table: one publication with the means of the headline metric."""
    first = rows.row(0, named=True)
    means = dict(rows.select("system", "mean").iter_rows())
    return {
        "at": format_time(first["published_at"]),
        "tag": first["tag"],
        "changed": sorted({what for each in rows["changed"] for what in each}),
        "means": [format_number(means.get(system)) for system in systems],
    }


def _describe_changes(data: BenchmarkData, points: pl.DataFrame, metrics: list[str]) -> Row:
    """Compare with the last publication that had another leaderboard."""
    earlier = points.filter(pl.col("version") < pl.col("version").max())
    before = Publication(*earlier.select("published_at", "run_id", "tag").row(-1))
    if len(data.part.benchmarks) > MAX_BENCHMARKS:
        since = before.tag or f"{before.published_at:%Y-%m-%dT%H:%M:%S}"
        said = f"scoreline compare --benchmark {data.benchmark} --before {since}"
        return {"before": str(before), "missing": f"{said} says what has changed."}
    cluster = data.part.copy.fetch(
        "SELECT value FROM meta WHERE name = $name", {"name": CLUSTERS + data.benchmark}
    )["value"].to_list()
    benchmark = Benchmark(
        name=data.benchmark,
        questions=None,
        predictions=None,
        evaluators=(),
        cluster=next(iter(cluster), None),
    )
    try:
        found = compare_publication(data.part.copy, benchmark, before, metrics=metrics)
    except NotKept as error:
        return {"before": str(before), "missing": str(error)}
    questions = found.questions.sort("flipped", descending=True, maintain_order=True)
    moved = set(questions.select("system", "evaluator", "metric").rows())
    return {
        "before": str(before),
        "missing": None,
        "notes": found.notes,
        "changes": [
            _describe_result(
                row, has_moved=(row["system"], row["evaluator"], row["metric"]) in moved
            )
            for row in found.results.iter_rows(named=True)
        ],
        "counted": format_plural(questions.height, "changed score"),
        "n_changed": questions.height,
        "questions": [
            _describe_question(row) for row in questions.head(MAX_QUESTIONS).iter_rows(named=True)
        ],
    }


def _describe_result(row: Row, *, has_moved: bool) -> Row:
    """Return one result of `compare_publication` as texts."""
    interval, verdict = NO_VALUE, format_words(row["verdict"])
    if not has_moved and row["n_pairs"]:
        verdict = "no score has changed"
    elif row["ci_low"] is not None:
        interval = f"{format_number(row['ci_low'])} to {format_number(row['ci_high'])}"
    return {
        "system": row["system"],
        "metric": f"{row['evaluator']}.{row['metric']}",
        "numbers": [format_number(row[name]) for name in ("before", "now", "difference")],
        "interval": interval,
        "verdict": verdict,
        "reason": row["reason"],
        "is_certain": row["verdict"] in ("better", "worse"),
    }


def _describe_question(row: Row) -> Row:
    """Return a question whose score has changed as texts."""
    return {
        **{name: row[name] for name in ("system", "question_id", "flipped")},
        "metric": f"{row['evaluator']}.{row['metric']}",
        "scores": [format_number(row[name]) for name in ("before", "now")],
        "answers": [(row[name] or "")[:MAX_CHARACTERS] for name in ("answer_before", "answer_now")],
    }


def history_chart(
    data: BenchmarkData, points: pl.DataFrame, metrics: list[str]
) -> style.Spec | None:
    """Draw a line per system and metric, broken where results are not comparable."""
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    line = ["system", "metric"]
    points = points.filter(pl.col("system").is_in(systems), pl.col("mean").is_not_null())
    if points.is_empty():
        return None
    span = (pl.col("published_at").max() - pl.col("published_at").min()).dt.total_microseconds()
    # Intervals of systems stand beside each other.
    place = pl.col("system").replace_strict(systems, range(len(systems)), return_dtype=pl.Int64)
    is_last = pl.col("published_at") == pl.col("published_at").max().over(line)
    rows = points.with_columns(
        segment=(~pl.col("comparable")).cast(pl.Int64).cum_sum().over(line),
        at=_time_text(pl.col("published_at")),
        x=_time_text(
            pl.col("published_at") + pl.duration(microseconds=span * place * INTERVAL_STEP)
        ),
        what=pl.col("changed").list.join(", "),
        tag=pl.col("tag").fill_null(""),
        name=pl.when(is_last).then("system").otherwise(pl.lit("")),
    )
    breaks = rows.filter(pl.col("what") != "").select("at", "metric", "what").unique()
    drawn = ("x", "at", "tag", "metric", "system", "name", "mean", "segment", "what")
    values = [
        {**{name: row[name] for name in drawn}, **style.interval(row)}
        for row in rows.iter_rows(named=True)
    ]
    is_metric = {"filter": "datum.metric === result"}
    x = {
        "field": "x",
        "type": "temporal",
        "title": "Published (UTC)",
        "scale": {"padding": 24},
        "axis": {"tickCount": MAX_TICKS, "format": {"hours": "%H:%M", "minutes": "%H:%M"}},
    }
    y = style.quantity("mean", title="Mean", scale={"zero": False, "padding": 12})
    lines = {
        "x": x,
        "detail": style.nominal("segment"),
        **style.system_lines(data.systems, values=systems, **style.LINE_LEGEND),
    }
    shared = {**lines, "strokeDash": {"value": [1, 0]}}
    tooltip = [
        style.SYSTEM_TOOLTIP,
        {"field": "at", "type": "temporal", "title": "Published", "format": "%Y-%m-%d %H:%M"},
        style.nominal("tag", title="Tag"),
        style.quantity("mean", title="Mean", format=".4f"),
        style.quantity("low", title="95 % from", format=".4f"),
        style.quantity("high", title="to", format=".4f"),
        style.nominal("what", title="Not comparable with before: changed"),
    ]
    own = {"values": breaks.sort("at", "metric").to_dicts()}
    rule = {"type": "rule", "strokeDash": [4, 4], "color": style.NEUTRAL}
    label = {"type": "text", "align": "left", "dx": 4, "y": 10, "color": style.NEUTRAL}
    layers: list[style.Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.5},
            "encoding": {**shared, "y": style.quantity("from"), "y2": {"field": "to"}},
        },
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {**lines, "y": y}},
        {
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": {**shared, "y": y, "tooltip": tooltip},
        },
    ]
    if len(systems) <= style.MAX_LABELS:
        name = {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "limit": 120}
        named = {"x": x, "color": lines["color"], "y": y, "text": style.nominal("name")}
        layers.append({"mark": name, "encoding": named})
    if own["values"]:
        at = {**x, "field": "at"}
        layers += [
            {"data": own, "transform": [is_metric], "mark": rule, "encoding": {"x": at}},
            {
                "data": own,
                "transform": [is_metric],
                "mark": label,
                "encoding": {"x": at, "text": style.nominal("what")},
            },
        ]
    choice = {"input": "select", "options": metrics, "name": "Results by "}
    return style.to_spec(
        {
            "data": {"values": values},
            "params": [{"name": "result", "value": metrics[0], "bind": choice}],
            "transform": [is_metric],
            "layer": layers,
            "width": style.WIDTH,
            "height": 300,
        }
    )


def _time_text(time: pl.Expr) -> pl.Expr:
    """Return times as texts without an offset, which a chart shows as they are."""
    return time.dt.strftime("%Y-%m-%dT%H:%M:%S")


PANEL = Panel(title="History", position=105, build=build, queries={"points": POINTS})
