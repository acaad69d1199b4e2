"""The tables of what judges were asked and of what people say about the same answers."""

from __future__ import annotations

from warehouse.schema.table import (
    BENCHMARK,
    EVALUATOR,
    METRIC,
    QUESTION_ID,
    RUN_ID,
    SYSTEM,
    Column,
    Group,
    Table,
    required,
)

JUDGMENTS = Table(
    name="judgments",
    one_row="One row is one question put to a judge model, and what came of it.",
    key=("digest",),
    columns=(
        required(
            "digest",
            "VARCHAR",
            "The digest of model, parameters, messages, reply schema and replicate: "
            "what was once asked is not asked again.",
        ),
        required("model", "VARCHAR", "The judge model, as LiteLLM names it."),
        Column("parameters", "JSON", "The sampling parameters."),
        required("messages", "JSON", "The messages that were sent."),
        Column("reply_schema", "JSON", "The JSON schema that the reply had to follow."),
        required("replicate", "INTEGER", "Which of several equal questions it is, from 0."),
        Column("reply", "VARCHAR", "The reply's text; null when none came."),
        required("status", "VARCHAR", "`scored`, `parse_failure` or `judge_error`."),
        Column("error", "VARCHAR", "What went wrong."),
        Column("attempts", "INTEGER", "How many times it was sent."),
        Column("tokens_in", "BIGINT", "The tokens of the messages, over all attempts."),
        Column("tokens_out", "BIGINT", "The tokens of the replies, over all attempts."),
        Column("cost_usd", "DOUBLE", "What it cost, in US dollars, over all attempts."),
        Column("latency_s", "DOUBLE", "The seconds until the last reply came."),
        required("judged_at", "TIMESTAMP", "When the reply came (UTC)."),
        RUN_ID,
    ),
)

ASKS = Table(
    name="asks",
    one_row="One row is one step of the grading of one sample that a judge was asked for.",
    key=("benchmark", "system", "question_id", "evaluator", "step"),
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        required("step", "INTEGER", "Which of the grading's questions it is, from 0."),
        required("digest", "VARCHAR", "The judgment that answers it; see `judgments`."),
    ),
)

LABELS = Table(
    name="labels",
    one_row="One row is one person's number for one sample and metric.",
    key=("benchmark", "system", "question_id", "evaluator", "metric", "annotator"),
    columns=(
        BENCHMARK,
        SYSTEM,
        QUESTION_ID,
        EVALUATOR,
        METRIC,
        required("value", "DOUBLE", "The number, on the metric's own scale."),
        required("annotator", "VARCHAR", "Who gave it."),
    ),
)

CALIBRATION = Table(
    name="calibration",
    one_row="One row is how far a metric agrees with people, and its mean corrected by that.",
    key=("benchmark", "system", "evaluator", "metric", "method"),
    columns=(
        BENCHMARK,
        SYSTEM,
        EVALUATOR,
        METRIC,
        required(
            "method",
            "VARCHAR",
            "How the mean was corrected: `rogan_gladen` (by how often the evaluator errs) or "
            "`prediction_powered` (by how far it errs).",
        ),
        required("n_labels", "BIGINT", "The samples that have a label as well as a number."),
        required("n_compared", "BIGINT", "The same over all systems: agreement is told of these."),
        required("n_annotators", "BIGINT", "The people who gave labels."),
        Column("raw_mean", "DOUBLE", "The mean as the evaluator gives it."),
        Column("corrected_mean", "DOUBLE", "The mean that people would have given."),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the corrected mean."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the corrected mean."),
        Column("agreement", "DOUBLE", "The share of labels that the evaluator agrees with."),
        Column("constant_agreement", "DOUBLE", "What always saying the commoner verdict has."),
        Column("base_rate", "DOUBLE", "The share that people pass: at 0 or 1 kappa means little."),
        Column("kappa", "DOUBLE", "Cohen's kappa between evaluator and labels."),
        Column("kappa_low", "DOUBLE", "The lower end of its 95 % interval."),
        Column("kappa_high", "DOUBLE", "The upper end of its 95 % interval."),
        Column("weighted_kappa", "DOUBLE", "The same for ratings, with quadratic weights."),
        Column("alpha", "DOUBLE", "Krippendorff's alpha of the annotators among themselves."),
        Column("correlation", "DOUBLE", "Spearman's rank correlation with the labels."),
        Column("true_positive_rate", "DOUBLE", "The share of passes that it also passes."),
        Column("true_negative_rate", "DOUBLE", "The share of failures that it also fails."),
        required(
            "is_calibrated",
            "INTEGER",
            "1 when kappa is at least 0.4, or 0: then its numbers are no measure of what people "
            "would say.",
        ),
        required("calibrated_at", "TIMESTAMP", "When it was computed (UTC)."),
    ),
)

WOBBLE = Table(
    name="wobble",
    one_row="One row is how much of the spread of a judged metric is the judge's own.",
    key=("benchmark", "evaluator", "metric"),
    notes="Told from samples that were judged several times; see `judge.replicates`.",
    columns=(
        BENCHMARK,
        EVALUATOR,
        METRIC,
        required("n_answers", "BIGINT", "The samples that were judged at least twice."),
        required("judge_variance", "DOUBLE", "The variance between judgements of one answer."),
        required(
            "answer_variance",
            "DOUBLE",
            "The variance between answers without the judge's; below 0 where answers differ by "
            "less than the judge wobbles.",
        ),
        required(
            "flip_rate",
            "DOUBLE",
            "The share of pairs of judgements of one answer that differ on whether it passes.",
        ),
        Column("reliability", "DOUBLE", "The share of one judgement's variance that is answers'."),
    ),
)

LEDGER = Group(
    title="Judges and people",
    summary="Every call of a judge model, and human labels to hold the judges against.",
    tables=(JUDGMENTS, ASKS, LABELS, CALIBRATION, WOBBLE),
)
