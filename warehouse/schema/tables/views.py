"""The views for people who query: wide leaderboards, costs, and what is out of date."""

from __future__ import annotations

from warehouse.schema.table import (
    BENCHMARK,
    EVALUATOR,
    METRIC,
    QUESTION_ID,
    SIGNATURE,
    SLICE,
    SYSTEM,
    Column,
    Group,
    Table,
    required,
)
from warehouse.sql import sql

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


OPTION_CONFIDENCE_CURVES = Table(
    name="option_confidence_curves",
    one_row="One row is a step of a curve: the share of a system's multiple-choice questions whose "
    "phi (or delta) lies above a value that at least one of them has.",
    key=("benchmark", "system", "signature", "metric", "threshold"),
    notes="The curve is exact and has a step for each different value, without bins: from one "
    "`threshold` up to the next the share stays that of the lower one; below the smallest it is "
    "1. The share of deltas above 0 is the accuracy. Questions without a number do not "
    "count; a failed answer counts with the worst value.",
    columns=(
        BENCHMARK,
        SYSTEM,
        SIGNATURE,
        required("metric", "VARCHAR", "`phi` or `delta`, of the evaluator `option_confidence`."),
        required("threshold", "DOUBLE", "The value x that some question of the system has."),
        required("share_above", "DOUBLE", "The share of questions above x: `n_above / n_scored`."),
        required("n_above", "BIGINT", "The questions above x; those equal to x are not."),
        required("n_scored", "BIGINT", "The questions that have a number."),
    ),
    view_of="""
WITH steps AS (
    SELECT
        g.benchmark,
        g.system,
        g.signature,
        m.metric,
        g."values"[list_position(s.metrics, m.metric)] AS threshold,
        count(*) AS n_equal
    FROM grades AS g
    JOIN signatures AS s USING (evaluator, signature)
    CROSS JOIN (VALUES ('phi'), ('delta')) AS m (metric)
    WHERE g.evaluator = 'option_confidence' AND threshold IS NOT NULL
    GROUP BY ALL
),

summed AS (
    SELECT
        *,
        sum(n_equal) OVER (curve ORDER BY threshold DESC) - n_equal AS n_above,
        sum(n_equal) OVER curve AS n_scored
    FROM steps
    WINDOW curve AS (PARTITION BY benchmark, system, signature, metric)
)

SELECT
    benchmark,
    system,
    signature,
    metric,
    threshold,
    n_above / n_scored AS share_above,
    n_above::BIGINT AS n_above,
    n_scored::BIGINT AS n_scored
FROM summed
""".strip(),
)


V_FAILURES = Table(
    name="v_failures",
    one_row="One row is an answer that failed by a primary metric, with its texts and why.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        METRIC,
        Column(
            "why",
            "VARCHAR",
            "`worse than the threshold`, `no answer`, or what kept the judge from a number: "
            "`parse_failure` or `judge_error`, which are no failures of the system.",
        ),
        Column("value", "DOUBLE", "The number; null where there is none."),
        Column("threshold", "DOUBLE", "The line that it is held against."),
        Column("reason", "VARCHAR", "The reason in words."),
        Column("question", "VARCHAR", "The question's text."),
        Column("answer", "VARCHAR", "The answer's text."),
        Column("error", "VARCHAR", "Why the system failed to answer; null when it answered."),
        Column("detail", "JSON", "The evidence that the evaluator gives."),
    ),
    view_of=sql("v_failures").strip(),
)

V_FLIPS = Table(
    name="v_flips",
    one_row="One row is a variant of a question by which a system crosses a metric's threshold.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    columns=(
        BENCHMARK,
        SYSTEM,
        Column("question_id", "VARCHAR", "The variant."),
        Column("original_id", "VARCHAR", "The question that it is a variant of."),
        Column("perturbation", "VARCHAR", "The kind of variant, such as `typo`."),
        EVALUATOR,
        METRIC,
        Column("original_value", "DOUBLE", "The number for the original."),
        Column("perturbed_value", "DOUBLE", "The number for the variant."),
        Column("threshold", "DOUBLE", "The line between them."),
        Column("is_primary", "INTEGER", "1 for the metric that stands for its evaluator, or 0."),
        Column("passes", "INTEGER", "1 when the variant passes and the original does not, or 0."),
    ),
    view_of=sql("v_flips").strip(),
)

V_DIFFERENCES = Table(
    name="v_differences",
    one_row="One row is one question by which two systems are compared by one metric.",
    key=("benchmark", "question_id", "evaluator", "metric", "system_a", "system_b"),
    notes="Each pair stands in both orders; name the systems and the metric in the WHERE clause.",
    columns=(
        BENCHMARK,
        QUESTION_ID,
        EVALUATOR,
        METRIC,
        Column("system_a", "VARCHAR", "The one system."),
        Column("system_b", "VARCHAR", "The other system."),
        Column("value_a", "DOUBLE", "The number of the one."),
        Column("value_b", "DOUBLE", "The number of the other."),
        Column("difference", "DOUBLE", "`value_a - value_b`."),
    ),
    view_of=sql("v_differences").strip(),
)

VIEWS = Group(
    title="Views to query",
    summary="The questions that people ask most, answered; `docs/sql-cookbook.md` uses them.",
    tables=(V_LEADERBOARD, V_FAILURES, V_FLIPS, V_DIFFERENCES, V_COST, V_STALE),
)
