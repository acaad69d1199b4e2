"""The tables of scores."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Rule, Table, required, shared
from warehouse.schema.tables.views import OPTION_CONFIDENCE_CURVES

STATUSES = (
    *("scored", "not_applicable", "undefined"),
    *("parse_failure", "judge_error", "target_error"),
)
STATUS = (
    "`scored`; `not_applicable`: an input of the metric is missing; `undefined`: the formula has "
    "no value; `parse_failure`: the judge's reply is not usable; `judge_error`: the call of the "
    "judge failed; `target_error`: the system failed to answer"
)
VALUE = Column("value", "DOUBLE", "The score; null exactly when `status` is not `scored`.")
REASON = Column(
    "reason",
    "VARCHAR",
    "Why there is no score; or `target_error` beside a score: the system failed to answer and got "
    "the worst value of the metric.",
)
DETAIL = Column("detail", "JSON", "The evidence for the scores.")
INPUT_DIGEST = required(
    "input_digest",
    "UBIGINT",
    "The digest of the inputs that the evaluator read; equal inputs are not scored again. 0: the "
    "next run scores the sample again, because the judge or a model was not available.",
)
SCORED_AT = required("scored_at", "TIMESTAMP", "When it was scored (UTC).")

GRADED = (
    required(
        "values", "DOUBLE[]", "One score for each metric; null if its status is not `scored`."
    ),
    Column("statuses", "VARCHAR[]", "One status for each metric; null: all are `scored`."),
    Column("reasons", "VARCHAR[]", "One reason for each metric; null: there are none."),
)

SIGNATURES = Table(
    name="signatures",
    one_row="One row is one configuration of an evaluator.",
    key=("evaluator", "signature"),
    columns=(
        *shared("evaluator", "signature"),
        Column("parameters", "JSON", "The parameters by name."),
        required("version", "INTEGER", "The version of the evaluator's formula."),
        required(
            "metrics",
            "VARCHAR[]",
            "Its metrics, in the order of the lists in `grades`; the last ones, of questions with "
            "several answers, may be missing there.",
        ),
        required("first_seen", "TIMESTAMP", "When it was first used (UTC)."),
    ),
)

GRADES = Table(
    name="grades",
    one_row="One row is the scores of one evaluator for one sample, with all its metrics.",
    key=("benchmark", "system", "question_id", "evaluator"),
    notes="This is the stored form of the scores; the view `scores` has one row for each metric "
    "and is easier to query.",
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator", "signature"),
        INPUT_DIGEST,
        *GRADED,
        DETAIL,
        SCORED_AT,
        *shared("run_id"),
        Column(
            "n_answers",
            "INTEGER",
            "The number of answers whose mean this is, with their values or statuses by the "
            "primary metric in `detail`; null for a single answer.",
        ),
        Column(
            "values_low",
            "DOUBLE[]",
            "For each metric, the lowest score with the answers of which the judge gave no usable "
            "verdict; null where there are none, and for a single answer.",
        ),
        Column("values_high", "DOUBLE[]", "The highest score with these answers."),
        Column(
            "has_failed",
            "BOOLEAN[]",
            "For each metric, whether the system failed to give any of these answers; null for a "
            "single answer.",
        ),
    ),
)

ANSWER_GRADES = Table(
    name="answer_grades",
    one_row="One row is the scores of one evaluator for one of several answers to a question.",
    key=("benchmark", "system", "question_id", "repeat", "evaluator"),
    notes="The stored form of `answer_scores`, for benchmarks whose questions have several "
    "answers.",
    columns=(
        *shared("benchmark", "system", "question_id"),
        required("repeat", "INTEGER", "The number of the answer, from 0."),
        *shared("evaluator", "signature"),
        INPUT_DIGEST,
        *GRADED,
        DETAIL,
        SCORED_AT,
        *shared("run_id"),
    ),
)

SCORES = Table(
    name="scores",
    one_row="One row is a system's score on one question, or the reason why there is none.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    notes="Every question that a system was to answer has a row for every metric of every "
    "evaluator of its benchmark. Of several answers it is the mean of those that are scored; see "
    "`answer_scores`.",
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator", "metric"),
        VALUE,
        Column("status", "VARCHAR", STATUS + "."),
        REASON,
        DETAIL,
        INPUT_DIGEST,
        *shared("signature"),
        SCORED_AT,
        *shared("run_id"),
    ),
    view_of="""
