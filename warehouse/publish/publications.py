"""Records what is published, so that later publications can be compared with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import polars as pl

from warehouse.publish.snapshot import amend
from warehouse.queries.benchmarks import names_in
from warehouse.queries.publications import (
    DOCUMENT_DIGEST,
    PREDICTION_DIGEST,
    QUESTION_CONTENT,
    QUESTION_DIGEST,
    SCORE_DIGEST,
    VERSIONS,
)
from warehouse.schema.quoting import literal

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """What is recorded of each published benchmark.

    Attributes:
        kind: The kind, as in the table `publication_data`.
        source: The SQL of the relation that holds the rows.
        keys: The columns that tell the data sets of a benchmark from each other.
        digest: The SQL of the digest of a row.
        kept: The table that keeps the rows; null: they are not kept.
        columns: The SQL of what it keeps of each question.
        only: The SQL condition of the rows that it keeps.
        version: The SQL of the version.
    """

    kind: str
    source: str
    keys: tuple[str, ...] = ()
    digest: str
    kept: str | None = None
    columns: str = ""
    only: str = "true"
    version: str = "NULL"

    def key(self, name: str) -> str:
        """Return the SQL of a column that may be one of the keys; null if it is none."""
        return name if name in self.keys else f"NULL AS {name}"


_QUESTIONS: Final = "questions"

DATA_SETS: Final = (
    DataSet(
        kind=_QUESTIONS,
        source="questions",
        digest=QUESTION_DIGEST,
        kept="kept_questions",
        columns=f"{QUESTION_CONTENT} AS content",
    ),
    DataSet(kind="documents", source="documents", digest=DOCUMENT_DIGEST),
    DataSet(
        kind="predictions",
        source="predictions",
        keys=("system",),
        digest=PREDICTION_DIGEST,
        kept="kept_answers",
        columns="answer, error",
        # Of several answers to a question the first one is shown.
        only="r.repeat = 0",
    ),
    DataSet(
        kind="scores",
        # Scores of an earlier configuration may be left.
        source="(FROM grades SEMI JOIN leaderboard USING (benchmark, system, evaluator, "
        "signature))",
        keys=("system", "evaluator"),
        digest=SCORE_DIGEST,
        kept="kept_scores",
        columns='"values"',
        version="any_value(signature)",
    ),
)

_PUBLISHED_QUESTIONS: Final = "published/questions"
"""The stage that says which questions the last publication of a benchmark recorded."""

_LAST_QUESTIONS: Final = """
SELECT * FROM publication_data WHERE kind = 'questions'
QUALIFY row_number() OVER (PARTITION BY benchmark ORDER BY published_at DESC) = 1
"""

KEPT_TABLES: Final = tuple(each.kept for each in DATA_SETS if each.kept is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Which publications of a benchmark keep questions, answers and scores.

    Attributes:
        publications: The last ones, as many as this, besides those with a tag.
        max_samples: The most samples (questions times systems) of a benchmark that keeps them.
    """

    publications: int
    max_samples: int


def record_publication(
    warehouse: Warehouse,
    run_id: str,
    kept: Kept,
    versions: Mapping[str, str],
    readers: Collection[tuple[str, str]] = (),
) -> datetime | None:
    """Record that the leaderboards are published now, and delete what need not be kept any more.

    Args:
        warehouse: The warehouse.
        run_id: The run that publishes.
        kept: What is kept.
        versions: The `version` of the systems that have one, by name.
        readers: Benchmarks with the evaluators whose scores depend on documents.

    Returns:
        The time of the publication (UTC); null if no leaderboard has changed since the last one.
    """

    def write(transaction: Transaction) -> datetime | None:
        found = _new_leaderboards(transaction)
        if found:
            _record_data(transaction, found, versions)
            _record_readers(transaction, [pair for pair in readers if pair[0] in found])
            _keep(transaction, found, kept)
            _delete_unused(transaction, kept)
        return _record_time(transaction, run_id)

    return warehouse.write(write)


