"""The tables of what was published, with which later publications are compared."""

from __future__ import annotations

from warehouse.schema.table import Column, Group, Table, required, shared

_DIGEST = required("digest", "VARCHAR", "The digest of the data set; see `publication_data`.")

PUBLICATIONS = Table(
    name="publications",
    one_row="One row is one publication.",
    key=("published_at",),
    notes="A run that changes no leaderboard adds none. A publication shows the last leaderboard "
    "of each benchmark in `leaderboard_history` up to its time.",
    columns=(
        required("published_at", "TIMESTAMP", "When it was published (UTC)."),
        Column("run_id", "VARCHAR", "The run that published; null if an old version did."),
        Column("tag", "VARCHAR", "The name that `scoreline tag` gave it."),
    ),
)

PUBLICATION_DATA = Table(
    name="publication_data",
    one_row="One row is one data set of a published benchmark: an input, or the scores of a "
    "system by an evaluator.",
    key=("published_at", "benchmark", "kind", "system", "evaluator"),
    columns=(
        required("published_at", "TIMESTAMP", "The leaderboard; see `leaderboard_history`."),
        *shared("benchmark"),
        required(
            "kind",
            "VARCHAR",
            "`questions`, `documents`, `predictions` or `scores`.",
            among=("questions", "documents", "predictions", "scores"),
        ),
        Column("system", "VARCHAR", "The system, for predictions and scores."),
        Column(
            "evaluator",
            "VARCHAR",
            "The evaluator, for scores. Documents have a row without it, and one for each "
            "evaluator that reads them.",
        ),
        required("rows", "BIGINT", "The number of rows.", least=0),
        required(
            "digest",
            "VARCHAR",
            "The digest of the rows, whatever their order. That of questions covers what they ask "
            "and expect, but no tags and clusters.",
        ),
        Column(
            "version",
            "VARCHAR",
            "The signature of the evaluator, for scores; the `version` of a system that is asked, "
            "for predictions.",
        ),
    ),
)

KEPT_QUESTIONS = Table(
    name="kept_questions",
    one_row="One row is a question of a publication.",
    key=("digest", "question_id"),
    columns=(
        _DIGEST,
        *shared("question_id"),
        required("content", "UBIGINT", "The digest of what the question asks and expects."),
    ),
)

KEPT_ANSWERS = Table(
    name="kept_answers",
    one_row="One row is an answer of a publication.",
    key=("digest", "question_id"),
    columns=(
        _DIGEST,
        *shared("question_id"),
        Column("answer", "VARCHAR", "The answer's text."),
        Column("error", "VARCHAR", "The error with which the system failed."),
    ),
)

KEPT_SCORES = Table(
    name="kept_scores",
    one_row="One row is the scores of one sample of a publication.",
    key=("digest", "question_id"),
    columns=(
        _DIGEST,
        *shared("question_id"),
        required(
            "values",
            "DOUBLE[]",
            "One score for each metric, in the order of `signatures`; null if it has none.",
        ),
    ),
)

HISTORY = Group(
    title="History",
    summary="What was published. Equal data sets of several publications are kept once; the "
    "setting `history` says for how many publications.",
    tables=(PUBLICATIONS, PUBLICATION_DATA, KEPT_QUESTIONS, KEPT_ANSWERS, KEPT_SCORES),
)
