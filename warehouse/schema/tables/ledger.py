"""The tables of judge calls, human labels and calibration."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Table, required, shared

JUDGMENTS = Table(
    name="judgments",
    one_row="One row is one paid call, of a judge or of a system under test say, and its outcome.",
    key=("digest",),
    columns=(
        required(
            "digest",
            "VARCHAR",
            "The digest of model, parameters, messages, reply schema and replicate; equal calls "
            "are not repeated.",
        ),
        required(
            "model",
            "VARCHAR",
            "The judge model, as LiteLLM names it, or `system:` and a system, or `litellm:` and a "
            "remote language model.",
        ),
        Column("parameters", "JSON", "The sampling parameters, or the version of the system."),
        required("messages", "JSON", "The messages that were sent."),
        Column("reply_schema", "JSON", "The JSON schema of the reply."),
        required("replicate", "INTEGER", "The number of the replicate of this call, from 0."),
        Column("reply", "VARCHAR", "The text of the reply; null without a reply."),
        required(
            "status",
            "VARCHAR",
            "`scored`, `parse_failure` or `judge_error`; `target_error` if a system failed.",
        ),
        Column("error", "VARCHAR", "The error."),
        Column(
            "attempts",
            "INTEGER",
            "The number of attempts, with those whose outcome this one replaced.",
        ),
        Column("tokens_in", "BIGINT", "The input tokens of all attempts."),
        Column("tokens_out", "BIGINT", "The output tokens of all attempts."),
        Column("cost_usd", "DOUBLE", "The cost of all attempts in US dollars."),
        Column("latency_s", "DOUBLE", "The latency of the last attempt in seconds."),
        required("judged_at", "TIMESTAMP", "When the reply came (UTC)."),
        *shared("run_id"),
        Column(
            "replaced_tokens_in",
            "BIGINT",
            "The part of `tokens_in` whose outcome this one replaced (`run --retry`, `--force`, a "
            "failure before); null for none.",
        ),
        Column(
            "replaced_tokens_out",
            "BIGINT",
            "The part of `tokens_out` whose outcome this one replaced.",
        ),
        Column("replaced_usd", "DOUBLE", "The part of `cost_usd` whose outcome this one replaced."),
    ),
)

ASKS = Table(
    name="asks",
    one_row="One row is one judge call that an evaluator needed for one sample.",
    key=(
        *("benchmark", "system", "question_id", "evaluator", "repeat", "member", "replicate"),
        *("turn", "step"),
    ),
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator"),
        required(
            "step",
            "INTEGER",
            "The number of the call within `repeat` and `member`, from 0 on through replicates.",
        ),
        required("digest", "VARCHAR", "The judgment; see `judgments`."),
        Column(
            "repeat",
            "INTEGER",
            "The number of the answer to the question, from 0; see `predictions`.",
            least=0,
            default="0",
        ),
        Column(
            "member",
            "INTEGER",
            "The number of the member of a panel, from 0.",
            least=0,
            default="0",
        ),
        Column(
            "replicate",
            "INTEGER",
            "The number of the judgment of the same answer by the same judge, from 0.",
            least=0,
            default="0",
        ),
        Column(
            "turn",
            "INTEGER",
            "The number of the turn of a conversation, from 0.",
            least=0,
            default="0",
        ),
    ),
)

LABELS = Table(
    name="labels",
    one_row="One row is one annotator's label for one sample and metric.",
    key=("benchmark", "system", "question_id", "evaluator", "metric", "annotator"),
    columns=(
        *shared("benchmark", "system", "question_id", "evaluator", "metric"),
        required("value", "DOUBLE", "The label on the scale of the metric."),
        required("annotator", "VARCHAR", "The annotator."),
        Column(
            "selection",
            "VARCHAR",
            "How `scoreline annotate` chose the sample: `random` from all of the system, or "
            "`uncertain` from those whose verdict is uncertain; null for imported labels.",
            among=("random", "uncertain"),
        ),
        Column(
            "stratum",
            "VARCHAR",
            "Of which samples of the system it is one, for `scoreline annotate`: `uncertain` or "
            "`certain`. Labels are a random choice of each; null for imported labels.",
            among=("uncertain", "certain"),
        ),
        Column("stratum_size", "BIGINT", "The number of these samples.", least=1),
        Column(
            "probability",
            "DOUBLE",
            "For imported labels, the probability with which the sample was chosen for labelling; "
            "null: all samples of the system had the same.",
        ),
    ),
)

CALIBRATION = Table(
    name="calibration",
    one_row="One row is the agreement of a metric with human labels, and its corrected mean.",
    key=("benchmark", "system", "evaluator", "metric", "method"),
    columns=(
        *shared("benchmark", "system", "evaluator", "metric"),
        required(
            "method",
            "VARCHAR",
            "The correction of the mean: `prediction_powered` (from the size of errors) or "
            "`rogan_gladen` (from error rates). Both assume that labels were drawn at random, or "
            "with the probabilities in `labels`.",
        ),
        required(
            "n_labels",
            "BIGINT",
            "The samples with a score and a label, if it is known how they were drawn.",
        ),
        required(
            "n_compared", "BIGINT", "The same over all systems; agreement is computed from these."
        ),
        Column(
            "agreement_reason",
            "VARCHAR",
            "Why there is no agreement although there are labels; otherwise null.",
        ),
        required("n_annotators", "BIGINT", "The number of annotators."),
        Column("raw_mean", "DOUBLE", "The mean of the evaluator's scores."),
        Column(
            "corrected_mean",
            "DOUBLE",
            "The estimated mean of human labels, from the labels of this system; null if there is "
            "no estimate within the bounds of the metric.",
        ),
        Column("ci_low", "DOUBLE", "The lower end of the 95 % interval of the corrected mean."),
        Column("ci_high", "DOUBLE", "The upper end of the 95 % interval of the corrected mean."),
        Column(
            "reason", "VARCHAR", "Why there is no corrected mean or no interval; otherwise null."
        ),
        Column(
            "agreement",
            "DOUBLE",
            "The share of labels that the evaluator agrees with, weighted by how they were drawn, "
            "as all that follows. Where annotators disagree, a sample counts in parts.",
        ),
        Column(
            "constant_agreement",
            "DOUBLE",
            "The agreement of a constant verdict, the more frequent one.",
        ),
        Column(
            "base_rate", "DOUBLE", "The share of labels that pass; kappa means little near 0 or 1."
        ),
        Column("kappa", "DOUBLE", "Cohen's kappa between evaluator and labels."),
        Column(
            "kappa_low",
            "DOUBLE",
            "The lower end of its 95 % interval; null if evaluator or labels have only one class.",
        ),
        Column("kappa_high", "DOUBLE", "The upper end of its 95 % interval."),
        Column("weighted_kappa", "DOUBLE", "Cohen's kappa of ratings with quadratic weights."),
        Column("alpha", "DOUBLE", "Krippendorff's alpha between the annotators."),
        Column("correlation", "DOUBLE", "Spearman's rank correlation with the labels."),
        Column(
            "true_positive_rate",
            "DOUBLE",
            "The share of passing labels for which the evaluator passes, too.",
        ),
        Column(
            "true_negative_rate",
            "DOUBLE",
            "The share of failing labels for which the evaluator fails, too.",
        ),
        Column(
            "labels_needed",
            "BIGINT",
            "About how many more labels are needed for `is_calibrated`, if agreement stays as it "
            "is. If kappa is too low, or the labels have only one class, more labels alone do not "
            "suffice: then how many are missing from 20, or null if none are.",
        ),
        required(
            "is_calibrated",
            "INTEGER",
            "1 if 20 or more labels of both classes give a kappa that is above 0.4 with its whole "
            "interval, otherwise 0: the scores may then not represent human judgment.",
        ),
        required("calibrated_at", "TIMESTAMP", "When it was computed (UTC)."),
    ),
)

WOBBLE = Table(
    name="wobble",
    one_row="One row is the share of a metric's variance that is due to the judge.",
    key=("benchmark", "evaluator", "metric"),
    notes="Estimated from samples that were judged several times; see `judge.replicates`.",
    columns=(
        *shared("benchmark", "evaluator", "metric"),
        required("n_answers", "BIGINT", "The samples that were judged at least twice."),
        required("judge_variance", "DOUBLE", "The variance between judgments of the same answer."),
        required(
            "answer_variance",
            "DOUBLE",
            "The variance between answers without that of the judge; negative if answers differ "
            "less than judgments of one answer.",
        ),
        required(
            "flip_rate",
            "DOUBLE",
            "The share of pairs of judgments of one answer that disagree on whether it passes.",
        ),
        Column(
            "reliability",
            "DOUBLE",
            "The share of a judgment's variance that is due to the answers.",
        ),
    ),
)

VARIANCE = Table(
    name="variance",
    one_row="One row is what the variance of a system's scores by one metric is due to.",
    key=("benchmark", "system", "evaluator", "metric"),
    notes="Estimated where questions have several answers (`repeats`). `question`, `answer` and "
    "`judge` add up to the variance of the score of one answer. An estimate is negative if the "
    "numbers differ less than chance would have it.",
    columns=(
        *shared("benchmark", "system", "evaluator", "metric"),
        required("n_questions", "BIGINT", "The questions with two or more scored answers."),
        required("n_answers", "BIGINT", "Their scored answers."),
        Column(
            "question",
            "DOUBLE",
            "The variance between questions without that between answers; null for one question.",
        ),
        Column(
            "answer",
            "DOUBLE",
            "The variance between answers to the same question, where answers were judged several "
            "times by what the judge gives each of them on average; otherwise with that of the "
            "judge.",
        ),
        Column(
            "judge",
            "DOUBLE",
            "The rest, which is due to the judge: what its variability leaves in a score that "
            "combines several judgments. Null unless answers were judged several times "
            "(`judge.replicates`, `judge.panel`).",
        ),
        Column(
            "judgments",
            "DOUBLE",
            "How often such an answer was judged on average; null like `judge`.",
        ),
    ),
)

PANEL = Table(
    name="panel",
    one_row="One row is the agreement of the members of a panel of judges on one metric.",
    key=("benchmark", "evaluator", "metric"),
    notes="See `judge.panel`. With `escalate`, the first two members count, who judge every "
    "sample; samples that need no judge do not count.",
    columns=(
        *shared("benchmark", "evaluator", "metric"),
        required("n", "BIGINT", "The samples with a value of two members or more."),
        Column(
            "alpha",
            "DOUBLE",
            "Krippendorff's alpha: 1 is perfect agreement, 0 that of chance. Null if all values "
            "are equal.",
        ),
        Column(
            "alpha_low",
            "DOUBLE",
            "The lower end of its 95 % interval; null for a single cluster, and for numbers that "
            "differ on one sample at most.",
        ),
        Column("alpha_high", "DOUBLE", "The upper end of its 95 % interval."),
        required(
            "agreement",
            "MAP(VARCHAR, DOUBLE)",
            "By member, the share of the other members' verdicts on the same samples that are "
            "equal to its own: on the same side of the threshold or, without one, the same number. "
            "Null for a member that only judges where others disagree.",
        ),
    ),
)

PANEL_CALIBRATION = Table(
    name="panel_calibration",
    one_row="One row is the agreement of a member of a panel with human labels on one metric.",
    key=("benchmark", "evaluator", "metric", "member"),
    columns=(
        *shared("benchmark", "evaluator", "metric"),
        required("member", "VARCHAR", "The judge model."),
        required(
            "is_regular",
            "INTEGER",
            "1 if it judges every sample; 0 if only where others disagree, so that its agreement "
            "holds for such samples only.",
        ),
        required("n_compared", "BIGINT", "The samples with a label and a value of the member."),
        Column(
            "agreement_reason",
            "VARCHAR",
            "Why there is no agreement although there are labels; otherwise null.",
        ),
        Column("agreement", "DOUBLE", "The share of labels that the member agrees with."),
        Column(
            "constant_agreement",
            "DOUBLE",
            "The agreement of a constant verdict, the more frequent one.",
        ),
        Column(
            "base_rate", "DOUBLE", "The share of labels that pass; kappa means little near 0 or 1."
        ),
        Column("kappa", "DOUBLE", "Cohen's kappa between the member and the labels."),
        Column("kappa_low", "DOUBLE", "The lower end of its 95 % interval; see `calibration`."),
        Column("kappa_high", "DOUBLE", "The upper end of its 95 % interval."),
        Column(
            "true_positive_rate",
            "DOUBLE",
            "The share of passing labels for which the member passes, too.",
        ),
        Column(
            "true_negative_rate",
            "DOUBLE",
            "The share of failing labels for which the member fails, too.",
        ),
        Column(
            "labels_needed",
            "BIGINT",
            "About how many more labels are needed for `is_calibrated`; see `calibration`.",
        ),
        required(
            "is_calibrated",
            "INTEGER",
            "1 if 20 or more labels of both classes give a kappa that is above 0.4 with its whole "
            "interval, otherwise 0.",
        ),
        required("calibrated_at", "TIMESTAMP", "When it was computed (UTC)."),
    ),
)

LEDGER = Group(
    title="Judges and people",
    summary="Every call of a judge model, and human labels to validate the judges.",
    tables=(JUDGMENTS, ASKS, LABELS, CALIBRATION, WOBBLE, VARIANCE, PANEL, PANEL_CALIBRATION),
)