def tag_publication(
    warehouse: Warehouse, folder: Path, published_at: datetime, tag: str | None
) -> None:
    """Give a publication a tag instead of the one it has, in the warehouse and the published copy.

    Args:
        warehouse: The warehouse.
        folder: The folder of the published copy.
        published_at: The publication.
        tag: The tag, which another publication then loses; null removes the tag.
    """
    sql = (
        "UPDATE publications SET tag = CASE WHEN published_at = $published_at THEN $tag END "
        "WHERE published_at = $published_at OR tag = $tag"
    )
    parameters = {"published_at": published_at, "tag": tag}
    warehouse.write(lambda transaction: transaction.execute(sql, parameters))
    amend(folder, sql, parameters, warehouse.patience_s)


def _record_time(transaction: Transaction, run_id: str) -> datetime | None:
    newest, last = transaction.fetch(
        "SELECT (SELECT max(published_at) FROM leaderboard), max(published_at) FROM publications"
    ).row(0)
    if newest is None or (last is not None and newest <= last):
        return None
    # The clock may have been set back.
    now: datetime = max(datetime.now(UTC).replace(tzinfo=None), newest)
    if last is not None:
        now = max(now, last + timedelta(microseconds=1))
    transaction.append("publications", pl.DataFrame([{"published_at": now, "run_id": run_id}]))
    return now


def _new_leaderboards(transaction: Transaction) -> list[str]:
    """Return the benchmarks whose leaderboard is not recorded."""
    rows = transaction.fetch(
        "SELECT benchmark FROM (SELECT benchmark, max(published_at) AS published_at "
        "FROM leaderboard GROUP BY benchmark) ANTI JOIN publication_data "
        "USING (benchmark, published_at) ORDER BY benchmark"
    )
    return rows["benchmark"].to_list()


