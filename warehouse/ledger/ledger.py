"""The ledger: every call of a judge model and its outcome."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from warehouse.ledger.journal import Journal, orphaned_journals, read_journal
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from warehouse.storage.scratch import ScratchResult
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

JUDGMENT = "judgment"
ASK = "ask"
"""The kinds of rows in a journal."""

BATCH_ROWS = 5_000
"""The rows of a journal that are in memory at a time."""

_UNPAID = "judge_error"
_ASK_KEY = list(table_named("asks").key)


class Reply(NamedTuple):
    """The outcome of a judge call in the ledger."""

    reply: str | None
    status: str
    error: str | None


class Ledger:
    """The ledger of one process; thread-safe.

    Recorded rows go to a journal immediately and to the tables with `flush`. Lookups use an index
    on disk, which is created on first use, because the warehouse must not be locked during judge
    calls.
    """

    def __init__(self, warehouse: Warehouse, run_id: str, index: Path) -> None:
        self._warehouse = warehouse
        self._run_id = run_id
        self._file = index
        self._index: sqlite3.Connection | None = None
        self._journal: Journal | None = None
        self._lock = Lock()

    def find(self, digest: str) -> Reply | None:
        """Return the outcome of a judge call, if it was ever made."""
        with self._lock:
            row = self._indexed().execute(
                "SELECT reply, status, error FROM replies WHERE digest = ?", [_key(digest)]
            )
            found = row.fetchone()
        return None if found is None else Reply(*found)

    def record_judgment(self, row: Mapping[str, Any]) -> None:
        """Record a judgment: the columns of `judgments` except `run_id`, with JSON as text."""
        with self._lock:
            self._write(JUDGMENT, {**row, "run_id": self._run_id})
            self._indexed().execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)",
                [_key(row["digest"]), row["reply"], row["status"], row["error"]],
            )

    def record_ask(self, row: Mapping[str, Any]) -> None:
        """Record which sample needed a judge call, with the columns of `asks`."""
        with self._lock:
            self._write(ASK, row)

    def flush(self) -> None:
        """Save the rows of the journal in the tables."""
        with self._lock:
            if self._journal is not None:
                _import_journals(self._warehouse, [self._journal.path])
                self._journal.clear()

    def close(self) -> None:
        """Close journal and index; rows that were not flushed stay in the journal."""
        with self._lock:
            if self._journal is not None:
                self._journal.close()
            if self._index is not None:
                self._index.close()

    def _write(self, kind: str, row: Mapping[str, Any]) -> None:
        if self._journal is None:
            self._journal = Journal(self._warehouse.path)
        self._journal.write(kind, row)

    def _indexed(self) -> sqlite3.Connection:
        if self._index is None:
            with self._warehouse.fetch_to_disk(
                "SELECT digest, reply, status, error FROM judgments ORDER BY digest"
            ) as replies:
                self._index = _create_index(self._file, replies)
        return self._index


def _create_index(file: Path, replies: ScratchResult) -> sqlite3.Connection:
    """Create an index of the replies in the tables."""
    index = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    try:
        index.execute("PRAGMA journal_mode = OFF")
        index.execute("PRAGMA synchronous = OFF")
        index.execute(
            "CREATE TABLE replies (digest BLOB PRIMARY KEY, reply, status, error) WITHOUT ROWID"
        )
        index.execute("BEGIN")
        for batch in replies.batches(BATCH_ROWS):
            rows = ((_key(digest), *rest) for digest, *rest in batch.iter_rows())
            index.executemany("INSERT INTO replies VALUES (?, ?, ?, ?)", rows)
        index.execute("COMMIT")
    except BaseException:
        index.close()
        raise
    return index


@contextmanager
def open_ledger(warehouse: Warehouse, run_id: str) -> Iterator[Ledger]:
    """Recover orphaned journals and open the ledger of a warehouse."""
    recover_journals(warehouse)
    warehouse.path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".ledger-", dir=warehouse.path.parent) as folder:
        ledger = Ledger(warehouse, run_id, Path(folder) / "replies.sqlite")
        try:
            yield ledger
        finally:
            ledger.close()


def recover_journals(warehouse: Warehouse) -> int:
    """Save the rows of orphaned journals in the tables; return the number of journals."""
    with orphaned_journals(warehouse.path) as journals:
        if journals:
            _import_journals(warehouse, journals)
        return len(journals)


def _import_journals(warehouse: Warehouse, journals: Iterable[Path]) -> None:
    """Save the rows of journals in the tables, in one transaction."""

    def save(transaction: Transaction) -> None:
        for path in journals:
            for kind, import_rows in ((JUDGMENT, _import_judgments), (ASK, _import_asks)):
                rows = (row for found, row in read_journal(path) if found == kind)
                while batch := list(islice(rows, BATCH_ROWS)):
                    import_rows(transaction, batch)

    warehouse.write(save)


def _import_judgments(transaction: Transaction, rows: list[dict[str, Any]]) -> None:
    """Save judgments; a failed one never replaces a successful one."""
    frame = (
        _frame("judgments", rows)
        .with_columns((pl.col("status") != _UNPAID).alias("succeeded"))
        .sort("succeeded", maintain_order=True)
        .unique("digest", keep="last", maintain_order=True)
    )
    failed = frame.filter(~pl.col("succeeded"))["digest"].to_list()
    known = transaction.fetch(
        "SELECT digest FROM judgments WHERE list_contains($failed, digest) AND status <> $unpaid",
        {"failed": failed, "unpaid": _UNPAID},
    )
    transaction.replace("judgments", frame.join(known, on="digest", how="anti").drop("succeeded"))


def _import_asks(transaction: Transaction, rows: list[dict[str, Any]]) -> None:
    """Save which samples needed which calls; the first step of a sample replaces its old rows."""
    frame = _frame("asks", rows).unique(_ASK_KEY, keep="last", maintain_order=True)
    restarted = frame.filter(pl.col("step") == 0).drop("step", "digest")
    for (benchmark, evaluator), part in restarted.partition_by(
        "benchmark", "evaluator", as_dict=True
    ).items():
        transaction.execute(
            "DELETE FROM asks WHERE benchmark = $benchmark AND evaluator = $evaluator AND "
            "list_contains($samples, {system: system, question_id: question_id})",
            {
                "benchmark": benchmark,
                "evaluator": evaluator,
                "samples": part.select("system", "question_id").to_dicts(),
            },
        )
    transaction.replace("asks", frame)


def _frame(table: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    types = {"INTEGER": pl.Int32, "BIGINT": pl.Int64, "DOUBLE": pl.Float64}
    columns = table_named(table).columns
    schema = {column.name: types.get(column.type, pl.String) for column in columns}
    frame = pl.DataFrame(list(rows), schema=schema)
    if "judged_at" in schema:
        frame = frame.with_columns(pl.col("judged_at").str.to_datetime(time_unit="us"))
    return frame


def _key(digest: str) -> bytes:
    return bytes.fromhex(digest)
