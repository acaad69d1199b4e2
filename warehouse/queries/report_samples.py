"""The queries behind the exhibits of the report: single questions with all answers to them.

Each takes the sorted ids of some questions of a benchmark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

# That they lie between the first and the last lets DuckDB skip most rows of a block unread.
_CHOSEN = """benchmark = $benchmark AND question_id BETWEEN $ids[1] AND $ids[-1]
    AND question_id IN (SELECT unnest($ids))"""


def asked(benchmark: str, question_ids: Sequence[str]) -> Query:
    """Some questions with all that is known to be right about them.

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
WHERE {_CHOSEN}
ORDER BY question_id
""",  # noqa: S608 - a condition of this room
        _chosen(benchmark, question_ids),
    )


def answered(benchmark: str, question_ids: Sequence[str]) -> Query:
    """What systems answered. Numbers that JSON cannot write stand as text.

    Returns:
        A query with question_id, system, contexts (a list of texts) and json (all else).
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
WHERE {_CHOSEN}
ORDER BY question_id, system
""",  # noqa: S608 - a condition of this room
        _chosen(benchmark, question_ids),
    )


def graded(benchmark: str, question_ids: Sequence[str]) -> Query:
    """What evaluators made of the answers, as far as the leaderboard rests on it.

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
WHERE {_CHOSEN} AND (evaluator, signature) IN (
    SELECT (evaluator, signature) FROM leaderboard WHERE benchmark = $benchmark
)
GROUP BY question_id, system
""",  # noqa: S608 - a condition of this room
        _chosen(benchmark, question_ids),
    )


def judged(benchmark: str, question_ids: Sequence[str]) -> Query:
    """What judges said about the answers.

    Returns:
        A query with question_id, system and json: a list of e (the evaluator), n (the step), m
        (the model), r (the reply), s (its status) and x (what went wrong).
    """
    return Query(
        f"""
SELECT question_id, system, to_json(list({{
    'e': evaluator, 'n': step, 'm': j.model, 'r': j.reply, 's': j.status, 'x': j.error
}} ORDER BY evaluator, step))::VARCHAR AS json
FROM asks
INNER JOIN judgments AS j USING (digest)
WHERE {_CHOSEN}
GROUP BY question_id, system
""",  # noqa: S608 - a condition of this room
        _chosen(benchmark, question_ids),
    )


def cited(benchmark: str, question_ids: Sequence[str]) -> Query:
    """The sentences that hold a question's evidence, or that some answer to it cites.

    Returns:
        A query with question_id and json: a list of id and text.
    """
    return Query(
        f"""
WITH named AS (
    SELECT DISTINCT question_id, unnest(cited_sentence_ids) AS id FROM predictions WHERE {_CHOSEN}
    UNION
    SELECT question_id, unnest(gold_sentence_ids) AS id FROM questions WHERE {_CHOSEN}
),

places AS (
    SELECT question_id, doc_id, id
    FROM named
    INNER JOIN (SELECT question_id, doc_id FROM questions WHERE {_CHOSEN}) USING (question_id)
)

SELECT p.question_id, to_json(list({{'id': d.sentence_id, 'text': d.text}} ORDER BY d.position))
    ::VARCHAR AS json
FROM places AS p
INNER JOIN documents AS d ON d.doc_id = p.doc_id AND d.sentence_id = p.id
WHERE d.benchmark = $benchmark
GROUP BY p.question_id
""",  # noqa: S608 - a condition of this room
        _chosen(benchmark, question_ids),
    )


def _chosen(benchmark: str, question_ids: Sequence[str]) -> dict[str, object]:
    return {"benchmark": benchmark, "ids": list(question_ids)}
