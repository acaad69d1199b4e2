"""The queries behind the overviews of the report: signatures, hard questions, grids of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

STATUSES = ("scored", "not_applicable", "undefined", "parse_failure", "judge_error", "target_error")
"""What the codes in a grid stand for, from 0."""

FAILED = len(STATUSES)
"""The code of a number that is the worst value because the system failed to answer."""


def current(benchmark: str) -> Query:
    """The signatures by which the leaderboard of a benchmark was made.

    Returns:
        A query with evaluator, signature, parameters (JSON), version, metrics (the order of the
        lists in `grades`), and when the first and the last sample was scored.
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


def fingerprint(benchmark: str) -> Query:
    """One row that differs as soon as anything differs that the report of a benchmark shows."""
    tables = ("leaderboard", "comparisons", "system_scores", "problems", "insights", "calibration")
    sums = [
        f"(SELECT bit_xor(hash({table})) FROM {table} WHERE benchmark = $benchmark) AS {table}"  # noqa: S608 - names of tables
        for table in (*tables, "rejects")
    ]
    statement = f"""
SELECT {", ".join(sums)},
    (SELECT bit_xor(hash(stage, digest)) FROM marks WHERE benchmark = $benchmark) AS marks,
    (SELECT bit_xor(hash(evaluator, question_id, system, input_digest, signature, scored_at))
     FROM grades WHERE benchmark = $benchmark) AS grades,
    (SELECT bit_xor(hash(metrics)) FROM metrics) AS metrics
"""  # noqa: S608 - the names of tables
    return Query(statement, {"benchmark": benchmark})


def hardest(benchmark: str, limit: int) -> Query:
    """The questions to show: all, or of too many those that systems did worst on.

    How hard a question is, is the mean over systems and primary metrics of how far each number
    lies from the best end of its scale; questions without any number come last.

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

chosen AS (
    SELECT q.question_id, q.question, h.hardness
    FROM questions AS q
    LEFT JOIN hardness AS h USING (question_id)
    WHERE q.benchmark = $benchmark
    ORDER BY h.hardness DESC NULLS LAST, q.question_id
    LIMIT $limit
)

SELECT question_id, left(coalesce(question, ''), 200) AS question, hardness
FROM chosen
ORDER BY question_id
""",
        {"benchmark": benchmark, "limit": limit},
    )


def grid(benchmark: str, evaluator: str, signature: str, question_ids: Sequence[str]) -> Query:
    """The numbers of one evaluator for some questions, with a code for each: where it comes from.

    Returns:
        A query with question_id, system, values and codes (an index of `STATUSES`, or `FAILED`);
        codes is null where all are scored.
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
