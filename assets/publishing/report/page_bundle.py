"""What a benchmark's page holds as data: all that its scripts need to begin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.report.page_data import ALL
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from assets.publishing.report.page_data import Facts

BOARD = (
    *("system", "metric", "mean", "n", "n_scored", "n_not_applicable", "n_undefined"),
    *("n_parse_failure", "n_judge_error", "n_target_error", "coverage", "bound_low", "bound_high"),
    *("ci_low", "ci_high", "rank", "rank_low", "rank_high", "tied_with_best", "passes"),
)
"""The columns of the leaderboard in the page; systems and metrics are numbers there."""

CHUNK_SAMPLES = 400
"""Answers in one file: enough to keep files few, few enough to open one at once."""


def per_chunk(facts: Facts) -> int:
    """How many questions, with all their answers, stand in one file."""
    return max(1, CHUNK_SAMPLES // max(1, len(facts.systems)))


def slices(facts: Facts) -> list[str]:
    """The slices of the leaderboard, all questions first."""
    return facts.board["slice"].unique(maintain_order=True).to_list()


def metrics(facts: Facts) -> list[dict[str, Any]]:
    """The metrics of the leaderboard and how to read them."""
    first = facts.whole.group_by("evaluator", "metric", maintain_order=True).agg(
        pl.col("best", "scale_low", "scale_high", "threshold", "is_primary", "summary").first(),
        pl.col("level", "family").first(),
        measured=pl.col("mean").is_not_null().any(),
    )
    return [
        {
            "e": row["evaluator"],
            "m": row["metric"],
            "best": row["best"],
            "low": row["scale_low"],
            "high": row["scale_high"],
            "threshold": row["threshold"],
            "primary": row["is_primary"] == 1,
            "level": row["level"],
            "family": row["family"],
            "summary": row["summary"] or "",
            "measured": row["measured"],
        }
        for row in first.iter_rows(named=True)
    ]


def board(facts: Facts, slice_: str) -> list[list[Any]]:
    """The leaderboard of a slice as rows of `BOARD`."""
    places = {(each["e"], each["m"]): at for at, each in enumerate(metrics(facts))}
    systems = {system: at for at, system in enumerate(facts.systems)}
    rows = facts.board.filter(pl.col("slice") == slice_)
    return [
        [
            systems[row["system"]],
            places[row["evaluator"], row["metric"]],
            *(_plain(row[column]) for column in BOARD[2:]),
        ]
        for row in rows.iter_rows(named=True)
        if (row["evaluator"], row["metric"]) in places
    ]


def contents(facts: Facts) -> dict[str, Any]:
    """All that stands in the page itself; see the scripts for how it is read."""
    places = {(each["e"], each["m"]): at for at, each in enumerate(metrics(facts))}
    systems = {system: at for at, system in enumerate(facts.systems)}
    compared = [
        [
            *(places[row["evaluator"], row["metric"]], systems[row["system_a"]]),
            *(systems[row["system_b"]], row["n_pairs"], row["difference"], row["ci_low"]),
            *(row["ci_high"], row["p_adjusted"], row["verdict"], row["detectable_difference"]),
        ]
        for row in facts.comparisons.iter_rows(named=True)
        if (row["evaluator"], row["metric"]) in places
        and row["system_a"] in systems
        and row["system_b"] in systems
    ]
    return {
        "benchmark": facts.benchmark,
        "systems": facts.systems,
        "order": facts.order,
        "slices": slices(facts),
        "metrics": metrics(facts),
        "columns": BOARD,
        "board": board(facts, ALL),
        "comparisons": compared,
        "evaluators": [
            {"name": row["evaluator"], "metrics": row["metrics"]}
            for row in facts.evaluators.iter_rows(named=True)
        ],
        "n_shown": facts.questions.height,
        "per_chunk": per_chunk(facts),
        "statuses": report_queries.STATUSES,
        "problems": facts.problems.to_dicts(),
    }


def _plain(value: Any) -> Any:
    """A number as JSON knows it; one that is not finite stands for no value."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
