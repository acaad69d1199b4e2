"""The queries of the report: signatures, scores by question, and single questions with answers.

Each selects the rows of several benchmarks, with the column `benchmark`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from records.columns import stored_columns
from records.prediction import Prediction
from records.question import Question
from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import Query
from warehouse.schema.quoting import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from records.record import Record

STATUSES = ("scored", "not_applicable", "undefined", "parse_failure", "judge_error", "target_error")
"""The statuses by their code in a score matrix, from 0."""

FAILED = len(STATUSES)
"""The code of a worst value that stands for a failed answer."""


def current_signatures(benchmarks: Sequence[str]) -> Query:
    """Select the signatures of the scores in the leaderboards of benchmarks.

    Returns:
        A query with benchmark, evaluator, signature, parameters (JSON), version, metrics (the order
        of the lists in `grades`), first_at and last_at (when samples were scored), and run_ids.
    """
    statement = """
WITH shown AS (
    SELECT benchmark, evaluator, signature, list(DISTINCT metric) AS measured
    FROM leaderboard
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
),

times AS (
    SELECT benchmark, evaluator, signature, min(scored_at) AS first_at, max(scored_at) AS last_at,
        list(DISTINCT run_id ORDER BY run_id) AS run_ids
    FROM grades
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
)

SELECT benchmark, evaluator, signature, s.parameters, s.version,
    -- Without metrics of questions with several answers, if this benchmark has none.
    list_filter(s.metrics, lambda m: list_contains(shown.measured, m)) AS metrics,
    t.first_at, t.last_at, t.run_ids
FROM shown
INNER JOIN signatures AS s USING (evaluator, signature)
LEFT JOIN times AS t USING (benchmark, evaluator, signature)
ORDER BY evaluator
"""
    return Query(fill_in(statement, benchmarks), {})


def report_fingerprints() -> Query:
    """Select a row for each benchmark that changes whenever its report changes.

    One query reads each table once, however many benchmarks there are.

    Returns:
        A query with the benchmark and its sums, by benchmark.
    """
    results = ("leaderboard", "gates", "comparisons", "pairwise", "system_scores")
    findings = ("problems", "insights")
    hashed = {table: table for table in (*results, *findings, "calibration", "rejects")}
    hashed["labels"] = "labels"
    hashed["marks"] = "stage, digest"
    hashed["grades"] = "evaluator, question_id, system, input_digest, signature, scored_at"
    # Names of tables and columns of this module.
    each = "SELECT benchmark, bit_xor(hash({columns})) AS {table} FROM {table} GROUP BY benchmark"
    sums = ",\n".join(
        f"{table}_sums AS ({each.format(table=table, columns=columns)})"
        for table, columns in hashed.items()
    )
    joins = "\n".join(f"LEFT JOIN {table}_sums USING (benchmark)" for table in hashed)
    statement = f"""
WITH {sums}
SELECT benchmark, {", ".join(f"{table}_sums.{table}" for table in hashed)},
    (SELECT bit_xor(hash(metrics)) FROM metrics) AS metrics,
    (SELECT bit_xor(hash(hash(published_at, tag))) FROM publications WHERE tag IS NOT NULL) AS tags
FROM (SELECT DISTINCT benchmark FROM leaderboard)
{joins}
ORDER BY benchmark
"""  # noqa: S608 - names of tables
    return Query(statement, {})


def answer_counts() -> Query:
    """Select the benchmarks with a leaderboard, and the most answers that each has."""
    statement = """
SELECT benchmark, systems * questions AS answers
FROM (SELECT benchmark, count(DISTINCT system) AS systems FROM leaderboard GROUP BY benchmark)
INNER JOIN (SELECT benchmark, count(*) AS questions FROM questions GROUP BY benchmark)
    USING (benchmark)