def _record_data(
    transaction: Transaction, benchmarks: list[str], versions: Mapping[str, str]
) -> None:
    """Record rows and digests of the inputs and scores of benchmarks.

    Digests of questions take longer than all others, and are those of before where questions were
    read from the same.
    """
    same = [name for name, mark in _question_marks(transaction, benchmarks).items() if mark.is_same]
    others = [name for name in benchmarks if name not in same]
    queries = " UNION ALL ".join(
        f"SELECT benchmark, {literal(each.kind)} AS kind, {each.key('system')}, "  # noqa: S608
        f'{each.key("evaluator")}, count(*) AS "rows", {each.version} AS version, '
        f"lower(hex(bit_xor({each.digest}))) AS digest FROM {each.source} "
        f"WHERE benchmark IN ({names_in(others if each.kind == _QUESTIONS else benchmarks)}) "
        "GROUP BY ALL"
        for each in DATA_SETS
    )
    if same:
        queries += (
            ' UNION ALL SELECT benchmark, kind, system, evaluator, "rows", NULL, digest '  # noqa: S608
            f"FROM ({_LAST_QUESTIONS}) WHERE benchmark IN ({names_in(same)})"
        )
    cases = " ".join(f"WHEN {literal(n)} THEN {literal(v)}" for n, v in versions.items())
    asked = f"CASE WHEN kind = 'predictions' THEN CASE system {cases} END END" if cases else "NULL"
    transaction.execute(
        "INSERT INTO publication_data BY NAME "  # noqa: S608
        f"SELECT * REPLACE (coalesce(version, {asked}) AS version) FROM ({queries}) JOIN "
        "(SELECT benchmark, max(published_at) AS published_at FROM leaderboard GROUP BY benchmark) "
        "USING (benchmark)"
    )
    marks = _question_marks(transaction, benchmarks)
    changed = {name: mark.digest for name, mark in marks.items() if not mark.is_same}
    if changed:
        transaction.record_fingerprints(_PUBLISHED_QUESTIONS, changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionMark:
    """Whether the questions of a benchmark are those of its last publication.

    Attributes:
        digest: The digest of what they were read from, and of their recorded digest.
        is_same: Whether the last publication recorded it.
    """

    digest: str
    is_same: bool


def _question_marks(transaction: Transaction, benchmarks: list[str]) -> dict[str, _QuestionMark]:
    """Return the marks of the benchmarks whose questions have a fingerprint and a publication."""
    rows = transaction.fetch(
        "SELECT q.benchmark, "  # noqa: S608
        "md5(concat_ws(' ', q.digest, d.digest, $formula)) AS mark, "
        "coalesce(p.digest = mark, false) "
        f"FROM marks AS q JOIN ({_LAST_QUESTIONS}) AS d USING (benchmark) "
        "LEFT JOIN marks AS p ON p.benchmark = q.benchmark AND p.stage = $stage "
        f"WHERE q.stage = 'questions' AND q.benchmark IN ({names_in(benchmarks)})",
        {"formula": QUESTION_DIGEST, "stage": _PUBLISHED_QUESTIONS},
    )
    return {
        name: _QuestionMark(digest=digest, is_same=is_same)
        for name, digest, is_same in rows.iter_rows()
    }


def _record_readers(transaction: Transaction, readers: Collection[tuple[str, str]]) -> None:
    """Record the documents once more for each evaluator that reads them, even if there are none."""
    transaction.execute(
        """
        INSERT INTO publication_data BY NAME
        SELECT
            r.benchmark, l.published_at, 'documents' AS kind, r.evaluator,
            coalesce(d."rows", 0) AS "rows", coalesce(d.digest, '0') AS digest
        FROM (
            SELECT pair[1] AS benchmark, pair[2] AS evaluator
            FROM (SELECT unnest($readers::VARCHAR[][]) AS pair)
        ) AS r
        JOIN (
            SELECT benchmark, max(published_at) AS published_at FROM leaderboard GROUP BY benchmark
        ) AS l USING (benchmark)
        LEFT JOIN publication_data AS d
            ON d.benchmark = r.benchmark AND d.published_at = l.published_at
            AND d.kind = 'documents' AND d.evaluator IS NULL
        """,
        {"readers": [list(pair) for pair in readers]},
    )


def _keep(transaction: Transaction, benchmarks: list[str], kept: Kept) -> None:
    """Keep the data sets of the last leaderboards of benchmarks, each of them once."""
    small = transaction.fetch(
        f"SELECT benchmark FROM predictions WHERE benchmark IN ({names_in(benchmarks)}) "  # noqa: S608
        "GROUP BY benchmark HAVING count(*) <= $most",
        {"most": kept.max_samples},
    )["benchmark"].to_list()
    if not kept.publications or not small:
        return
    for each in DATA_SETS:
        if each.kept is None:
            continue
        same = " AND ".join(f"r.{name} = d.{name}" for name in ("benchmark", *each.keys))
        transaction.execute(
            f"""
            INSERT INTO {each.kept} BY NAME
            WITH d AS (
                SELECT DISTINCT ON (digest) digest, benchmark, system, evaluator
                FROM publication_data JOIN (
                    SELECT benchmark, max(published_at) AS published_at
                    FROM publication_data
                    WHERE benchmark IN ({names_in(small)})
                    GROUP BY benchmark
                ) USING (benchmark, published_at)
                WHERE kind = {literal(each.kind)}
                    AND digest NOT IN (SELECT DISTINCT digest FROM {each.kept})
            )
            SELECT d.digest, question_id, {each.columns}
            FROM {each.source} AS r JOIN d ON {same}
            WHERE {each.only}
            """  # noqa: S608
        )


def _delete_unused(transaction: Transaction, kept: Kept) -> None:
    """Delete what belongs to no leaderboard, and the rows of publications that are too old."""
    transaction.execute(
        "DELETE FROM publication_data WHERE (benchmark, published_at) NOT IN "
        "(SELECT (benchmark, published_at) FROM leaderboard_history)"
    )
    used = f"""
        SELECT digest FROM publication_data JOIN (
            SELECT benchmark, version AS published_at FROM ({VERSIONS}) WHERE tag IS NOT NULL
            UNION
            SELECT benchmark, published_at
            FROM (SELECT DISTINCT benchmark, published_at FROM publication_data)
            QUALIFY row_number() OVER (PARTITION BY benchmark ORDER BY published_at DESC)
                <= {kept.publications}
        ) USING (benchmark, published_at)
    """  # noqa: S608
    for table in KEPT_TABLES:
        transaction.execute(f"DELETE FROM {table} WHERE digest NOT IN ({used})")  # noqa: S608
