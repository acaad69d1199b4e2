"""Queries that compare the scores of an evaluator with human labels and with repeated judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import EVERY_ANSWER, Query

if TYPE_CHECKING:
    from collections.abc import Sequence


WEIGHED_LABELS = """(
    SELECT * EXCLUDE (probability, n_drawn, n_strata, is_mixed), CASE
        WHEN stratum IS NULL THEN probability
        WHEN is_mixed AND n_strata > 1 THEN least(1.0, n_drawn / stratum_size)
    END AS probability
    FROM (
        SELECT
            *,
            count(DISTINCT question_id) OVER same_stratum AS n_drawn,
            count(DISTINCT stratum) OVER same_metric AS n_strata,
            bool_or(selection = 'uncertain') OVER same_metric AS is_mixed
        FROM labels
        WINDOW
            same_metric AS (PARTITION BY benchmark, system, evaluator, metric),
            same_stratum AS (PARTITION BY benchmark, system, evaluator, metric, stratum)
    )
)"""
"""The labels with the probability with which their samples were drawn, as a table expression.

Within a stratum, `scoreline annotate` draws at random: the probability is the labelled share of it.
It is null where all samples of the system had the same one, which is that of a label without a
stratum too. A label of an uncertain sample without a probability was not drawn at random."""


def human_labels(benchmarks: Sequence[str]) -> Query:
    """Select the labels.

    Returns:
        A query with benchmark, system, question (UBIGINT), evaluator, metric, annotator, value,
        selection and probability; see `WEIGHED_LABELS`.
    """
    statement = (
        "SELECT benchmark, system, hash(question_id) AS question, evaluator, metric, annotator, "  # noqa: S608
        f"value, selection, probability FROM {WEIGHED_LABELS} "
        "WHERE benchmark IN ({benchmarks}) ORDER BY ALL"
    )
    return Query(fill_in(statement, benchmarks), {})


def labels_of_metric(benchmark: str, evaluator: str, metric: str) -> Query:
    """Select the labels of one metric.

    Returns:
        A query with system, question_id, annotator, value, selection, stratum, stratum_size and
        probability; see `WEIGHED_LABELS`.
    """
    return Query(
        "SELECT system, question_id, annotator, value, selection, stratum, stratum_size, "  # noqa: S608
        f"probability FROM {WEIGHED_LABELS} "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND metric = $metric ORDER BY ALL",
        {"benchmark": benchmark, "evaluator": evaluator, "metric": metric},
    )


def mean_labels(benchmarks: Sequence[str]) -> Query:
    """Select the mean label of each labelled sample.

    A label is for the first answer of a system to a question.

    Returns:
        A query with benchmark, system, question_id, evaluator, metric, label, n (labels) and value
        (the score of that answer; null without one).
    """
    statement = """
SELECT l.*, s.value
FROM (
    SELECT benchmark, system, question_id, evaluator, metric, avg(value) AS label, count(*) AS n
    FROM labels
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
) AS l
LEFT JOIN (SELECT * FROM answer_scores WHERE benchmark IN ({benchmarks}) AND repeat = 0) AS s
    USING (benchmark, system, question_id, evaluator, metric)
"""
    return Query(fill_in(statement, benchmarks), {})


def labelled_scores(benchmark: str, evaluator: str, metric: str, signature: str) -> Query:
    """Select the scores of one metric.

    Returns:
        A query with system, question (UBIGINT), repeat and value, one row for each scored answer.
    """
    return Query(
        "SELECT system, hash(question_id) AS question, repeat, value FROM answer_scores "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND metric = $metric"
        " AND signature = $signature AND value IS NOT NULL ORDER BY system, question_id, repeat",
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "metric": metric,
            "signature": signature,
        },
    )


def samples_to_label(benchmark: str, evaluator: str, metric: str) -> Query:
    """Select the answered samples of one metric, those of each system in a random order.

    Of several answers to a question, people label the first one.

    The order depends on nothing but the names, so that it is the same for all people and days.

    Returns:
        A query with system, question_id, value (null where there is no score), replicates (a JSON
        list of the values of repeated judgments) and members (a JSON object with a value by member
        of a panel and metric), both null if there are none.
    """
    statement = (
        "SELECT p.system, p.question_id, s.value,"
        " (s.detail -> '$.replicates')::VARCHAR AS replicates,"
        " (s.detail -> '$.panel.values')::VARCHAR AS members "
        "FROM (SELECT system, question_id FROM predictions"
        " WHERE benchmark = $benchmark AND repeat = 0 AND error IS NULL AND not_asked IS NULL"
        ") AS p "
        "LEFT JOIN (SELECT DISTINCT ON (system, question_id) * FROM answer_scores"
        " WHERE benchmark = $benchmark AND repeat = 0 AND evaluator = $evaluator"
        " AND metric = $metric) AS s"
        " USING (system, question_id) "
        "ORDER BY p.system, md5(concat_ws(chr(31), $evaluator, $metric, p.system, p.question_id))"
    )
    return Query(statement, {"benchmark": benchmark, "evaluator": evaluator, "metric": metric})


def repeated_judgments(benchmark: str, evaluator: str, signature: str) -> Query:
    """Select the values of repeated judgments by the primary metric.

    Returns:
        A query with replicates: a JSON list of scores, or of reasons where there is none.
    """
    return Query(
        f"SELECT (detail -> '$.replicates')::VARCHAR AS replicates FROM {EVERY_ANSWER} "  # noqa: S608
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature"
        " AND detail IS NOT NULL AND (detail -> '$.replicates') IS NOT NULL",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )


def panel_judgments(benchmark: str, evaluator: str, signature: str) -> Query:
    """Select what each member of a panel gave each sample.

    Returns:
        A query with system, question (UBIGINT), repeat and members: a JSON object with a value, or
        null, by member and metric.
    """
    return Query(
        "SELECT system, hash(question_id) AS question, repeat,"  # noqa: S608
        f" (detail -> '$.panel.values')::VARCHAR AS members FROM {EVERY_ANSWER} "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature"
        " AND detail IS NOT NULL AND (detail -> '$.panel.values') IS NOT NULL "
        "ORDER BY system, question_id, repeat",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )
