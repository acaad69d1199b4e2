"""The queries of the report: signatures, scores by question, and single questions with answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUSES = ("scored", "not_applicable", "undefined", "parse_failure", "judge_error", "target_error")
"""The statuses by their code in a score matrix, from 0."""

FAILED = len(STATUSES)
"""The code of a worst value that stands for a failed answer."""


def current_signatures(benchmark: str) -> Query:
    """Select the signatures of the scores in the leaderboard of a benchmark.

    Returns:
        A query with evaluator, signature, parameters (JSON), version, metrics (the order of the
        lists in `grades`), first_at and last_at (when samples were scored), and run_ids.
    """
    return Query(
        """
WITH shown AS (
    SELECT DISTINCT evaluator, signature FROM leaderboard WHERE benchmark = $benchmark
),

times AS (
    SELECT evaluator, signature, min(scored_at) AS first_at, max(scored_at) AS last_at,
        list(DISTINCT run_id ORDER BY run_id) AS run_ids
    FROM grades
    WHERE benchmark = $benchmark
    GROUP BY ALL
)

SELECT evaluator, signature, s.parameters, s.version, s.metrics, t.first_at, t.last_at, t.run_ids
FROM shown
INNER JOIN signatures AS s USING (evaluator, signature)
LEFT JOIN times AS t USING (evaluator, signature)
ORDER BY evaluator
""",
        {"benchmark": benchmark},
    )


def report_fingerprints() -> Query:
    """Select a row for each benchmark that changes whenever its report changes.

    One query reads each table once, however many benchmarks there are.

    Returns:
        A query with the benchmark and its sums, by benchmark.
    """
    results = ("leaderboard", "gates", "comparisons", "system_scores", "problems", "insights")
    hashed = {table: table for table in (*results, "calibration", "rejects")}
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
    (SELECT bit_xor(hash(metrics)) FROM metrics) AS metrics
FROM (SELECT DISTINCT benchmark FROM leaderboard)
{joins}
ORDER BY benchmark
"""  # noqa: S608 - names of tables
    return Query(statement, {})


def hardest_questions(benchmark: str, limit: int) -> Query:
    """Select the hardest questions of a benchmark.

    The hardness of a question is the mean distance of its scores from the best value of their
    scale, over all systems and primary metrics. Questions without a score come last.

    Returns:
        A query with question_id, question (its first characters) and hardness, by question_id.
    """
    return Query(
        """
WITH scales AS (
    SELECT s.evaluator, s.signature, list_position(s.metrics, m.metric) AS place, m.best,
        m.bound_low AS low, m.bound_high AS high
    FROM signatures AS s
    INNER JOIN metrics AS m ON m.evaluator = s.evaluator AND list_contains(s.metrics, m.metric)
    WHERE m.is_primary = 1 AND m.bound_low < m.bound_high
),

hardness AS (
    SELECT g.question_id, avg(
        abs(CASE s.best WHEN 'high' THEN s.high ELSE s.low END - g."values"[s.place])
        / (s.high - s.low)
    ) AS hardness
    FROM grades AS g
    INNER JOIN scales AS s USING (evaluator, signature)
    WHERE g.benchmark = $benchmark
    GROUP BY g.question_id
),

chosen AS MATERIALIZED (
    SELECT q.question_id, h.hardness
    FROM questions AS q
    LEFT JOIN hardness AS h USING (question_id)
    WHERE q.benchmark = $benchmark
    ORDER BY h.hardness DESC NULLS LAST, q.question_id
    LIMIT $limit
)

-- Texts are read last: sorted with all questions, they need more memory than there is.
SELECT c.question_id, left(coalesce(q.question, ''), 200) AS question, c.hardness
FROM chosen AS c
INNER JOIN questions AS q USING (question_id)
WHERE q.benchmark = $benchmark
ORDER BY c.question_id
""",
        {"benchmark": benchmark, "limit": limit},
    )


def score_matrix(
    benchmark: str, evaluator: str, signature: str, question_ids: Sequence[str]
) -> Query:
    """Select the scores of one evaluator for some questions, with a status code for each.

    Returns:
        A query with question_id, system, values and codes (an index of `STATUSES`, or `FAILED`);
        codes is null where all values are scored.
    """
    return Query(
        f"""
SELECT question_id, system, "values",
    CASE WHEN statuses IS NULL AND reasons IS NULL THEN NULL ELSE list_transform(
        "values",
        lambda value, position: CASE
            WHEN value IS NOT NULL AND reasons[position] = 'target_error' THEN {FAILED}
            WHEN statuses IS NULL THEN 0
            ELSE list_position($statuses, statuses[position]) - 1
        END::UTINYINT
    ) END AS codes
FROM grades
WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature
    AND question_id IN (SELECT unnest($ids))
""",  # noqa: S608 - a number
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "signature": signature,
            "ids": list(question_ids),
            "statuses": list(STATUSES),
        },
    )


# The range lets DuckDB skip most row groups without reading them.
_FILTER = """benchmark = $benchmark AND question_id BETWEEN $ids[1] AND $ids[-1]
    AND question_id IN (SELECT unnest($ids))"""


def question_details(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Select some questions with their expected answers and other gold data.

    Args:
        benchmark: The benchmark.
        question_ids: The questions, sorted.

    Returns:
        A query with question_id and json, by question_id.
    """
    return Query(
        f"""
SELECT question_id, to_json({{
    'id': question_id, 'question': question, 'expected': expected_answers,
    'label': expected_label, 'doc': doc_id, 'gold_docs': gold_doc_ids,
    'gold_sentences': gold_sentence_ids, 'choices': choices, 'correct': correct_choice,
    'scenario': scenario, 'noise': noise_ratio::VARCHAR, 'tags': tags, 'rubric': rubric::VARCHAR
}})::VARCHAR AS json
FROM questions
WHERE {_FILTER}
ORDER BY question_id
""",  # noqa: S608 - a constant condition
        _parameters(benchmark, question_ids),
    )


def answers(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Select the answers of all systems. Numbers that JSON does not support are texts.

    Returns:
        A query with question_id, system, contexts (a list of texts) and json (all other fields).
    """
    return Query(
        f"""
SELECT question_id, system, contexts, to_json({{
    'answer': answer, 'docs': retrieved_doc_ids, 'chunks': retrieved_chunk_ids,
    'scores': retrieved_scores::VARCHAR[], 'cited': cited_sentence_ids,
    'logprobs': choice_logprobs::VARCHAR[], 'label': label, 'latency': latency_s::VARCHAR,
    'cost': cost_usd::VARCHAR, 'error': error
}})::VARCHAR AS json
FROM predictions
WHERE {_FILTER}
ORDER BY question_id, system
""",  # noqa: S608 - a constant condition
        _parameters(benchmark, question_ids),
    )


def scores(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Select the scores that the leaderboard aggregates.

    Returns:
        A query with question_id, system and json: a list of e (the evaluator), v (values), s
        (statuses), r (reasons) and d (the evidence, as text).
    """
    return Query(
        f"""
SELECT question_id, system, to_json(list({{
    'e': evaluator, 'v': "values", 's': statuses, 'r': reasons, 'd': detail::VARCHAR
}} ORDER BY evaluator))::VARCHAR AS json
FROM grades
WHERE {_FILTER} AND (evaluator, signature) IN (
    SELECT (evaluator, signature) FROM leaderboard WHERE benchmark = $benchmark
)
GROUP BY question_id, system
""",  # noqa: S608 - a constant condition
        _parameters(benchmark, question_ids),
    )


def judgments(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Select the judge calls behind the scores.

    Returns:
        A query with question_id, system and json: a list of e (the evaluator), n (the step), m
        (the model), r (the reply), s (its status) and x (the error).
    """
    return Query(
        f"""
SELECT question_id, system, to_json(list({{
    'e': evaluator, 'n': step, 'm': j.model, 'r': j.reply, 's': j.status, 'x': j.error
}} ORDER BY evaluator, step))::VARCHAR AS json
FROM asks
INNER JOIN judgments AS j USING (digest)
WHERE {_FILTER}
GROUP BY question_id, system
""",  # noqa: S608 - a constant condition
        _parameters(benchmark, question_ids),
    )


def cited_sentences(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Select the sentences that are gold evidence of a question or cited by an answer to it.

    Returns:
        A query with question_id and json: a list of id and text.
    """
    return Query(
        f"""
WITH named AS (
    SELECT DISTINCT question_id, unnest(cited_sentence_ids) AS id FROM predictions WHERE {_FILTER}
    UNION
    SELECT question_id, unnest(gold_sentence_ids) AS id FROM questions WHERE {_FILTER}
),

places AS (
    SELECT question_id, doc_id, id
    FROM named
    INNER JOIN (SELECT question_id, doc_id FROM questions WHERE {_FILTER}) USING (question_id)
)

SELECT p.question_id, to_json(list({{'id': d.sentence_id, 'text': d.text}} ORDER BY d.position))
    ::VARCHAR AS json
FROM places AS p
INNER JOIN documents AS d ON d.doc_id = p.doc_id AND d.sentence_id = p.id
WHERE d.benchmark = $benchmark
GROUP BY p.question_id
""",  # noqa: S608 - a constant condition
        _parameters(benchmark, question_ids),
    )


def _parameters(benchmark: str, question_ids: Sequence[str]) -> dict[str, object]:
    return {"benchmark": benchmark, "ids": list(question_ids)}
