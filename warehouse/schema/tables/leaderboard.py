"""The tables of leaderboards and of the conclusions from them."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Rule, Table, required, shared

CI_LOW = Column("ci_low", "DOUBLE", "The lower end of the 95 % confidence interval of the mean.")
CI_HIGH = Column("ci_high", "DOUBLE", "The upper end of the 95 % confidence interval of the mean.")
N_SCORED = required("n_scored", "BIGINT", "The number of scored samples.", least=0)
PUBLISHED_AT = required("published_at", "TIMESTAMP", "When the row was computed (UTC).")

LEADERBOARD = Table(
    name="leaderboard",
    one_row="One row is the result of a system on a slice of a benchmark by one metric.",
    key=("benchmark", "slice", "system", "evaluator", "metric"),
    columns=(
        *shared("benchmark", "slice", "system", "evaluator", "metric"),
        Column("mean", "DOUBLE", "The mean of the scored samples; null when there are none."),
        required("n", "BIGINT", "The number of samples in the slice."),
        N_SCORED,
        required(
            "n_not_applicable", "BIGINT", "The samples that lack an input of the metric.", least=0
        ),
        required(
            "n_undefined", "BIGINT", "The samples for which the formula is undefined.", least=0
        ),
        required(
            "n_parse_failure", "BIGINT", "The samples without a usable reply of the judge.", least=0
        ),
        required(
            "n_judge_error",
            "BIGINT",
            "The samples for which the call of the judge failed.",
            least=0,
        ),
        required(
            "n_target_error",
            "BIGINT",
            "The samples that the system failed to answer: those with the worst value, which "
            "`n_scored` includes, and those without a value.",
            least=0,
        ),
        Column(
            "coverage",
            "DOUBLE",
            "The scored share of the samples to which the metric applies: "
            "`n_scored / (n - n_not_applicable)`; null when it applies to none.",
            least=0,
            most=1,
        ),
        Column(
            "bound_low",
            "DOUBLE",
            "The mean if all samples with `parse_failure` or `judge_error` had the lowest possible "
            "value; null for metrics without bounds.",
        ),
        Column(
            "bound_high",
            "DOUBLE",
            "The mean if all these samples had the highest possible value.",
        ),
        Column("std_error", "DOUBLE", "The standard error of the mean.", least=0),
        CI_LOW,
        CI_HIGH,
        Column(
            "ci_method",
            "VARCHAR",
            "The method of the interval: `wilson`, `bootstrap` or `t`; null without an interval.",
        ),
        Column(
            "n_clusters",
            "BIGINT",
            "The number of independent clusters of questions; with fewer than 30 the interval is "
            "approximate.",
        ),
        Column(
            "rank",
            "INTEGER",
            "The rank by the mean; 1 is the best, equal means share a rank.",
            least=1,
        ),
        Column("rank_low", "INTEGER", "The best rank that the uncertainty allows.", least=1),
        Column("rank_high", "INTEGER", "The worst rank that the uncertainty allows.", least=1),
        Column(
            "tied_with_best",
            "INTEGER",
            "1 if not significantly different from the best system, otherwise 0.",
            among=(0, 1),
        ),
        Column("threshold", "DOUBLE", "The threshold for the mean."),
        Column("passes", "INTEGER", "1 if the mean passes the threshold, otherwise 0."),
        required(
            "best",
            "VARCHAR",
            "`high` or `low`: which values are better.",
            among=("high", "low"),
        ),
        required(
            "is_primary",
            "INTEGER",
            "1 for the primary metric of its evaluator, otherwise 0.",
            among=(0, 1),
        ),
        *shared("signature"),
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
    one_row="One row is a paired comparison of two systems by one metric.",
    key=("benchmark", "slice", "metric", "evaluator", "system_a", "system_b"),
    columns=(
        *shared("benchmark", "slice", "metric", "evaluator"),
        required("system_a", "VARCHAR", "The first system."),
        required("system_b", "VARCHAR", "The second system."),
        required("n_pairs", "BIGINT", "The questions on which both systems are scored."),
        required("n_clusters", "BIGINT", "The number of independent clusters of these questions."),
        Column("difference", "DOUBLE", "The mean difference of the scores, a minus b."),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the difference."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the difference."),
        Column("p_value", "DOUBLE", "The p-value of the difference."),
        Column("p_adjusted", "DOUBLE", "The p-value adjusted for all pairs of systems (Holm)."),
        required(
            "verdict",
            "VARCHAR",
            "The result for a: `better`, `worse`, `tied`, or `not_enough_data` if no answers to so "
            "few questions can be significant.",
        ),
        Column(
            "detectable_difference",
            "DOUBLE",
            "The smallest difference that so many pairs detect with a power of 80 %.",
        ),
    ),
)

PROBLEMS = Table(
    name="problems",
    one_row="One row is a problem of a system or a judge that needs attention.",
    key=("benchmark", "system", "evaluator", "metric", "kind", "question_id"),
    columns=(
        *shared("benchmark"),
        Column(
            "system",
            "VARCHAR",
            "The system; null when the problem concerns all systems or a judge.",
        ),
        Column("evaluator", "VARCHAR", "The evaluator; null when none is concerned."),
        Column("metric", "VARCHAR", "The metric; null when none is concerned."),
        required("kind", "VARCHAR", "The kind of problem."),
        Column(
            "question_id", "VARCHAR", "The question; null when the whole benchmark is concerned."
        ),
        required("severity", "VARCHAR", "`high`, `medium` or `low`."),
        Column("value", "DOUBLE", "The value that caused it."),
        Column("threshold", "DOUBLE", "The threshold that the value crossed."),
        required("message", "VARCHAR", "The problem in a sentence."),
    ),
)

INSIGHTS = Table(
    name="insights",
    one_row="One row is a conclusion from the scores of a benchmark as a whole.",
    key=("benchmark", "evaluator", "metric", "kind", "system", "question_id"),
    columns=(
        *shared("benchmark"),
        Column("evaluator", "VARCHAR", "The evaluator; null when none is concerned."),
        Column("metric", "VARCHAR", "The metric; null when none is concerned."),
        required("kind", "VARCHAR", "The kind of insight."),
        Column("system", "VARCHAR", "The system; null when all are concerned."),
        Column(
            "question_id", "VARCHAR", "The question; null when the whole benchmark is concerned."
        ),
        Column("value", "DOUBLE", "The value on which it is based."),
        required("message", "VARCHAR", "The insight in a sentence."),
    ),
)

LEADERBOARD_HISTORY = Table(
    name="leaderboard_history",
    one_row="One row is a row of a published leaderboard.",
    key=("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    columns=(
        PUBLISHED_AT,
        *shared("benchmark", "slice", "system", "evaluator", "metric"),
        Column("mean", "DOUBLE", "The mean of the scored samples; null when there were none."),
        CI_LOW,
        CI_HIGH,
        N_SCORED,
        *shared("signature"),
    ),
)

LEADERBOARDS = Group(
    title="Leaderboards",
    summary="Aggregated scores and the conclusions from them.",
    tables=(LEADERBOARD, LEADERBOARD_HISTORY, COMPARISONS, PROBLEMS, INSIGHTS),
)
