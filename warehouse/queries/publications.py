"""Queries about earlier publications: what they showed, and what their scores were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.queries.samples import Query
from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_UNCOUNTED: Final = frozenset(
    {"benchmark", "question_id", "perturbs", "perturbation", "cluster", "tags", "file", "line"}
)
"""Columns of questions that say nothing about what is asked and expected."""

_CONTENT_COLUMNS: Final = [
    name for name in table_named("questions").column_names if name not in _UNCOUNTED
]

_CONTENT: Final = ", ".join(
    f"{literal(name)} || '=' || {quoted(name)}::VARCHAR" for name in _CONTENT_COLUMNS
)
QUESTION_CONTENT: Final = f"md5_number_lower(concat_ws(chr(31), {_CONTENT}))"
"""The SQL of the digest of what a question asks and expects.

Columns without a value do not count, so that a later version may add columns.
"""

QUESTION_DIGEST: Final = f"md5_number_lower(concat_ws(chr(31), question_id, {_CONTENT}))"
DOCUMENT_DIGEST: Final = 'hash(hash(doc_id, sentence_id, "position", "text"))'
PREDICTION_DIGEST: Final = "hash(hash({}))".format(
    ", ".join(
        quoted(column.name) + f", len({quoted(column.name)})" * column.type.endswith("[]")
        for column in table_named("predictions").columns
        # Answers that were asked for again take another time.
        if column.name not in ("benchmark", "system", "latency_s")
    )
)
SCORE_DIGEST: Final = 'hash(hash(question_id, "values"))'
"""The SQL of the digests of rows, which are combined by XOR.

`hash` is ten times as fast as MD5, but may change with DuckDB: then all predictions are shown as
changed once. Digests of questions decide what is comparable. The outer `hash` is needed: of several
values DuckDB combines the hashes by XOR, so equal changes in an even number of rows would cancel.
And its hash of lists does not distinguish null, `[]` and `[NULL]`; their lengths do.
"""

VERSIONS: Final = """
SELECT p.published_at, p.run_id, p.tag, h.benchmark, h.version
FROM publications AS p
CROSS JOIN (SELECT DISTINCT benchmark FROM leaderboard_history) AS b
ASOF JOIN (SELECT DISTINCT benchmark, published_at AS version FROM leaderboard_history) AS h
    ON h.benchmark = b.benchmark AND h.version <= p.published_at
"""
"""The SQL of the leaderboard of each benchmark in each publication: its `version` is the time of
its rows in `leaderboard_history`."""

SHOWN: Final = f"""
SELECT *
FROM ({VERSIONS})
QUALIFY tag IS NOT NULL OR version IS DISTINCT FROM
    lag(version) OVER (PARTITION BY benchmark ORDER BY published_at)
"""  # noqa: S608
"""Of `VERSIONS`, the publications that changed the leaderboard of the benchmark or have a tag."""

HISTORY: Final = f"""
WITH points AS (
    SELECT
        s.*, h.system, h.evaluator, h.metric, h.mean, h.ci_low, h.ci_high, h.n_scored,
        q.digest AS questions, d.digest AS documents,
        regexp_extract(h.signature, '\\|judge:([^|]*)', 1) AS judge,
        regexp_replace(h.signature, '\\|judge:[^|]*', '') AS evaluated
    FROM ({SHOWN}) AS s
    JOIN leaderboard_history AS h ON h.benchmark = s.benchmark AND h.published_at = s.version
    LEFT JOIN publication_data AS q
        ON q.benchmark = s.benchmark AND q.published_at = s.version AND q.kind = 'questions'
    LEFT JOIN publication_data AS d
        ON d.benchmark = s.benchmark AND d.published_at = s.version AND d.kind = 'documents'
        AND d.evaluator = h.evaluator
    WHERE h.slice = 'all'
)

SELECT
    published_at, run_id, tag, benchmark, version, system, evaluator, metric, mean, ci_low, ci_high,
    n_scored, len(changed) = 0 AS comparable, changed
FROM (
    SELECT *, list_filter([
        CASE WHEN questions <> lag(questions) OVER line THEN 'questions' END,
        CASE WHEN documents <> lag(documents) OVER line THEN 'documents' END,
        CASE WHEN judge <> lag(judge) OVER line THEN 'judge' END,
        CASE WHEN evaluated <> lag(evaluated) OVER line THEN 'evaluator' END
    ], lambda each: each IS NOT NULL) AS changed
    FROM points
    WINDOW line AS (PARTITION BY benchmark, system, evaluator, metric ORDER BY published_at)
)
"""  # noqa: S608
"""The SQL of all results of all questions in the publications that changed them or have a tag.

