"""Results as HTML: tables for notebooks, and a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from jinja2 import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_PROBLEMS = 100

_MACROS = """
{%- macro number(value) -%}
{{ "%.3f" | format(value) if value is not none else "" }}
{%- endmacro -%}
{%- macro rank(row) -%}
{%- if row.rank is not none -%}
{{ row.rank }}{% if row.rank_low is not none and row.rank_low != row.rank_high
%} ({{ row.rank_low }} to {{ row.rank_high }}){% endif %}
{%- endif -%}
{%- endmacro -%}
{%- macro leaderboards(groups) -%}
{%- for group in groups %}
<table>
<caption>{{ group.title }}</caption>
<thead><tr><th scope="col">rank</th><th scope="col">system</th>
{%- for metric in group.metrics %}
<th scope="col" title="{{ metric.summary }}">{{ metric.name }} {{ metric.arrow }}</th>
{%- endfor %}
<th scope="col">questions</th></tr></thead>
<tbody>
{%- for row in group.rows %}
<tr><td>{{ rank(row.first) }}</td><th scope="row">{{ row.system }}</th>
{%- for cell in row.cells %}
<td title="{{ cell.title }}">{{ number(cell.mean) }}
{%- if cell.ci_low is not none %}
 <small>{{ number(cell.ci_low) }} to {{ number(cell.ci_high) }}</small>{% endif %}</td>
{%- endfor %}
<td>{{ row.first.n }}</td></tr>
{%- endfor %}
</tbody>
</table>
{%- if group.sentence %}
<p>{{ group.sentence }}</p>
{%- endif %}
{%- endfor %}
{%- endmacro -%}
"""

_TABLES = _MACROS + "{{ leaderboards(groups) }}"

_PAGE = (
    _MACROS
    + """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Results</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
caption { font-weight: bold; text-align: left }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .75rem; text-align: left }
td { font-variant-numeric: tabular-nums }
small { color: #555 }
</style>
<h1>Results</h1>
{{ leaderboards(groups) }}
{%- if comparisons %}
<h2>Comparisons</h2>
<p>Pairs of systems by primary metrics over all questions. p-values are adjusted for the number of
pairs (Holm).</p>
<table>
<thead><tr><th scope="col">benchmark</th><th scope="col">metric</th><th scope="col">system</th>
<th scope="col">compared with</th><th scope="col">difference</th><th scope="col">adjusted p</th>
<th scope="col">verdict</th></tr></thead>
<tbody>
{%- for row in comparisons %}
<tr><td>{{ row.benchmark }}</td><td>{{ row.evaluator }}.{{ row.metric }}</td>
<th scope="row">{{ row.system_a }}</th><td>{{ row.system_b }}</td>
<td>{{ number(row.difference) }}
{%- if row.ci_low is not none %}
 <small>{{ number(row.ci_low) }} to {{ number(row.ci_high) }}</small>{% endif %}</td>
<td>{{ number(row.p_adjusted) }}</td><td>{{ row.verdict | replace("_", " ") }}</td></tr>
{%- endfor %}
</tbody>
</table>
{%- endif %}
{%- if problems %}
<h2>Problems</h2>
<table>
<thead><tr><th scope="col">severity</th><th scope="col">system</th>
<th scope="col">problem</th></tr></thead>
<tbody>
{%- for row in problems %}
<tr><td>{{ row.severity }}</td><td>{{ row.system or "" }}</td><td>{{ row.message }}</td></tr>
{%- endfor %}
</tbody>
</table>
{%- if more_problems %}
<p>and {{ more_problems }} more.</p>
{%- endif %}
{%- endif %}
</html>
"""
)


def results_page(
    leaderboard: pl.DataFrame, comparisons: pl.DataFrame, problems: pl.DataFrame
) -> str:
    """Return a page without scripts and references to other files."""
    primary = leaderboard.filter(pl.col("is_primary") == 1, pl.col("slice") == "all")
    keys = ["benchmark", "slice", "evaluator", "metric"]
    comparisons = comparisons.join(primary.select(keys).unique(), on=keys, how="semi")
    return _render(
        _PAGE,
        groups=list(_groups(leaderboard)),
        comparisons=comparisons.to_dicts(),
        problems=problems.head(_MOST_PROBLEMS).to_dicts(),
        more_problems=max(0, problems.height - _MOST_PROBLEMS),
    )


def leaderboard_tables(leaderboard: pl.DataFrame) -> str:
    """Return a table for each benchmark and slice, with intervals and ranges of ranks."""
    return _render(_TABLES, groups=list(_groups(leaderboard)))


def _render(template: str, **values: Any) -> str:
    environment = Environment(autoescape=True, trim_blocks=False)
    return environment.from_string(template).render(values)


def _groups(leaderboard: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the leaderboard of each benchmark and slice, with its primary metrics."""
    from assets.charts.sort_order import leading_metric, systems_best_first
    from assets.leaderboard.winner import describe_winner

    for group in leaderboard.partition_by("benchmark", "slice", maintain_order=True):
        leading = leading_metric(group)
        shown = group.filter((pl.col("is_primary") == 1) | (pl.col("is_headline") == 1))
        cells = {
            (row["system"], row["evaluator"], row["metric"]): row
            for row in shown.sort("position").iter_rows(named=True)
        }
        metrics = list(dict.fromkeys(key[1:] for key in cells))
        if leading in metrics:
            metrics.sort(key=lambda metric: metric != leading)
        first = group.row(0, named=True)
        headline = [row for key, row in cells.items() if key[1:] == leading]
        yield {
            "title": ", ".join(
                part for part in (first["benchmark"], first["slice"]) if part != "all"
            ),
            "metrics": [_metric(next(r for k, r in cells.items() if k[1:] == m)) for m in metrics],
            "rows": [
                {
                    "system": system,
                    "first": cells[system, *metrics[0]],
                    "cells": [_cell(cells.get((system, *metric))) for metric in metrics],
                }
                for system in systems_best_first(group)
                if metrics and (system, *metrics[0]) in cells
            ],
            "sentence": describe_winner(headline),
        }


def _metric(row: dict[str, Any]) -> dict[str, str]:
    return {
        "name": f"{row['evaluator']}.{row['metric']}",
        "arrow": "\u2191" if row["best"] == "high" else "\u2193",
        "summary": row.get("summary") or "",
    }


def _cell(row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None:
        return {"mean": None, "ci_low": None, "ci_high": None, "title": "not scored"}
    scored = f"{row['n_scored']} of {row['n'] - row['n_not_applicable']} samples scored"
    return {**{name: row[name] for name in ("mean", "ci_low", "ci_high")}, "title": scored}