"""
    return Query(statement, {})


def hardest_questions(benchmarks: Sequence[str], limit: int) -> Query:
    """Select the hardest questions of benchmarks.

    The hardness of a question is the mean distance of its scores from the best value of their
    scale, over all systems and primary metrics. Questions without a score come last.

    Args:
        benchmarks: The benchmarks.
        limit: The most questions to select, of all benchmarks together.

    Returns:
        A query with benchmark, question_id, question (its first characters), hardness, tags (a list
        of `key=value`) and failed (how many systems failed to answer), by question_id.
    """
    statement = """
WITH scales AS (
    SELECT s.evaluator, s.signature, list_position(s.metrics, m.metric) AS place, m.best,
        m.bound_low AS low, m.bound_high AS high
    FROM signatures AS s
    INNER JOIN metrics AS m ON m.evaluator = s.evaluator AND list_contains(s.metrics, m.metric)
    WHERE m.is_primary = 1 AND m.bound_low < m.bound_high
),

hardness AS (
    SELECT g.benchmark, g.question_id, avg(
        abs(CASE s.best WHEN 'high' THEN s.high ELSE s.low END - g."values"[s.place])
        / (s.high - s.low)
    ) AS hardness
    FROM grades AS g
    INNER JOIN scales AS s USING (evaluator, signature)
    WHERE g.benchmark IN ({benchmarks})
    GROUP BY g.benchmark, g.question_id
),

chosen AS MATERIALIZED (
    SELECT benchmark, question_id, h.hardness
    FROM questions AS q
    LEFT JOIN hardness AS h USING (benchmark, question_id)
    WHERE q.benchmark IN ({benchmarks})
    ORDER BY h.hardness DESC NULLS LAST, question_id
    LIMIT $limit
)

-- Texts are read last: sorted with all questions, they need more memory than there is.
SELECT benchmark, question_id, left(coalesce(q.question, ''), 200) AS question, c.hardness,
    list_transform(map_entries(q.tags), lambda each: each.key || '=' || each.value) AS tags,
    coalesce(failed, 0) AS failed
FROM chosen AS c
INNER JOIN questions AS q USING (benchmark, question_id)
LEFT JOIN (
    SELECT benchmark, question_id, count(DISTINCT system) AS failed
    FROM predictions
    WHERE benchmark IN ({benchmarks}) AND error IS NOT NULL
    GROUP BY ALL
) USING (benchmark, question_id)
WHERE q.benchmark IN ({benchmarks})
ORDER BY question_id
"""
    return Query(fill_in(statement, benchmarks), {"limit": limit})


def score_matrix(
    benchmarks: Sequence[str], evaluator: str, signature: str, question_ids: Sequence[str] | None
) -> Query:
    """Select the scores of one evaluator for some questions, with a status code for each.

    Args:
        benchmarks: The benchmarks.
        evaluator: The evaluator.
        signature: The signature of the scores.
        question_ids: The questions, sorted; None: all.

    Returns:
        A query with benchmark, question_id, system, values and codes (an index of `STATUSES`, or
        `FAILED`); codes is null where all values are scored.
    """
    statement = f"""
SELECT benchmark, question_id, system, "values",
    CASE WHEN statuses IS NULL AND reasons IS NULL THEN NULL ELSE list_transform(
        "values",
        lambda value, position: CASE
            WHEN value IS NOT NULL AND reasons[position] = 'target_error' THEN {FAILED}
            WHEN statuses IS NULL THEN 0
            ELSE list_position($statuses, statuses[position]) - 1
        END::UTINYINT
    ) END AS codes
FROM grades
WHERE {{chosen}} AND evaluator = $evaluator AND signature = $signature
"""  # noqa: S608 - a number
    parameters = {"evaluator": evaluator, "signature": signature, "statuses": list(STATUSES)}
    return _of_questions(statement, benchmarks, question_ids, parameters)


def question_details(benchmarks: Sequence[str], question_ids: Sequence[str] | None) -> Query:
    """Select some questions with their expected answers, other gold data, and named sentences.

    Args:
        benchmarks: The benchmarks.
        question_ids: The questions, sorted; None: all.

    Returns:
        A query with benchmark, question_id, json, and sentences (a JSON list of id and text): those
        that are gold evidence of the question or cited by an answer to it, null without one.
    """
    statement = """
