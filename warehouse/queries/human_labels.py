"""Queries that compare the scores of an evaluator with human labels and with repeated judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence


def human_labels(benchmarks: Sequence[str]) -> Query:
    """Select the labels.

    Returns:
        A query with benchmark, system, question (UBIGINT), evaluator, metric, annotator, value.
    """
    statement = (
        "SELECT benchmark, system, hash(question_id) AS question, evaluator, metric, annotator, "
        "value FROM labels WHERE benchmark IN ({benchmarks}) ORDER BY ALL"
    )
    return Query(fill_in(statement, benchmarks), {})


def labelled_scores(benchmark: str, evaluator: str, metric: str, signature: str) -> Query:
    """Select the scores of one metric with the mean label of each sample.

    Returns:
        A query with system, question (UBIGINT), value and label (null without labels), one row for
        each scored sample.
    """
    return Query(
        "SELECT s.system, hash(s.question_id) AS question, s.value, l.label "
        "FROM scores AS s LEFT JOIN ("
        " SELECT system, question_id, avg(value) AS label FROM labels"
        " WHERE benchmark = $benchmark AND evaluator = $evaluator AND metric = $metric"
        " GROUP BY ALL) AS l USING (system, question_id) "
        "WHERE s.benchmark = $benchmark AND s.evaluator = $evaluator AND s.metric = $metric"
        " AND s.signature = $signature AND s.value IS NOT NULL ORDER BY s.system, s.question_id",
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "metric": metric,
            "signature": signature,
        },
    )


def repeated_judgments(benchmark: str, evaluator: str, signature: str) -> Query:
    """Select the values of repeated judgments by the primary metric.

    Returns:
        A query with replicates: a JSON list of scores, or of reasons where there is none.
    """
    return Query(
        "SELECT (detail -> '$.replicates')::VARCHAR AS replicates FROM grades "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature"
        " AND detail IS NOT NULL AND (detail -> '$.replicates') IS NOT NULL",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )


def panel_judgments(benchmark: str, evaluator: str, signature: str) -> Query:
    """Select what each member of a panel gave each sample.

    Returns:
        A query with system, question (UBIGINT) and members: a JSON object with a value, or null,
        by member and metric.
    """
    return Query(
        "SELECT system, hash(question_id) AS question,"
        " (detail -> '$.panel.values')::VARCHAR AS members FROM grades "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature"
        " AND detail IS NOT NULL AND (detail -> '$.panel.values') IS NOT NULL "
        "ORDER BY system, question_id",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )
