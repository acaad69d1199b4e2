"""The tables about the state of the pipeline."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Table, required, shared

VALIDATIONS = Table(
    name="validations",
    one_row="One row is the result of one expectation about a table in one run.",
    key=("run_id", "table", "expectation"),
    columns=(
        required("run_id", "VARCHAR", "The run."),
        required(
            "table",
            "VARCHAR",
            "The table; `scores/<evaluator>` for the scores of an evaluator with one column for "
            "each metric; `drift` for changes since the last publication.",
        ),
        required("expectation", "VARCHAR", "The expectation."),
        required("success", "INTEGER", "1 if it is met, otherwise 0."),
        Column("observed", "VARCHAR", "The observed value."),
        Column("unexpected_count", "BIGINT", "The number of unexpected rows."),
        required("severity", "VARCHAR", "The severity of a failure, such as `warn` or `error`."),
        Column("validated_at", "TIMESTAMP", "When it was checked (UTC)."),
    ),
)

QUARANTINE = Table(
    name="quarantine",
    one_row="One row is a copy of a row that does not meet an expectation.",
    key=("run_id", "table", "expectation", "benchmark", "system", "question_id", "row"),
    notes="The first hundred unexpected rows of an expectation in a run. The rows stay in their "
    "table; if the severity is `error`, the run stops before the stages that depend on it.",
    columns=(
        required("run_id", "VARCHAR", "The run."),
        required("table", "VARCHAR", "The table."),
        required("expectation", "VARCHAR", "The expectation, as in `validations`."),
        Column("benchmark", "VARCHAR", "The row's benchmark, if it has one."),
        Column("system", "VARCHAR", "The row's system, if it has one."),
        Column("question_id", "VARCHAR", "The row's question, if it has one."),
        required("row", "JSON", "The row; texts are cut to 500 characters."),
        required("severity", "VARCHAR", "The severity: `warn` or `error`."),
        required("quarantined_at", "TIMESTAMP", "When it was found (UTC)."),
    ),
)

MARKS = Table(
    name="marks",
    one_row="One row is one stage of one benchmark with the digest of its inputs.",
    key=("benchmark", "stage"),
    notes="Written in the transaction of the stage's rows; the stage is up to date while the "
    "digest of its inputs is the same.",
    columns=(
        *shared("benchmark"),
        required("stage", "VARCHAR", "The stage, such as `questions`."),
        required("digest", "VARCHAR", "The digest of its inputs."),
        required("marked_at", "TIMESTAMP", "When it was written (UTC)."),
    ),
)

GATE_LOOKS = Table(
    name="gate_looks",
    one_row="One row is the last look of a sequential gate at one metric.",
    key=("benchmark", "system", "baseline", "evaluator", "metric"),
    notes="What the next look is compared with. Without the row, the gate forgets its earlier "
    "looks, and false alarms are possible at a higher rate.",
    columns=(
        *shared("benchmark", "system"),
        required("baseline", "VARCHAR", "The system that it is compared with."),
        *shared("evaluator", "metric"),
        required(
            "look", "INTEGER", "The number of the look; looks at the same scores do not count."
        ),
        required(
            "epoch",
            "INTEGER",
            "How often the test has started over, from 1; it does if an earlier difference "
            "changes.",
        ),
        required("first", "INTEGER", "The number of clusters at the first look of the epoch."),
        required("largest", "INTEGER", "The largest cluster that the test of this epoch allows."),
        required("clusters", "UBIGINT[]", "The hash of each cluster, earlier looks first."),
        required("sums", "DOUBLE[]", "The sum of the gains over the baseline in each cluster."),
        required("counts", "INTEGER[]", "The number of questions in each cluster."),
        required("looked_at", "TIMESTAMP", "When the look was written (UTC)."),
    ),
)

META = Table(
    name="meta",
    one_row="One row is one fact about the warehouse itself.",
    key=("name",),
    columns=(
        required("name", "VARCHAR", "The fact's name, such as `schema_version`."),
        required("value", "VARCHAR", "Its value."),
    ),
)

BOOKKEEPING = Group(
    title="Bookkeeping",
    summary="What was checked, what is up to date, and which version wrote the warehouse.",
    tables=(VALIDATIONS, QUARANTINE, MARKS, GATE_LOOKS, META),
)
