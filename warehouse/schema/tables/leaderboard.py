"""The tables that scores are folded into and that people read."""

from __future__ import annotations

from warehouse.schema.table import (
    BENCHMARK,
    EVALUATOR,
    METRIC,
    SIGNATURE,
    SLICE,
    SYSTEM,
    Column,
    Group,
    Rule,
    Table,
    required,
)

CI_LOW = Column("ci_low", "DOUBLE", "The lower end of the 95 % confidence interval of the mean.")
CI_HIGH = Column("ci_high", "DOUBLE", "The upper end of the 95 % confidence interval of the mean.")
N_SCORED = required("n_scored", "BIGINT", "The samples that have a number.", least=0)
PUBLISHED_AT = required("published_at", "TIMESTAMP", "When the row was computed (UTC).")

LEADERBOARD = Table(
    name="leaderboard",
    one_row="One row is where a system stands on a slice of a benchmark by one metric.",
    key=("benchmark", "slice", "system", "evaluator", "metric"),
    columns=(
        BENCHMARK,
        SLICE,
        SYSTEM,
        EVALUATOR,
        METRIC,
        Column("mean", "DOUBLE", "The mean of the scored samples; null when there are none."),
        required("n", "BIGINT", "The samples of the slice."),
        N_SCORED,
        required(
            "n_not_applicable", "BIGINT", "The samples without an input that it needs.", least=0
        ),
        required(
            "n_undefined", "BIGINT", "The samples for which the formula has no value.", least=0
        ),
        required(
            "n_parse_failure", "BIGINT", "The samples whose judge gave no usable reply.", least=0
        ),
        required("n_judge_error", "BIGINT", "The samples whose judge could not be asked.", least=0),
        required(
            "n_target_error",
            "BIGINT",
            "The samples that the system failed to answer: those that took the worst value, which "
            "`n_scored` counts too, and those that have none.",
            least=0,
        ),
        Column(
            "coverage",
            "DOUBLE",
            "The share scored of the samples to which the metric applies: "
            "`n_scored / (n - n_not_applicable)`; null when it applies to none.",
            least=0,
            most=1,
        ),
        Column(
            "bound_low",
            "DOUBLE",
            "The mean, had every sample whose number was lost (`parse_failure`, `judge_error`) the "
            "least possible one; null for metrics without bounds.",
        ),
        Column(
            "bound_high",
            "DOUBLE",
            "The mean, had every sample whose number was lost the greatest possible one.",
        ),
        Column("std_error", "DOUBLE", "The standard error of the mean.", least=0),
        CI_LOW,
        CI_HIGH,
        Column(
            "ci_method",
            "VARCHAR",
            "How the interval was found: `wilson`, `bootstrap` or `t`; null where there is none.",
        ),
        Column(
            "n_clusters",
            "BIGINT",
            "The groups of questions that are independent of one another; with fewer than 30 the "
            "interval is rough.",
        ),
        Column(
            "rank",
            "INTEGER",
            "The place by the mean, 1 being the best; equal means share.",
            least=1,
        ),
        Column("rank_low", "INTEGER", "The best place that the uncertainty allows.", least=1),
        Column("rank_high", "INTEGER", "The worst place that the uncertainty allows.", least=1),
        Column(
            "tied_with_best",
            "INTEGER",
            "1 when not distinguishable from the best, or 0.",
            among=(0, 1),
        ),
        Column("threshold", "DOUBLE", "The line that the mean is held against."),
        Column("passes", "INTEGER", "1 when the mean is on the good side of it, or 0."),
        required(
            "best",
            "VARCHAR",
            "`high` or `low`: which numbers are better.",
            among=("high", "low"),
        ),
        required(
            "is_primary",
            "INTEGER",
            "1 for the metric that stands for its evaluator, or 0.",
            among=(0, 1),
        ),
        SIGNATURE,
        PUBLISHED_AT,
    ),
    rules=(
        Rule("a row stands for at least one sample", "n < 1"),
        Rule("no more samples are scored than there are", "n_scored > n"),
        Rule(
            "the mean lies between its bounds",
            "mean < bound_low - 1e-9 OR mean > bound_high + 1e-9",
        ),
        Rule(
            "the mean lies within its interval",
            "mean < ci_low - 1e-9 OR mean > ci_high + 1e-9",
            blocks=False,
        ),
        Rule(
            "the rank lies between the best and the worst that the uncertainty allows",
            "rank < rank_low OR rank > rank_high",
            blocks=False,
        ),
    ),
)

