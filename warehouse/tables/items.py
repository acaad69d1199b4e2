"""The views that go down to single questions: failures, flips, and differences of two systems."""

from __future__ import annotations

from warehouse.sql import sql
from warehouse.tables.table import (
    BENCHMARK,
    EVALUATOR,
    METRIC,
    QUESTION_ID,
    SYSTEM,
    Column,
    Table,
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
