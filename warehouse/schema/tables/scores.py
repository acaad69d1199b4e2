"""The tables of scores, one number or one reason each."""

from __future__ import annotations

from warehouse.schema.table import (
    BENCHMARK,
    EVALUATOR,
    METRIC,
    QUESTION_ID,
    RUN_ID,
    SIGNATURE,
    SLICE,
    SYSTEM,
    Column,
    Group,
    Rule,
    Table,
    required,
)
from warehouse.schema.tables.views import OPTION_CONFIDENCE_CURVES

STATUSES = (
    *("scored", "not_applicable", "undefined"),
    *("parse_failure", "judge_error", "target_error"),
)
STATUS = (
    "`scored`; `not_applicable`: an input that the metric needs is absent; `undefined`: the "
    "formula has no value here; `parse_failure`: the judge answered, but nothing usable; "
    "`judge_error`: the judge could not be asked; `target_error`: the system failed to answer"
)
VALUE = Column("value", "DOUBLE", "The number; null exactly when `status` is not `scored`.")
REASON = Column(
    "reason",
    "VARCHAR",
    "Why there is no number, in words; or `target_error` beside a number: the system failed to "
    "answer and took the metric's worst value.",
)
DETAIL = Column("detail", "JSON", "The evidence that the evaluator gives for its scores.")
INPUT_DIGEST = required(
    "input_digest",
    "UBIGINT",
    "The digest of the inputs that the evaluator read; equal inputs are not scored again. 0: it "
    "could not be asked (`judge_error`, or a model that was not there), and is scored again by the "
    "next run.",
)
SCORED_AT = required("scored_at", "TIMESTAMP", "When it was scored (UTC).")

SIGNATURES = Table(
    name="signatures",
    one_row="One row is one evaluator as it was once configured.",
    key=("evaluator", "signature"),
    columns=(
        EVALUATOR,
        SIGNATURE,
        Column("parameters", "JSON", "The parameters by name."),
        required("version", "INTEGER", "The version of the evaluator's formula."),
        required("metrics", "VARCHAR[]", "Its metrics, in the order of the lists in `grades`."),
        required("first_seen", "TIMESTAMP", "When it was first used (UTC)."),
    ),
)

GRADES = Table(
    name="grades",
    one_row="One row is one evaluator's grading of one sample: all of its metrics side by side.",
    key=("benchmark", "system", "question_id", "evaluator"),
    notes="This is how scores are stored; `scores` shows the same with one metric a row and is "
    "the better table to query.",
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        SIGNATURE,
        INPUT_DIGEST,
        required("values", "DOUBLE[]", "One number a metric; null where its status is another."),
        Column("statuses", "VARCHAR[]", "One status a metric; null: all are `scored`."),
        Column("reasons", "VARCHAR[]", "One reason a metric; null: there are none."),
        DETAIL,
        SCORED_AT,
        RUN_ID,
    ),
)

SCORES = Table(
    name="scores",
    one_row="One row is one number about one sample, or the reason why there is none.",
    key=("benchmark", "system", "question_id", "evaluator", "metric"),
    notes="Every sample has a row for every metric of every evaluator of its benchmark.",
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        METRIC,
        VALUE,
        Column("status", "VARCHAR", STATUS + "."),
        REASON,
        DETAIL,
        INPUT_DIGEST,
        SIGNATURE,
        SCORED_AT,
        RUN_ID,
    ),
    view_of="""
SELECT
    g.benchmark,
    g.system,
    g.question_id,
    g.evaluator,
    unnest(s.metrics) AS metric,
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

SYSTEM_SCORES = Table(
    name="system_scores",
    one_row="One row is one number about a system on a whole slice, for metrics that only exist "
    "for a set of samples.",
    key=("benchmark", "system", "slice", "evaluator", "metric"),
    columns=(
        BENCHMARK,
        SYSTEM,
        SLICE,
        EVALUATOR,
        METRIC,
        VALUE,
        required("status", "VARCHAR", STATUS + ".", among=STATUSES),
        REASON,
        Column("detail", "JSON", "The evidence behind it, such as a confusion matrix."),
        SIGNATURE,
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
    one_row="One row is one metric of the catalogue and how to read its numbers.",
    key=("evaluator", "metric"),
    columns=(
        EVALUATOR,
        required("family", "VARCHAR", "The family of the evaluator, such as `retrieval`."),
        METRIC,
        required("summary", "VARCHAR", "What the metric says, in one sentence."),
        required("best", "VARCHAR", "`high` or `low`: which numbers are better."),
        Column("bound_low", "DOUBLE", "The least possible number; null when there is none."),
        Column("bound_high", "DOUBLE", "The greatest possible number; null when there is none."),
        Column("threshold", "DOUBLE", "The number from which a mean passes; null: no such line."),
        required("is_primary", "INTEGER", "1 for the metric that stands for its evaluator, or 0."),
        required("level", "VARCHAR", "`sample`, or `system`: a number about a whole set."),
    ),
)

SCORING = Group(
    title="Scores",
    summary="A number about a sample or a system, or the reason why there is none.",
    tables=(METRICS, SIGNATURES, GRADES, SCORES, SYSTEM_SCORES, OPTION_CONFIDENCE_CURVES),
)
