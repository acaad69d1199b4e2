"""The tables that the pipeline keeps about itself."""

from __future__ import annotations

from warehouse.schema.table import BENCHMARK, Column, Group, Table, required

VALIDATIONS = Table(
    name="validations",
    one_row="One row is one expectation about a table, held against its rows in one run.",
    key=("run_id", "table", "expectation"),
    columns=(
        required("run_id", "VARCHAR", "The run."),
        required(
            "table",
            "VARCHAR",
            "The table; `scores/<evaluator>` for the scores of an evaluator, one column a metric; "
            "`drift` for what moved since the last publication.",
        ),
        required("expectation", "VARCHAR", "What was expected."),
        required("success", "INTEGER", "1 when it holds, or 0."),
        Column("observed", "VARCHAR", "What was found."),
        Column("unexpected_count", "BIGINT", "The rows that break it."),
        required("severity", "VARCHAR", "How bad a failure is, such as `warn` or `error`."),
        Column("validated_at", "TIMESTAMP", "When it was looked at (UTC)."),
    ),
)

QUARANTINE = Table(
    name="quarantine",
    one_row="One row is one row of a table that breaks an expectation, as it was then.",
    key=("run_id", "table", "expectation", "benchmark", "system", "question_id", "row"),
    notes="The first hundred rows that break an expectation in a run. The row itself stays where "
    "it is; what would be made from it is not made while the expectation is an `error`.",
    columns=(
        required("run_id", "VARCHAR", "The run."),
        required("table", "VARCHAR", "The table."),
        required("expectation", "VARCHAR", "What was expected, as in `validations`: the reason."),
        Column("benchmark", "VARCHAR", "The row's benchmark, if it has one."),
        Column("system", "VARCHAR", "The row's system, if it has one."),
        Column("question_id", "VARCHAR", "The row's question, if it has one."),
        required("row", "JSON", "The row; of each text the first 500 characters."),
        required("severity", "VARCHAR", "How bad it is: `warn` or `error`."),
        required("quarantined_at", "TIMESTAMP", "When it was found (UTC)."),
    ),
)

MARKS = Table(
    name="marks",
    one_row="One row is one stage of one benchmark, and the digest of all it was last made from.",
    key=("benchmark", "stage"),
    notes="Written together with the stage's rows: while the digest stays, there is nothing to do.",
    columns=(
        BENCHMARK,
        required("stage", "VARCHAR", "The stage, such as `questions`."),
        required("digest", "VARCHAR", "The digest of its inputs."),
        required("marked_at", "TIMESTAMP", "When it was made (UTC)."),
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
    tables=(VALIDATIONS, QUARANTINE, MARKS, META),
)
