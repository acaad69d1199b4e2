"""The tables of ingested files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from records.columns import stored_columns
from records.prediction import Prediction
from records.question import Question
from records.record import ROUNDING
from warehouse.schema.table import Column, Group, Rule, Table, required, shared

if TYPE_CHECKING:
    from records.record import Record

_KEYS = ("question_id", "system")


def _columns(record: type[Record]) -> tuple[Column, ...]:
    """Return the columns that store the fields of a record, without its keys."""
    return tuple(
        Column(
            each.name,
            each.type,
            each.meaning,
            least=each.least,
            most=each.most,
            among=each.among,
            default=None if each.default is None else str(each.default),
        )
        for each in stored_columns(record).values()
        if each.name not in _KEYS
    )


QUESTIONS = Table(
    name="questions",
    one_row="One row is one question of a benchmark with its expected answers.",
    key=("benchmark", "question_id"),
    columns=(
        *shared("benchmark", "question_id"),
        *_columns(Question),
        Column("file", "VARCHAR", "The file of the question."),
        Column("line", "BIGINT", "Its line in the file, from 1; null when not recorded.", least=1),
    ),
    rules=(
        Rule("a question has an id that is not blank", "trim(question_id) = ''"),
        Rule("the right option is one of the options", "correct_choice >= len(choices)"),
        Rule("a question is no variant of itself", "perturbs = question_id"),
    ),
)

DOCUMENTS = Table(
    name="documents",
    one_row="One row is one sentence of a document.",
    key=("benchmark", "doc_id", "sentence_id"),
    columns=(
        *shared("benchmark"),
        required("doc_id", "VARCHAR", "The document's id."),
        required("sentence_id", "VARCHAR", "The sentence's id, unique in its document."),
        required(
            "position", "INTEGER", "The position of the sentence in the document, from 1.", least=1
        ),
        required("text", "VARCHAR", "The sentence."),
    ),
)

*_answers, _extra = _columns(Prediction)

PREDICTIONS = Table(
    name="predictions",
    one_row="One row is one system's answer to one question, with what it retrieved and cited.",
    key=("benchmark", "system", "question_id", "repeat"),
    notes="Every system has a row for every question, and as many as for any other (in files of "
    "other tools as many as the question has); if it did not answer, `error` is `no prediction`, "
    "or `not_asked` is 1. Null means that a field was not "
    "given; an empty list or text was given.",
    columns=(
        *shared("benchmark", "system", "question_id"),
        *_answers,
        Column(
            "not_asked",
            "INTEGER",
            "1 if the system was not asked the question (`missing: not_asked`); null otherwise.",
            least=1,
            most=1,
        ),
        _extra,
    ),
    rules=(
        Rule("a system has a name that is not blank", "trim(system) = ''"),
        Rule(
            "the logarithm of a probability is not above 0",
            f"list_max(choice_logprobs) > {ROUNDING}",
        ),
        Rule(
            "an answer is to a question of its benchmark",
            # Not as a subquery about each row, which takes ten times as long.
            "(benchmark, question_id) NOT IN (SELECT (q.benchmark, q.question_id) "
            "FROM questions AS q)",
            reads_other_tables=True,
        ),
    ),
)

CONTEXTS = Table(
    name="contexts",
    one_row="One row is one item that a system retrieved for a question.",
    key=("benchmark", "system", "question_id", "repeat", "rank"),
    columns=(
        *shared("benchmark", "system", "question_id"),
        Column("repeat", "INTEGER", "The number of the answer; 0 where there is one."),
        Column("rank", "BIGINT", "Its rank; 1 is the best."),
        Column("doc_id", "VARCHAR", "The retrieved document."),
        Column("chunk_id", "VARCHAR", "The retrieved chunk of the document."),
        Column("score", "DOUBLE", "The retriever's score."),
        Column("text", "VARCHAR", "The retrieved text."),
    ),
    view_of="""
SELECT
    benchmark,
    system,
    question_id,
    repeat,
    unnest(range(1, 1 + greatest(
        len(contexts), len(retrieved_doc_ids), len(retrieved_chunk_ids), len(retrieved_scores)
    ))) AS rank,
    unnest(retrieved_doc_ids) AS doc_id,
    unnest(retrieved_chunk_ids) AS chunk_id,
    unnest(retrieved_scores) AS score,
    unnest(contexts) AS text
