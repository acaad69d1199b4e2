"""The views for SQL users: wide leaderboards, failures, costs and stale scores."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Table, required, shared
from warehouse.sql import sql

V_LEADERBOARD = Table(
    name="v_leaderboard",
    one_row="One row is a system on a slice of a benchmark, with all primary metrics side by side.",
    key=("benchmark", "slice", "system"),
    notes="Look up a metric by its full name: `means['citation.f1']`.",
    columns=(
        *shared("benchmark", "slice", "system"),
        Column("rank", "INTEGER", "The rank by the headline metric."),
        Column("rank_by", "VARCHAR", "The headline metric, by whose rank systems are ordered."),
        Column("n", "BIGINT", "The number of samples in the slice."),
        Column("lowest_coverage", "DOUBLE", "The lowest coverage of the primary metrics."),
        Column("means", "MAP(VARCHAR, DOUBLE)", "The mean of each metric."),
        Column("intervals", "MAP(VARCHAR, DOUBLE[])", "The 95 % interval of each mean."),
        Column(
            "best_or_tied_by",
            "VARCHAR[]",
            "The evaluators by which no system is significantly better, by each metric and slice "
            "alone (`tied_with_best`); null: none.",
        ),
        Column(
            "gate",
            "VARCHAR",
            "`failed` if the system fails a gate of the benchmark, `passed` if it passes all of "
            "them, null if there is none.",
        ),
        Column(
            "uncalibrated",
            "VARCHAR[]",
            "The evaluators whose judge is not validated with human labels, or agrees too little "
            "with them; null: none.",
        ),
    ),
    view_of=sql("v_leaderboard").strip(),
)

V_COST = Table(
    name="v_cost",
    one_row="One row is the cost of a judge model for an evaluator and a system on one day.",
    key=("benchmark", "evaluator", "system", "day", "model"),
    notes="The cost of a judgment that several samples share is divided among them, so that sums "
    "are correct.",
    columns=(
        *shared("benchmark", "evaluator", "system"),
        Column("day", "DATE", "The day of the replies (UTC)."),
        Column("model", "VARCHAR", "The judge model."),
        Column("asks", "BIGINT", "The number of calls that the samples needed."),
        Column("calls", "DOUBLE", "The number of calls made; shared calls count in part."),
        Column("attempts", "DOUBLE", "The number of attempts, with repeats after errors."),
        Column("tokens_in", "DOUBLE", "The input tokens."),
        Column("tokens_out", "DOUBLE", "The output tokens."),
        Column("cost_usd", "DOUBLE", "The cost in US dollars."),
    ),
    view_of=sql("v_cost").strip(),
)

V_STALE = Table(
    name="v_stale",
    one_row="One row is a sample whose scores are missing from the leaderboard, or obsolete.",
    key=("benchmark", "system", "question_id", "evaluator"),
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator"),
        Column(
            "why",
            "VARCHAR",
            "`not scored`, `no prediction any more`, or `scored by another configuration`.",
        ),
        Column("signature", "VARCHAR", "The configuration with which it was scored."),
        Column("shown_signature", "VARCHAR", "The configuration that the leaderboard shows."),
        Column("scored_at", "TIMESTAMP", "When it was scored (UTC)."),
    ),
    view_of=sql("v_stale").strip(),
)


OPTION_CONFIDENCE_CURVES = Table(
    name="option_confidence_curves",
    one_row="One row is a step of a curve: the share of a system's multiple-choice questions whose "
    "phi (or delta) exceeds a value that occurs.",
    key=("benchmark", "system", "signature", "metric", "threshold"),
    notes="The curve is exact, with a step at each distinct value: between two thresholds the "
    "share is that of the lower one, and below the lowest it is 1. The share of deltas above 0 is "
    "the accuracy. Questions without a score do not count; a failed answer counts with the worst "
    "value.",
    columns=(
        *shared("benchmark", "system", "signature"),
        required("metric", "VARCHAR", "`phi` or `delta`, of the evaluator `option_confidence`."),
        required("threshold", "DOUBLE", "A value x that occurs among the system's questions."),
        required("share_above", "DOUBLE", "The share of questions above x: `n_above / n_scored`."),
        required("n_above", "BIGINT", "The number of questions above x."),
        required("n_scored", "BIGINT", "The number of scored questions."),
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
    one_row="One row is an answer that failed by a primary metric, with texts and reason.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator", "metric"),
        Column(
            "why",
            "VARCHAR",
            "`worse than the threshold`, without a threshold `the worst value`, `no answer`, or "
            "why the judge gave no score: `parse_failure` or `judge_error`, which are not failures "
            "of the system.",
        ),
        Column("value", "DOUBLE", "The score; null when there is none."),
        Column("threshold", "DOUBLE", "The threshold; null without one."),
        Column("reason", "VARCHAR", "The reason."),
        Column("question", "VARCHAR", "The question's text."),
        Column("answer", "VARCHAR", "The answer's text."),
        Column(
            "error", "VARCHAR", "The error with which the system failed; null when it answered."
        ),
        Column("detail", "JSON", "The evidence for the score."),
    ),
    view_of=sql("v_failures").strip(),
)

V_FLIPS = Table(
    name="v_flips",
    one_row="One row is a variant of a question with which a system crosses a metric's threshold.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    columns=(
        *shared("benchmark", "system"),
        Column("question_id", "VARCHAR", "The variant."),
        Column("original_id", "VARCHAR", "The question that it is a variant of."),
        Column("perturbation", "VARCHAR", "The kind of variant, such as `typo`."),
        *shared("evaluator", "metric"),
        Column("original_value", "DOUBLE", "The score of the original."),
        Column("perturbed_value", "DOUBLE", "The score of the variant."),
        Column(
            "threshold",
            "DOUBLE",
            "The threshold between them; null without one: then only changes between the best and "
            "the worst value of the scale are flips.",
        ),
        Column("is_primary", "INTEGER", "1 for the primary metric of its evaluator, otherwise 0."),
        Column(
            "passes", "INTEGER", "1 if the variant passes and the original does not, otherwise 0."
        ),
    ),
    view_of=sql("v_flips").strip(),
)

V_PROBLEMS = Table(
    name="v_problems",
    one_row="One row is a system with problems by one evaluator, which are shown as one line.",
    key=("benchmark", "system", "evaluator"),
    columns=(
        *shared("benchmark"),
        Column(
            "system",
            "VARCHAR",
            "The system; null when the problems concern all systems or a judge.",
        ),
        Column("evaluator", "VARCHAR", "The evaluator; null when none is concerned."),
        Column("severity", "VARCHAR", "The highest severity: `high`, `medium` or `low`."),
        Column("n_problems", "BIGINT", "The number of rows of `problems`."),
        Column("kinds", "VARCHAR[]", "The kinds of problems, the most severe first."),
        Column("message", "VARCHAR", "The most severe problem, and how many more there are."),
    ),
    view_of=sql("v_problems").strip(),
)

V_DIFFERENCES = Table(
    name="v_differences",
    one_row="One row is one question on which two systems are compared by one metric.",
    key=("benchmark", "question_id", "evaluator", "metric", "system_a", "system_b"),
    notes="Each pair occurs in both orders; select systems and metric in the WHERE clause.",
    columns=(
        *shared("benchmark", "question_id", "evaluator", "metric"),
        Column("system_a", "VARCHAR", "The first system."),
        Column("system_b", "VARCHAR", "The second system."),
        Column("value_a", "DOUBLE", "The score of the first system."),
        Column("value_b", "DOUBLE", "The score of the second system."),
        Column("difference", "DOUBLE", "`value_a - value_b`."),
    ),
    view_of=sql("v_differences").strip(),
)

VIEWS = Group(
    title="Views to query",
    summary="Views for frequent questions; `docs/sql-cookbook.md` uses them.",
    tables=(V_LEADERBOARD, V_PROBLEMS, V_FAILURES, V_FLIPS, V_DIFFERENCES, V_COST, V_STALE),
)