A point is comparable with the one before it (same benchmark, system, evaluator and metric) unless
something `changed`: `questions`, `documents` (if the evaluator reads them), `judge` or `evaluator`.
What is unknown has not changed.
"""

HISTORY_COLUMNS: Final = (
    *("published_at", "run_id", "tag", "benchmark", "system", "evaluator", "metric", "mean"),
    *("ci_low", "ci_high", "n_scored", "comparable", "changed"),
)

LAST_CHANGES: Final = f"""
SELECT benchmark, system, evaluator, metric, mean - mean_before AS change, changed, since
FROM (
    SELECT *, lag(mean) OVER line AS mean_before, lag(published_at) OVER line AS since
    FROM ({HISTORY})
    WHERE benchmark IN ({{benchmarks}})
    WINDOW line AS (PARTITION BY benchmark, system, evaluator, metric ORDER BY published_at)
)
QUALIFY since IS NOT NULL AND published_at = max(published_at) OVER (PARTITION BY benchmark)
"""  # noqa: S608
"""The SQL of how much the means of `{benchmarks}` differ from those of the publication before:
`changed` is not empty where they are not comparable; see `HISTORY`."""

INPUTS: Final = f"""
SELECT
    v.published_at, v.run_id, v.tag, d.benchmark, d.kind, d.system, d.rows, d.digest, d.version,
    d.digest IS DISTINCT FROM lag(d.digest) OVER (
        PARTITION BY d.benchmark, d.kind, d.system ORDER BY v.published_at
    ) AS is_new
