"""Results as HTML: tables for notebooks, and a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from warehouse.foreign_text import show_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_PROBLEMS = 100
_MOST_NOTES = 10


def results_page(
    leaderboard: pl.DataFrame,
    comparisons: pl.DataFrame,
    problems: pl.DataFrame,
    notes: Sequence[str],
) -> str:
    """Return a page without scripts and references to other files."""
    primary = leaderboard.filter(pl.col("is_primary") == 1, pl.col("slice") == "all")
    keys = ["benchmark", "slice", "evaluator", "metric"]
    comparisons = comparisons.join(primary.select(keys).unique(), on=keys, how="semi")
    return _render(
        "page.html.j2",
        groups=list(_groups(leaderboard)),
        notes=notes,
        comparisons=comparisons.to_dicts(),
        problems=problems.head(_MOST_PROBLEMS).to_dicts(),
        more_problems=max(0, problems.height - _MOST_PROBLEMS),
    )


def leaderboard_tables(leaderboard: pl.DataFrame, notes: Sequence[str]) -> str:
    """Return a table for each benchmark and slice, with intervals and ranges of ranks; notes."""
    return _render("tables.html.j2", groups=list(_groups(leaderboard)), notes=notes)


def _render(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: show_hidden(value) if type(value) is str else value,
    )
    return environment.get_template(template).render(values, most_notes=_MOST_NOTES)


def _groups(leaderboard: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the leaderboard of each benchmark and slice, with its primary metrics."""
    from assets.charts.sort_order import ORDER_COLUMNS, leading_metric, systems_best_first
    from assets.leaderboard.winner import best_systems, describe_winner

    for group in leaderboard.partition_by("benchmark", "slice", maintain_order=True):
        order = group.select(ORDER_COLUMNS).to_dicts()
        leading = leading_metric(order)
        shown = group.filter((pl.col("is_primary") == 1) | (pl.col("is_headline") == 1))
        cells = {
            (row["system"], row["evaluator"], row["metric"]): row
            for row in shown.sort("position").iter_rows(named=True)
        }
        metrics = list(dict.fromkeys(key[1:] for key in cells))
        if leading in metrics:
            metrics.sort(key=lambda metric: metric != leading)
        first = group.row(0, named=True)
        best = {
            metric: best_systems([row for key, row in cells.items() if key[1:] == metric])
            for metric in metrics
        }
        headline = [row for key, row in cells.items() if key[1:] == leading]
        yield {
            "title": ", ".join(
                part for part in (first["benchmark"], first["slice"]) if part != "all"
            ),
            "metrics": [_metric(next(r for k, r in cells.items() if k[1:] == m)) for m in metrics],
            "has_best": any(best.values()),
            "rows": [
                {
                    "system": system,
                    "first": cells[system, *metrics[0]],
                    "cells": [
                        _cell(cells.get((system, *metric)), is_best=system in best[metric])
                        for metric in metrics
                    ],
                }
                for system in systems_best_first(order)
                if metrics and (system, *metrics[0]) in cells
            ],
            "sentence": describe_winner(headline),
        }


def _metric(row: dict[str, Any]) -> dict[str, str]:
    return {
        "evaluator": row["evaluator"],
        "name": row["metric"],
        "arrow": "\u2191" if row["best"] == "high" else "\u2193",
        "summary": row.get("summary") or "",
    }


def _cell(row: dict[str, Any] | None, *, is_best: bool) -> dict[str, Any]:
    if row is None:
        absent = dict.fromkeys(("mean", "ci_low", "ci_high"))
        return {**absent, "title": "not scored", "is_best": False}
    scored = f"{row['n_scored']} of {row['n'] - row['n_not_applicable']} samples scored"
    shown = {name: row[name] for name in ("mean", "ci_low", "ci_high")}
    return {**shown, "title": scored, "is_best": is_best}
