"""The views for people who query: wide leaderboards, costs, and what is out of date."""

from __future__ import annotations

from warehouse.sql import sql
from warehouse.tables.items import V_DIFFERENCES, V_FAILURES, V_FLIPS
from warehouse.tables.table import (
    BENCHMARK,
    EVALUATOR,
    QUESTION_ID,
    SLICE,
    SYSTEM,
    Column,
    Group,
    Table,
)

V_LEADERBOARD = Table(
    name="v_leaderboard",
    one_row="One row is a system on a slice of a benchmark, with all primary metrics side by side.",
    key=("benchmark", "slice", "system"),
    notes="A metric is looked up by its address: `means['citation.f1']`.",
    columns=(
        BENCHMARK,
        SLICE,
        SYSTEM,
        Column("mean_rank", "DOUBLE", "The mean of its ranks by the primary metrics."),
        Column("n", "BIGINT", "The samples of the slice."),
        Column("lowest_coverage", "DOUBLE", "The least coverage of its primary metrics."),
        Column("means", "MAP(VARCHAR, DOUBLE)", "The mean of each metric."),
        Column("intervals", "MAP(VARCHAR, DOUBLE[])", "The 95 % interval of each mean."),
        Column(
            "best_or_tied_by",
            "VARCHAR[]",
            "The evaluators by which it is the best, or not told apart from it; null: none.",
        ),
        Column(
            "uncalibrated",
            "VARCHAR[]",
            "The evaluators whose judge was not held against people's labels, or agrees too "
            "little with them; null: none.",
        ),
    ),
    view_of=sql("v_leaderboard").strip(),
)

V_COST = Table(
    name="v_cost",
    one_row="One row is what a judge model cost for an evaluator and a system on one day.",
    key=("benchmark", "evaluator", "system", "day", "model"),
    notes="A judgment that several gradings share is divided among them, so that sums are right.",
    columns=(
        BENCHMARK,
        EVALUATOR,
        SYSTEM,
        Column("day", "DATE", "When the replies came (UTC)."),
        Column("model", "VARCHAR", "The judge model."),
        Column("asks", "BIGINT", "The questions that gradings put to it."),
        Column("calls", "DOUBLE", "The calls behind them: shared ones count in part."),
        Column("attempts", "DOUBLE", "The same with every repeat after an error."),
        Column("tokens_in", "DOUBLE", "The tokens that were sent."),
        Column("tokens_out", "DOUBLE", "The tokens that came back."),
        Column("cost_usd", "DOUBLE", "What it cost, in US dollars."),
    ),
    view_of=sql("v_cost").strip(),
)

V_STALE = Table(
    name="v_stale",
    one_row="One row is a grading that the leaderboard does not show, or lacks.",
    key=("benchmark", "system", "question_id", "evaluator"),
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        Column(
            "why",
            "VARCHAR",
            "`not scored`, `no prediction any more`, or `scored by another configuration`.",
        ),
        Column("signature", "VARCHAR", "The configuration it was scored by."),
        Column("shown_signature", "VARCHAR", "The configuration that the leaderboard shows."),
        Column("scored_at", "TIMESTAMP", "When it was scored (UTC)."),
    ),
    view_of=sql("v_stale").strip(),
)

VIEWS = Group(
    title="Views to query",
    summary="The questions that people ask most, answered; `docs/sql-cookbook.md` uses them.",
    tables=(V_LEADERBOARD, V_FAILURES, V_FLIPS, V_DIFFERENCES, V_COST, V_STALE),
)
