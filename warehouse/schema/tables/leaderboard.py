"""The tables of leaderboards and of the conclusions from them."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Rule, Table, required, shared
from warehouse.schema.tables.pairwise import COMPARISONS, PAIRWISE

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
        Column(
            "mean",
            "DOUBLE",
            "The mean of the scored samples. Null when there are none, when all of them are failed "
            "answers, or when an answer failed and the scale has no worst value.",
        ),
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
            "`n_scored` includes, and those without a value. Of several answers to a question, one "
            "failed answer is enough.",
            least=0,
        ),
        Column(
            "n_not_asked",
            "BIGINT",
            "The samples that the system was not asked (`missing: not_asked`); "
            "`n_not_applicable` includes them.",
            least=0,
        ),
        Column(
            "n_common",
            "BIGINT",
            "The questions that all systems with a mean were asked; ranks rest on them.",
            least=0,
        ),
        Column(
            "common_mean",
            "DOUBLE",
            "The mean over these questions, which determines the rank.",
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
            "The mean if all samples with `parse_failure` or `judge_error`, and all such answers "
            "of several to a question, had the lowest possible value; null for metrics without "
            "bounds.",
        ),
        Column(
            "bound_high",
            "DOUBLE",
            "The mean if all of them had the highest possible value.",
        ),
        Column(
            "chance",
            "DOUBLE",
            "The chance level: the value that noise alone gives a system without fault; null for "
            "metrics that noise does not move away from their best value.",
        ),
        Column("std_error", "DOUBLE", "The standard error of the mean.", least=0),
        CI_LOW,
        CI_HIGH,
        Column(
            "ci_method",
            "VARCHAR",
            "The method of the interval: `wilson`, `skew_adjusted_t`, `t`, or `no_variation` if "
            "all values are equal, which has an interval only on a scale with two bounds; null "
            "without an interval.",
        ),
        Column("n_clusters", "BIGINT", "The number of independent clusters of questions."),
        Column(
            "effective_clusters",
            "DOUBLE",
            "The number of equally large clusters with the same information; with fewer than 30 "
            "the interval is approximate.",
            least=0,
        ),
        Column(
            "shrunken_mean",
            "DOUBLE",
            "For a slice, the mean shrunken towards that of all questions by the share of noise in "
            "the differences between slices: compare many slices by it. Null for `all`.",
        ),
        Column(
            "rank",
            "INTEGER",
            "The rank by `common_mean`; 1 is the best, equal means share a rank. Where failed "
            "answers have no value (leaks), the fewer of them, the better the rank of an equal "
            "mean.",
            least=1,
        ),
        Column(
            "rank_low",
            "INTEGER",
            "The best rank that the comparisons allow: 1 more than the systems that are "
            "significantly better, also by a chain of verdicts; null for a single question.",
            least=1,
        ),
        Column(
            "rank_high",
            "INTEGER",
            "The worst rank that the comparisons allow: one for each system that is not "
            "significantly worse, also by a chain of verdicts.",
            least=1,
        ),
        Column(
            "tied_with_best",
            "INTEGER",
            "1 if no system is significantly better (`rank_low` is 1), otherwise 0.",
            among=(0, 1),
        ),
        Column(
            "mark",
            "VARCHAR",
            "The mark of the report, by `p_page` of the comparisons: `best` if significantly "
            "better than every other system, `worse` if some system is significantly better, "
            "otherwise `tied`. Null on slices and for metrics that are neither primary nor the "
            "headline: these are exploratory.",
            among=("best", "tied", "worse"),
        ),
        Column(
            "threshold",
            "DOUBLE",
            "The threshold for the mean that the benchmark sets; null without one.",
        ),
        Column(
            "passes",
            "INTEGER",
            "1 if the mean passes the threshold, otherwise 0; null without a threshold.",
            among=(0, 1),
        ),
        Column(
            "threshold_p",
            "DOUBLE",
            "The p-value of the hypothesis that the true mean passes the threshold, adjusted for "
            "all thresholds of the benchmark (Holm) and all statements of the report's pages. Null "
            "on slices, without such a threshold, and where no test holds.",
            least=0,
            most=1,
        ),
        Column(
            "gate",
            "VARCHAR",
            "`failed` if the system fails a gate on this metric, `passed` if it passes all of "
            "them, null if there is none. Gates are about all questions; all slices show their "
            "verdict.",
            among=("passed", "failed"),
        ),
        Column("best_value", "DOUBLE", "The best value of the scale; null without such a bound."),
        Column(
            "worst_value", "DOUBLE", "The worst value of the scale; null if it has no such bound."
        ),
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
        Column(
            "is_headline",
            "INTEGER",
            "1 for the metric by whose rank systems are ordered everywhere, otherwise 0.",
            among=(0, 1),
        ),
        Column(
            "position",
            "INTEGER",
            "The place of the metric in the order of display, from 1: that of `rank_by`, the "
            "primary metrics in the order of the configuration, all others.",
            least=1,
        ),
        Column(
            "n_statements",
            "BIGINT",
            "The number of statements of the report's pages, among which the 5 % of errors are "
            "shared; `mark` and `threshold_p` are corrected for it.",
            least=1,
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
            "a system that is tied with the best may have the first rank",
            "tied_with_best = 1 AND rank_low > 1",
            blocks=False,
        ),
        Rule(
            "the rank lies between the best and the worst that the comparisons allow",
            "rank < rank_low OR rank > rank_high",
            blocks=False,
        ),
        Rule(
            "a system that is tied with the best may be the first",
            "tied_with_best = 1 AND rank_low > 1",
            blocks=False,
        ),
    ),
)

GATES = Table(
    name="gates",
    one_row="One row is the verdict of a configured gate on one metric of a system.",
    key=("benchmark", "system", "baseline", "evaluator", "metric", "kind"),
    columns=(
        *shared("benchmark", "system"),
        Column(
            "baseline",
            "VARCHAR",
            "The system that it is compared with; null for the kinds `min` and `max`.",
        ),
        *shared("evaluator", "metric"),
        required(
            "kind",
            "VARCHAR",
            "`regression`: not worse than the baseline; `min`, `max`: the mean is at least, or at "
            "most, a number.",
            among=("regression", "min", "max"),
        ),
        Column(
            "value",
            "DOUBLE",
            "The mean difference, system minus baseline; for `min` and `max` the mean. Null when "
            "it could not be computed.",
        ),
        Column("limit", "DOUBLE", "The tolerance; for `min` and `max` the number."),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the value."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the value."),
        required(
            "verdict",
            "VARCHAR",
            "`improved`, `unchanged`, `regressed`; `met`, `missed`; `not_enough_data`, or "
            "`not_comparable` if the gate could not be evaluated.",
        ),
        required("passed", "INTEGER", "1 if the gate passed, otherwise 0.", among=(0, 1)),
        required("message", "VARCHAR", "The verdict in a sentence, with the reason."),
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
    tables=(LEADERBOARD, LEADERBOARD_HISTORY, COMPARISONS, PAIRWISE, GATES, PROBLEMS, INSIGHTS),
)
