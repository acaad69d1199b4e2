"""The fastest short script that we know for the same figures: DuckDB reads, scores and stores.

Usage: `python duckdb_script.py QUESTIONS.jsonl PREDICTIONS.jsonl RESULTS.json`. It computes what
`plain_script.py` computes, and keeps questions, predictions and the scores of each question in a
DuckDB file beside the results. It trusts its input: no row is validated, no key is checked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

QUESTION = (
    "{question_id: 'VARCHAR', question: 'VARCHAR', expected_answer: 'VARCHAR', "
    "gold_doc_ids: 'VARCHAR[]', gold_sentence_ids: 'VARCHAR[]'}"
)
PREDICTION = (
    "{question_id: 'VARCHAR', answer: 'VARCHAR', "
    "retrieved: 'STRUCT(doc_id VARCHAR, rank INTEGER, score DOUBLE)[]', "
    "cited_sentence_ids: 'VARCHAR[]'}"
)
TABLE = "CREATE TABLE {} AS FROM read_json(?, format = 'newline_delimited', columns = {})"
SCORES = """
CREATE TABLE scores AS
WITH pairs AS (
    SELECT
        question_id,
        len(gold_sentence_ids) AS gold,
        len(cited_sentence_ids) AS cited,
        len(list_intersect(gold_sentence_ids, cited_sentence_ids)) AS hits,
        coalesce(list_position([each.doc_id FOR each IN retrieved], gold_doc_ids[1]), 0) AS rank
    FROM questions LEFT JOIN predictions USING (question_id)
)
SELECT
    question_id,
    (rank = 1)::INTEGER AS recall_at_1,
    (rank BETWEEN 1 AND 5)::INTEGER AS recall_at_5,
    CASE WHEN gold > 0 THEN coalesce(hits / nullif(cited, 0), 0) END AS precision,
    CASE WHEN gold > 0 THEN coalesce(hits / gold, 0) END AS recall,
    CASE WHEN gold > 0 THEN coalesce(2 * hits / (gold + cited), 0) END AS f1
FROM pairs
"""
NAMES = ("recall_at_1", "recall_at_5", "precision", "recall", "f1")


def main(questions_path: str, predictions_path: str, results_path: str) -> None:
    """Evaluate one system and save what came of it."""
    database = Path(results_path).with_suffix(".duckdb")
    database.unlink(missing_ok=True)
    with duckdb.connect(str(database)) as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET disabled_compression_methods = 'fsst,dictionary'")
        connection.execute(TABLE.format("questions", QUESTION), [questions_path])
        connection.execute(TABLE.format("predictions", PREDICTION), [predictions_path])
        connection.execute(SCORES)
        means = ", ".join(f"avg({name})" for name in NAMES)
        averages = connection.execute(f"SELECT {means} FROM scores").fetchall()[0]
    result = {"averages": dict(zip(NAMES, averages, strict=True))}
    Path(results_path).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