WITH named AS (
    SELECT DISTINCT benchmark, question_id, unnest(cited_sentence_ids) AS id
    FROM predictions
    WHERE {chosen}
    UNION
    SELECT benchmark, question_id, unnest(gold_sentence_ids) AS id
    FROM questions
    WHERE {chosen}
),

places AS (
    SELECT benchmark, question_id, doc_id, id
    FROM named
    INNER JOIN (SELECT benchmark, question_id, doc_id FROM questions WHERE {chosen})
        USING (benchmark, question_id)
),

sentences AS (
    SELECT benchmark, p.question_id,
        to_json(list({'id': d.sentence_id, 'text': d.text} ORDER BY d.position))::VARCHAR AS json
    FROM places AS p
    INNER JOIN documents AS d USING (benchmark, doc_id)
    WHERE d.benchmark IN ({benchmarks}) AND d.sentence_id = p.id
    GROUP BY benchmark, p.question_id
),

chosen AS (
    SELECT benchmark, question_id, to_json({
        'id': question_id, 'question': question, 'expected': expected_answers,
        'label': expected_label, 'doc': doc_id, 'gold_docs': gold_doc_ids,
        'gold_sentences': gold_sentence_ids, 'choices': choices, 'correct': correct_choice,
        'scenario': scenario, 'noise': noise_ratio::VARCHAR, 'tags': tags,
        'rubric': rubric::VARCHAR, 'more': {more}
    })::VARCHAR AS json
    FROM questions
    WHERE {chosen}
)

SELECT benchmark, question_id, c.json, s.json AS sentences
FROM chosen AS c
LEFT JOIN sentences AS s USING (benchmark, question_id)
"""
    statement = statement.replace("{more}", _more(Question, _SHOWN_OF_QUESTIONS))
    return _of_questions(statement, benchmarks, question_ids)


_SHOWN_OF_QUESTIONS = (
    *("question", "expected_answers", "expected_label", "doc_id", "gold_doc_ids", "choices"),
    *("gold_sentence_ids", "correct_choice", "scenario", "noise_ratio", "tags", "rubric", "extra"),
)
"""The columns that the page of a question shows in a form of their own, or not."""

_SHOWN_OF_ANSWERS = (
    *("answer", "contexts", "retrieved_doc_ids", "retrieved_chunk_ids", "retrieved_scores"),
    *("cited_sentence_ids", "choice_logprobs", "label", "latency_s", "cost_usd", "error", "extra"),
)
"""The same for answers."""


def _more(record: type[Record], shown: Sequence[str]) -> str:
    """Return SQL of a JSON object with the other columns by title, without null."""
    others = [
        each
        for each in stored_columns(record).values()
        if each.name not in shown and each.role != "identity"
    ]
    if not others:
        return "NULL"
    names = [quoted(each.name) for each in others]
    members = ", ".join(
        f"{literal(each.title)}: {name}" for each, name in zip(others, names, strict=True)
    )
    return (
        f"CASE WHEN coalesce({', '.join(f'{name}::VARCHAR' for name in names)}) IS NOT NULL "
        f"THEN json_merge_patch('{{}}', to_json({{{members}}})) END"
    )


def answers(benchmarks: Sequence[str], question_ids: Sequence[str] | None) -> Query:
    """Select the first answers of all systems. Numbers that JSON does not support are texts.

    Returns:
        A query with benchmark, question_id, system, the fields of the answer, and answers (how many
        the system gave to a question), in any order: sorting passages costs as much as reading
        them.
    """
    statement = """
SELECT benchmark, question_id, system, answer, contexts, retrieved_doc_ids AS docs,
    retrieved_chunk_ids AS chunks, retrieved_scores::VARCHAR[] AS scores,
    cited_sentence_ids AS cited, choice_logprobs::VARCHAR[] AS logprobs, label,
    latency_s::VARCHAR AS latency, cost_usd::VARCHAR AS cost, error, not_asked, answers,
    {more}::VARCHAR AS more