COMPARISONS = Table(
    name="comparisons",
    one_row="One row is two systems compared question by question by one metric.",
    key=("benchmark", "slice", "metric", "evaluator", "system_a", "system_b"),
    columns=(
        BENCHMARK,
        SLICE,
        METRIC,
        EVALUATOR,
        required("system_a", "VARCHAR", "The one system."),
        required("system_b", "VARCHAR", "The other system."),
        required("n_pairs", "BIGINT", "The questions on which both have a number."),
        required("n_clusters", "BIGINT", "The groups of them that are independent."),
        Column("difference", "DOUBLE", "The mean of a's number less b's."),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the difference."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the difference."),
        Column("p_value", "DOUBLE", "The probability of such a difference by chance alone."),
        Column("p_adjusted", "DOUBLE", "The same, adjusted for all pairs of systems (Holm)."),
        required(
            "verdict",
            "VARCHAR",
            "What a is beside b: `better`, `worse`, `tied`, or `not_enough_data`: no answers to so "
            "few questions could have decided.",
        ),
        Column(
            "detectable_difference",
            "DOUBLE",
            "The smallest difference that so many pairs show with a probability of 80 %.",
        ),
    ),
)

PROBLEMS = Table(
    name="problems",
    one_row="One row is something about a system, or a judge, that somebody should look at.",
    key=("benchmark", "system", "evaluator", "metric", "kind", "question_id"),
    columns=(
        BENCHMARK,
        Column("system", "VARCHAR", "The system; null when it is about all, or about a judge."),
        Column("evaluator", "VARCHAR", "The evaluator; null when it is not about one."),
        Column("metric", "VARCHAR", "The metric; null when it is not about one."),
        required("kind", "VARCHAR", "The kind of problem."),
        Column("question_id", "VARCHAR", "The question; null when it is about the whole."),
        required("severity", "VARCHAR", "`high`, `medium` or `low`."),
        Column("value", "DOUBLE", "The number that gave rise to it."),
        Column("threshold", "DOUBLE", "The line that the number should have kept."),
        required("message", "VARCHAR", "The problem in a sentence."),
    ),
)

INSIGHTS = Table(
    name="insights",
    one_row="One row is something that the scores of a benchmark tell as a whole.",
    key=("benchmark", "evaluator", "metric", "kind", "system", "question_id"),
    columns=(
        BENCHMARK,
        Column("evaluator", "VARCHAR", "The evaluator; null when it is not about one."),
        Column("metric", "VARCHAR", "The metric; null when it is not about one."),
        required("kind", "VARCHAR", "The kind of insight."),
        Column("system", "VARCHAR", "The system; null when it is about all."),
        Column("question_id", "VARCHAR", "The question; null when it is about the whole."),
        Column("value", "DOUBLE", "The number that it rests on."),
        required("message", "VARCHAR", "The insight in a sentence."),
    ),
)

LEADERBOARD_HISTORY = Table(
    name="leaderboard_history",
    one_row="One row is a row of a leaderboard as it was once published.",
    key=("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    columns=(
        PUBLISHED_AT,
        BENCHMARK,
        SLICE,
        SYSTEM,
        EVALUATOR,
        METRIC,
        Column("mean", "DOUBLE", "The mean of the scored samples; null when there were none."),
        CI_LOW,
        CI_HIGH,
        N_SCORED,
        SIGNATURE,
    ),
)

LEADERBOARDS = Group(
    title="Leaderboards",
    summary="Many scores folded into few numbers, and what they tell.",
    tables=(LEADERBOARD, LEADERBOARD_HISTORY, COMPARISONS, PROBLEMS, INSIGHTS),
)