FROM ({SHOWN}) AS v
JOIN publication_data AS d ON d.benchmark = v.benchmark AND d.published_at = v.version
WHERE d.evaluator IS NULL
"""  # noqa: S608
"""The SQL of the inputs in the publications that changed a leaderboard or have a tag; `is_new`: the
data is not that of the publication before."""

_QUESTIONS_BEFORE: Final = (
    "SELECT question_id, content FROM publication_data JOIN kept_questions USING (digest) "
    "WHERE benchmark = $benchmark AND published_at = $version AND kind = 'questions'"
)
_QUESTIONS_NOW: Final = (
    f"SELECT question_id, {QUESTION_CONTENT} AS content FROM questions "  # noqa: S608
    "WHERE benchmark = $benchmark"
)


def data_changes(before: datetime, after: datetime) -> Query:
    """Compare the inputs of two publications.

    Returns:
        A query with benchmark, kind, system, rows_before and rows_after (null where there are
        none), is_same, and n_added, n_removed and n_changed: of questions, and of answers in
        predictions; null where they are not kept.
    """
    return Query(
        f"""
        WITH data AS (
            SELECT v.published_at, d.benchmark, d.kind, d.system, d.rows, d.digest
            FROM ({VERSIONS}) AS v
            JOIN publication_data AS d ON d.benchmark = v.benchmark AND d.published_at = v.version
            WHERE d.evaluator IS NULL
        ),

        kept AS (
            SELECT 'questions' AS kind, digest, question_id, content::VARCHAR AS content
            FROM kept_questions
            UNION ALL
            SELECT 'predictions', digest, question_id, concat(answer, chr(31), error)
            FROM kept_answers
        ),

        pairs AS (
            SELECT
                coalesce(b.benchmark, a.benchmark) AS benchmark, coalesce(b.kind, a.kind) AS kind,
                coalesce(b.system, a.system) AS system,
                b.rows AS rows_before, a.rows AS rows_after,
                b.digest AS digest_before, a.digest AS digest_after
            FROM (FROM data WHERE published_at = $before) AS b
            FULL JOIN (FROM data WHERE published_at = $after) AS a
                ON a.benchmark = b.benchmark AND a.kind = b.kind
                AND a.system IS NOT DISTINCT FROM b.system
        ),

        changes AS (
            SELECT
                digest_before, digest_after,
                count(b.content) AS n_before, count(a.content) AS n_after,
                count(*) FILTER (b.content IS NULL) AS n_added,
                count(*) FILTER (a.content IS NULL) AS n_removed,
                count(*) FILTER (a.content <> b.content) AS n_changed
            FROM (SELECT * FROM pairs JOIN kept USING (kind) WHERE digest = digest_before) AS b
            FULL JOIN (SELECT * FROM pairs JOIN kept USING (kind) WHERE digest = digest_after) AS a
                USING (kind, digest_before, digest_after, question_id)
            GROUP BY ALL
        )

        SELECT
            benchmark, kind, system, rows_before, rows_after,
            p.digest_before IS NOT DISTINCT FROM p.digest_after AS is_same,
            n_added, n_removed, n_changed
        FROM pairs AS p
        LEFT JOIN changes AS c
            ON c.digest_before = p.digest_before AND c.digest_after = p.digest_after
            AND c.n_before = rows_before AND c.n_after = rows_after
        """,  # noqa: S608
        {"before": before, "after": after},
    )


def version_of(benchmark: str, published_at: datetime) -> Query:
    """Select the leaderboard of a benchmark in a publication: version."""
    return Query(
        f"SELECT version FROM ({VERSIONS}) "  # noqa: S608
        "WHERE benchmark = $benchmark AND published_at = $published_at",
        {"benchmark": benchmark, "published_at": published_at},
    )


def looks_since(benchmark: str, version: datetime) -> Query:
    """Count the leaderboards since the last tag up to an earlier one, or since the first: looks.

    Every one of them is another look at whether systems have changed.
    """
    return Query(
        f"""
        WITH own AS (FROM leaderboard_history WHERE benchmark = $benchmark)
        SELECT count(DISTINCT published_at) FROM own WHERE published_at > coalesce((
            SELECT max(version) FROM ({VERSIONS})
            WHERE benchmark = $benchmark AND tag IS NOT NULL AND version <= $version
        ), (SELECT min(published_at) FROM own))
        """,  # noqa: S608
        {"benchmark": benchmark, "version": version},
    )


def results_then_and_now(benchmark: str, version: datetime) -> Query:
    """Select the results of an earlier leaderboard beside those of now, on all questions.

    Returns:
        A query with system, evaluator, metric, before and now (the means), signature_before and
        signature, is_primary, best, best_value, worst_value, threshold and place: that of the
        metric in the lists of scores, from 0; null for a system-level metric.
    """
    return Query(
        "SELECT system, evaluator, metric, h.mean AS before, l.mean AS now, "
        "h.signature AS signature_before, l.signature, l.is_primary, l.best, l.best_value, "
        "l.worst_value, l.threshold, list_position(s.metrics, metric) - 1 AS place "
        "FROM leaderboard AS l "
        "JOIN leaderboard_history AS h USING (benchmark, slice, system, evaluator, metric) "
        "LEFT JOIN signatures AS s "
        "ON s.evaluator = l.evaluator AND s.signature = l.signature "
        "WHERE benchmark = $benchmark AND slice = 'all' AND h.published_at = $version "
        "ORDER BY l.position, system",
        {"benchmark": benchmark, "version": version},
    )


def systems_then(benchmark: str, version: datetime) -> Query:
    """Select the systems of an earlier leaderboard: system."""
    return Query(
        "SELECT DISTINCT system FROM leaderboard_history "
        "WHERE benchmark = $benchmark AND published_at = $version ORDER BY system",
        {"benchmark": benchmark, "version": version},
    )


def unchanged_systems(benchmark: str, version: datetime) -> Query:
    """Select the systems whose predictions are those of an earlier leaderboard: system."""
    return Query(
        "SELECT b.system FROM publication_data AS b JOIN publication_data AS n "
        "USING (benchmark, kind, system, digest) "
        "WHERE benchmark = $benchmark AND kind = 'predictions' AND b.published_at = $version "
        "AND n.published_at = "
        "(SELECT max(published_at) FROM leaderboard WHERE benchmark = $benchmark)",
        {"benchmark": benchmark, "version": version},
    )


def paired_evaluators(benchmark: str) -> Query:
    """Select the evaluators that compare the answers of systems with each other: evaluator."""
    return Query(
        "SELECT DISTINCT evaluator FROM pairwise WHERE benchmark = $benchmark",
        {"benchmark": benchmark},
    )


def readers_of_changed_documents(benchmark: str, version: datetime) -> Query:
    """Select the evaluators that read documents, if these have changed since: evaluator."""
    return Query(
        "SELECT b.evaluator FROM publication_data AS b JOIN publication_data AS n "
        "USING (benchmark, kind, evaluator) "
        "WHERE benchmark = $benchmark AND kind = 'documents' AND b.published_at = $version "
        "AND b.digest <> n.digest AND n.published_at = "
        "(SELECT max(published_at) FROM leaderboard WHERE benchmark = $benchmark)",
        {"benchmark": benchmark, "version": version},
    )


def missing_rows(benchmark: str, version: datetime) -> Query:
    """Select the data sets of an earlier leaderboard of which rows are missing.

    Returns:
        A query with kind, system, evaluator, rows and kept: how many of the rows there are.
    """
    return Query(
        """
        SELECT kind, system, evaluator, "rows", coalesce(k.n, 0) AS kept
        FROM publication_data AS d
        LEFT JOIN (
            SELECT 'questions' AS kind, digest, count(*) AS n FROM kept_questions GROUP BY ALL
            UNION ALL
            SELECT 'scores', digest, count(*) FROM kept_scores GROUP BY ALL
        ) AS k USING (kind, digest)
        WHERE d.benchmark = $benchmark AND d.published_at = $version
            -- Answers are only shown: of several to a question, the first one is kept.
            AND d.kind IN ('questions', 'scores') AND kept <> "rows"
        ORDER BY ALL
        """,
        {"benchmark": benchmark, "version": version},
    )


def question_changes(benchmark: str, version: datetime) -> Query:
    """Compare the questions of an earlier leaderboard with those of now.

    Returns:
        A query with n_before, n_now, n_same, n_added, n_removed and n_changed.
    """
    return Query(
        f"""
        SELECT
            count(b.question_id) AS n_before, count(n.question_id) AS n_now,
            count(*) FILTER (b.content = n.content) AS n_same,
            count(*) FILTER (b.question_id IS NULL) AS n_added,
            count(*) FILTER (n.question_id IS NULL) AS n_removed,
            count(*) FILTER (b.content <> n.content) AS n_changed
        FROM ({_QUESTIONS_BEFORE}) AS b
        FULL JOIN ({_QUESTIONS_NOW}) AS n USING (question_id)
        """,  # noqa: S608
        {"benchmark": benchmark, "version": version},
    )


def scores_then_and_now(benchmark: str, version: datetime, evaluator: str, signature: str) -> Query:
    """Select the scores of an earlier leaderboard beside those of now, for unchanged questions.

    Returns:
        A query with system, question (UBIGINT), question_id, before and now: lists, one score for
        each metric.
    """
    return Query(
        f"""
        SELECT system, hash(question_id) AS question, question_id,
            k."values" AS before, g."values" AS now
        FROM publication_data AS d
        JOIN kept_scores AS k USING (digest)
        JOIN grades AS g USING (benchmark, system, evaluator, question_id)
        JOIN ({_QUESTIONS_BEFORE}) AS b USING (question_id)
        JOIN ({_QUESTIONS_NOW}) AS n USING (question_id, content)
        WHERE d.benchmark = $benchmark AND d.published_at = $version AND d.kind = 'scores'
            AND d.evaluator = $evaluator AND g.signature = $signature
        """,  # noqa: S608
        {
            "benchmark": benchmark,
            "version": version,
            "evaluator": evaluator,
            "signature": signature,
        },
    )


def answers_then_and_now(
    benchmark: str, version: datetime, system: str, questions: Sequence[str]
) -> Query:
    """Select the answers to some questions of an earlier leaderboard beside those of now.

    Returns:
        A query with question_id, answer_before and answer_now: the error in brackets where the
        system failed.
    """
    said = "coalesce({0}.answer, '[' || {0}.error || ']')"
    return Query(
        f"SELECT question_id, {said.format('k')} AS answer_before, "  # noqa: S608
        f"{said.format('p')} AS answer_now "
        "FROM publication_data AS d JOIN kept_answers AS k USING (digest) "
        "JOIN predictions AS p USING (benchmark, system, question_id) "
        "WHERE p.repeat = 0 AND d.benchmark = $benchmark AND d.published_at = $version "
        "AND d.kind = 'predictions' AND d.system = $system "
        "AND list_contains($questions, question_id)",
        {
            "benchmark": benchmark,
            "version": version,
            "system": system,
            "questions": list(questions),
        },
    )