FROM predictions
INNER JOIN (
    SELECT benchmark, system, 1 + max(repeat) AS answers
    FROM predictions
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
) USING (benchmark, system)
WHERE {chosen} AND repeat = 0
"""
    statement = statement.replace("{more}", _more(Prediction, _SHOWN_OF_ANSWERS))
    return _of_questions(statement, benchmarks, question_ids)


def scores(benchmarks: Sequence[str], question_ids: Sequence[str] | None) -> Query:
    """Select the scores that the leaderboard aggregates.

    Returns:
        A query with benchmark, question_id, system, evaluator, v (values), s (statuses), r
        (reasons) and d (the evidence, as text).
    """
    statement = """
SELECT benchmark, question_id, system, evaluator, "values" AS v, statuses AS s, reasons AS r,
    detail::VARCHAR AS d
FROM grades
WHERE {chosen} AND (benchmark, evaluator, signature) IN (
    SELECT (benchmark, evaluator, signature) FROM leaderboard WHERE benchmark IN ({benchmarks})
)
"""
    return _of_questions(statement, benchmarks, question_ids)


def judgments(benchmarks: Sequence[str], question_ids: Sequence[str] | None) -> Query:
    """Select the judge calls behind the scores.

    Returns:
        A query with benchmark, question_id, system, e (the evaluator), a (the repeat), p (the
        member of a panel), n (the step), m (the model), r (the reply), s (its status), x (the
        error), cost (US dollars), latency (seconds), tokens_in, tokens_out and attempts, by system,
        evaluator and these numbers.
    """
    statement = """
SELECT benchmark, question_id, system, evaluator AS e, repeat AS a, member AS p, step AS n,
    j.model AS m, j.reply AS r, j.status AS s, j.error AS x, j.cost_usd AS cost,
    j.latency_s AS latency, j.tokens_in, j.tokens_out, j.attempts
FROM asks
INNER JOIN judgments AS j USING (digest)
WHERE {chosen}
ORDER BY system, evaluator, repeat, member, turn, step
"""
    return _of_questions(statement, benchmarks, question_ids)


def judge_messages(benchmarks: Sequence[str], question_ids: Sequence[str]) -> Query:
    """Select what the judge was asked about the answers to some questions.

    Args:
        benchmarks: The benchmarks.
        question_ids: The questions, sorted.

    Returns:
        A query with benchmark, question_id, system, evaluator, repeat, member, step, roles and
        contents (lists with an element for each message), by these columns.
    """
    statement = """
SELECT benchmark, question_id, system, evaluator, repeat, member, step,
    json_extract_string(messages, '$[*].role') AS roles,
    json_extract_string(messages, '$[*].content') AS contents
FROM asks
INNER JOIN judgments USING (digest)
WHERE {chosen}
ORDER BY question_id, system, evaluator, repeat, member, turn, step
"""
    return _of_questions(statement, benchmarks, question_ids)


def _of_questions(
    statement: str,
    benchmarks: Sequence[str],
    question_ids: Sequence[str] | None,
    parameters: Mapping[str, object] | None = None,
) -> Query:
    """Return a query with the `{chosen}` of its statement filled in."""
    chosen, filled = "benchmark IN ({benchmarks})", dict(parameters or {})
    if question_ids is not None:
        # The range lets DuckDB skip most row groups without reading them. One text is bound much
        # faster than a list of thousands.
        chosen += " AND question_id BETWEEN $first AND $last"
        chosen += """ AND question_id IN (SELECT unnest(from_json($ids, '["VARCHAR"]')))"""
        filled["first"], filled["last"] = (
            min(question_ids, default=""),
            max(question_ids, default=""),
        )
        filled["ids"] = json.dumps(question_ids, ensure_ascii=False)
    return Query(fill_in(statement.replace("{chosen}", chosen), benchmarks), filled)
