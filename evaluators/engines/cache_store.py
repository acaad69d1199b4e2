"""The cache file: model answers in a file beside the warehouse.

One SQLite file for all models, keyed by the model's identity and the digest of the request. You
can delete it at any time; the answers are then computed again.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evaluators.errors import EvaluatorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

FILE = "encodings.sqlite"
# Pages of 8 kB hold five vectors of 384 numbers each with little left over.
_SCHEMA = """
PRAGMA page_size = 8192;
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS answers (
    model INTEGER NOT NULL, question BLOB NOT NULL, answer BLOB NOT NULL, used INTEGER NOT NULL,
    UNIQUE (model, question)
);
CREATE INDEX IF NOT EXISTS answers_used ON answers (used);
"""
_BATCH = 500
_DAY_S = 86_400
_KEPT_SHARE = 0.8
"""The share of the limit that an eviction leaves, so that evictions are rare."""


class CacheStore:
    """A bounded cache file; threads and processes may share it."""

    def __init__(self, folder: Path, limit_bytes: int = 2_000_000_000) -> None:
        """Name the place; the file is made when the first answer is looked up or kept.

        Args:
            folder: The folder that receives the file.
            limit_bytes: The size from which on the answers used longest ago are deleted.
        """
        self.path = folder / FILE
        self._limit = limit_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def get(self, identity: str, questions: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the cached answers of a model, by the digest of the request."""
        found: dict[bytes, bytes] = {}
        today = int(time.time()) // _DAY_S
        with self._transaction() as connection:
            model = _model(connection, identity)
            for start in range(0, len(questions), _BATCH):
                some = questions[start : start + _BATCH]
                placeholders = ",".join("?" * len(some))
                rows = connection.execute(
                    "SELECT question, answer, used FROM answers "  # noqa: S608 - only placeholders
                    f"WHERE model = ? AND question IN ({placeholders})",
                    (model, *some),
                ).fetchall()
                found.update({question: answer for question, answer, _ in rows})
                old = [(today, model, question) for question, _, used in rows if used < today]
                connection.executemany(
                    "UPDATE answers SET used = ? WHERE model = ? AND question = ?", old
                )
        return found

    def put(self, identity: str, answers: Mapping[bytes, bytes]) -> None:
        """Store answers of a model; evict old ones if the file is too large."""
        today = int(time.time()) // _DAY_S
        with self._transaction() as connection:
            model = _model(connection, identity)
            connection.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                [(model, question, answer, today) for question, answer in answers.items()],
            )
            size = _size(connection)
            if size > self._limit:
                _evict(connection, 1 - _KEPT_SHARE * self._limit / size)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise EvaluatorError(
                    f"the store of encodings {str(self.path)!r} cannot be used: {error}; "
                    "it may be deleted, its texts are then encoded again"
                ) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=60, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def _model(connection: sqlite3.Connection, identity: str) -> int:
    connection.execute("INSERT OR IGNORE INTO models (identity) VALUES (?)", (identity,))
    row = connection.execute("SELECT id FROM models WHERE identity = ?", (identity,)).fetchone()
    return int(row[0])


def _size(connection: sqlite3.Connection) -> int:
    """Return the size of the file in bytes without free pages."""
    pages, free, width = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * width


def _evict(connection: sqlite3.Connection, share: float) -> None:
    """Delete a share of the answers, the least recently used first."""
    count = int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])
    connection.execute(
        "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers ORDER BY used LIMIT ?)",
        (int(count * share) + 1,),
    )