FROM predictions
""".strip(),
)

STEPS = Table(
    name="steps",
    one_row="One row is one step of an answer: a message, a call of a tool or its result.",
    key=("benchmark", "system", "question_id", "repeat", "step"),
    columns=(
        *shared("benchmark", "system", "question_id"),
        Column("repeat", "INTEGER", "The number of the answer; 0 where there is one."),
        Column("step", "BIGINT", "The number of the step, from 1."),
        Column("role", "VARCHAR", "Who speaks; `assistant` for calls, `tool` for their results."),
        Column("agent", "VARCHAR", "The agent."),
        Column("name", "VARCHAR", "The speaker, or the tool."),
        Column("call_id", "VARCHAR", "The call, for calls and results."),
        Column("content", "VARCHAR", "The text."),
        Column("arguments", "JSON", "The arguments of a call."),
        Column("error", "VARCHAR", "The error with which the step failed."),
        Column("latency_s", "DOUBLE", "Its time in seconds."),
        Column("tokens_in", "BIGINT", "Its input tokens."),
        Column("tokens_out", "BIGINT", "Its output tokens."),
        Column("cost_usd", "DOUBLE", "Its cost in US dollars."),
    ),
    view_of="""
WITH said AS (
    SELECT
        benchmark, system, question_id, repeat,
        unnest(json_extract(messages, '$[*]')) AS m,
        unnest(range(json_array_length(messages)::BIGINT)) AS place
    FROM predictions
    WHERE messages IS NOT NULL
),

called AS (
    SELECT
        benchmark, system, question_id, repeat, place, m ->> '$.agent' AS agent,
        unnest(json_extract(m, '$.tool_calls[*]')) AS c,
        unnest(range(1, 1 + json_array_length(m, '$.tool_calls')::BIGINT)) AS number
    FROM said
    WHERE json_array_length(m, '$.tool_calls') > 0
),

steps AS (
    SELECT
        benchmark, system, question_id, repeat, place, 0 AS number, m ->> '$.role' AS role,
        m ->> '$.agent' AS agent, m ->> '$.name' AS name, m ->> '$.tool_call_id' AS call_id,
        m ->> '$.content' AS content, NULL::JSON AS arguments, m ->> '$.error' AS error,
        (m ->> '$.latency_s')::DOUBLE AS latency_s, (m ->> '$.tokens_in')::BIGINT AS tokens_in,
        (m ->> '$.tokens_out')::BIGINT AS tokens_out, (m ->> '$.cost_usd')::DOUBLE AS cost_usd
    FROM said
    UNION ALL BY NAME
    SELECT
        benchmark, system, question_id, repeat, place, number, 'assistant' AS role, agent,
        c ->> '$.name' AS name, c ->> '$.id' AS call_id, c -> '$.arguments' AS arguments
    FROM called
)

SELECT
    benchmark, system, question_id, repeat,
    row_number() OVER (
        PARTITION BY benchmark, system, question_id, repeat ORDER BY place, number
    ) AS step,
    role, agent, name, call_id, content, arguments, error, latency_s, tokens_in, tokens_out,
    cost_usd
FROM steps
""".strip(),
)

ANSWERS = Table(
    name="answers",
    one_row="One row is one answer of a system that was asked; see `systems:`.",
    key=("benchmark", "system", "question_id", "repeat"),
    notes="The answer itself is in `predictions`, and as it came in `judgments`.",
    columns=(
        *shared("benchmark", "system", "question_id"),
        required("repeat", "INTEGER", "The number of the answer to the question, from 0."),
        required("digest", "VARCHAR", "The call; see `judgments`."),
        Column("answered_at", "TIMESTAMP", "When the answer came (UTC)."),
        Column("latency_s", "DOUBLE", "The latency of the answer in seconds.", least=0),
        Column(
            "first_token_s",
            "DOUBLE",
            "The seconds until its first token; null if it was not streamed.",
            least=0,
        ),
        Column("tokens_in", "BIGINT", "The input tokens; null if unknown.", least=0),
        Column("tokens_out", "BIGINT", "The output tokens; null if unknown.", least=0),
        Column("cost_usd", "DOUBLE", "The cost in US dollars; null if unknown.", least=0),
        Column("error", "VARCHAR", "Why there is no answer; null if there is one."),
        required("attempts", "INTEGER", "How often the system was called.", least=0),
        *shared("run_id"),
    ),
)

REJECTS = Table(
    name="rejects",
    one_row="One row is one rejected row of an input file with the reason.",
    key=("benchmark", "kind", "system", "file", "line", "reason"),
    columns=(
        *shared("benchmark"),
        required("kind", "VARCHAR", "`questions`, `predictions` or `documents`."),
        Column("system", "VARCHAR", "The system, for predictions."),
        required("file", "VARCHAR", "The file."),
        Column("line", "BIGINT", "The line, from 1; null when the reason concerns the whole file."),
        required("reason", "VARCHAR", "What is wrong with the row and what was expected."),
        Column("text", "VARCHAR", "The first 500 characters of the row in the file."),
        required("rejected_at", "TIMESTAMP", "When it was rejected (UTC)."),
    ),
)

INPUTS = Group(
    title="Inputs",
    summary="The contents of the input files, by benchmark.",
    tables=(QUESTIONS, DOCUMENTS, PREDICTIONS, CONTEXTS, STEPS, ANSWERS, REJECTS),
)