SELECT
    g.benchmark,
    g.system,
    g.question_id,
    g.evaluator,
    unnest(s.metrics[:len(g."values")]) AS metric,
    unnest(g."values") AS value,
    coalesce(unnest(g.statuses), 'scored') AS status,
    unnest(g.reasons) AS reason,
    g.detail,
    g.input_digest,
    g.signature,
    g.scored_at,
    g.run_id
FROM grades AS g
JOIN signatures AS s USING (evaluator, signature)
""".strip(),
)

_ANSWER_SCORES = """
SELECT
    g.benchmark,
    g.system,
    g.question_id,
    {repeat} AS repeat,
    g.evaluator,
    unnest(s.metrics[:len(g."values")]) AS metric,
    unnest(g."values") AS value,
    coalesce(unnest(g.statuses), 'scored') AS status,
    unnest(g.reasons) AS reason,
    g.detail,
    g.signature,
    g.scored_at,
    g.run_id
FROM {table} AS g
JOIN signatures AS s USING (evaluator, signature)
""".strip()

ANSWER_SCORES = Table(
    name="answer_scores",
    one_row="One row is one score of one answer, or the reason why there is none.",
    key=("benchmark", "system", "question_id", "repeat", "evaluator", "metric"),
    notes="The same as `scores` where each question has one answer.",
    columns=(
        *shared("benchmark", "system", "question_id"),
        Column("repeat", "INTEGER", "The number of the answer; 0 where there is one."),
        *shared("evaluator", "metric"),
        VALUE,
        Column("status", "VARCHAR", STATUS + "."),
        REASON,
        DETAIL,
        *shared("signature"),
        SCORED_AT,
        *shared("run_id"),
    ),
    view_of=f"""
{_ANSWER_SCORES.format(repeat="0", table="grades")}
WHERE g.n_answers IS NULL
UNION ALL
{_ANSWER_SCORES.format(repeat="g.repeat", table="answer_grades")}
""".strip(),
)

SYSTEM_SCORES = Table(
    name="system_scores",
    one_row="One row is one score of a system on a slice, for metrics of a set of samples.",
    key=("benchmark", "system", "slice", "evaluator", "metric"),
    columns=(
        *shared("benchmark", "system", "slice", "evaluator", "metric"),
        VALUE,
        required("status", "VARCHAR", STATUS + ".", among=STATUSES),
        REASON,
        Column("detail", "JSON", "The evidence for the score, such as a confusion matrix."),
        *shared("signature"),
    ),
    rules=(
        Rule(
            "a value is null exactly when its status is not `scored`",
            "(value IS NULL) <> (status <> 'scored')",
        ),
    ),
)

METRICS = Table(
    name="metrics",
    one_row="One row is one metric and how to read its scores.",
    key=("evaluator", "metric"),
    columns=(
        *shared("evaluator"),
        required("family", "VARCHAR", "The family of the evaluator, such as `retrieval`."),
        *shared("metric"),
        required("summary", "VARCHAR", "A description of the metric in one sentence."),
        required("best", "VARCHAR", "`high` or `low`: which values are better."),
        Column("bound_low", "DOUBLE", "The lowest possible value; null when unbounded."),
        Column("bound_high", "DOUBLE", "The highest possible value; null when unbounded."),
        Column("threshold", "DOUBLE", "The threshold for the mean; null when there is none."),
        required(
            "is_primary", "INTEGER", "1 for the primary metric of its evaluator, otherwise 0."
        ),
        required("level", "VARCHAR", "`sample`, or `system` for a score of a set of samples."),
    ),
)

SCORING = Group(
    title="Scores",
    summary="Scores of samples and systems, or the reasons why there are none.",
    tables=(
        *(METRICS, SIGNATURES, GRADES, ANSWER_GRADES, SCORES, ANSWER_SCORES),
        *(SYSTEM_SCORES, OPTION_CONFIDENCE_CURVES),
    ),
)
