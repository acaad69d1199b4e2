"""Copies between the ledger and the tables `judgments` and `asks` of the warehouse."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

import orjson
import polars as pl
from sqlalchemy import text

from warehouse.ledger.integrity import BATCH_ROWS, COLUMN_NAMES, FIND, checksum, is_damaged
from warehouse.schema.tables import table_named
from warehouse.schema.tables.ledger import ANSWER_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from warehouse.ledger.database import LedgerDatabase
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

MARK: Final = "ledger"
"""The row of `meta` that says up to which transaction of which ledger the tables are filled."""

JUDGMENT_COLUMNS: Final = COLUMN_NAMES
ASK_COLUMNS: Final = tuple(column.name for column in table_named("asks").columns)

_ROW: Final = (*JUDGMENT_COLUMNS, "checksum", "seq")

_STORE: Final = text(
    f"INSERT INTO ledger_judgments ({', '.join(_ROW)}) "  # noqa: S608
    f"VALUES ({', '.join(f':{name}' for name in _ROW)}) ON CONFLICT (digest) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _ROW[1:])
)

_PAID: Final = {
    "tokens_in": "replaced_tokens_in",
    "tokens_out": "replaced_tokens_out",
    "cost_usd": "replaced_usd",
}
"""What a call costs, and the column with what its other outcomes have of it."""


def fill_tables(warehouse: Warehouse, database: LedgerDatabase) -> None:
    """Copy what the tables of the warehouse lack, in one transaction."""

    def fill(transaction: Transaction) -> int:
        mark = transaction.fetch("SELECT value FROM meta WHERE name = $name", {"name": MARK})
        id_, _, number = (mark.item() if mark.height else "").partition(":")
        after = int(number) if id_ == database.id else -1
        last = after
        for table, import_rows in (("judgments", _import_judgments), ("asks", _import_asks)):
            for frame in _rows_after(database, table, after):
                import_rows(transaction, frame.drop("seq"))
                last = max(last, int(frame["seq"].max()))  # type: ignore[arg-type]
        if last > after:
            value = f"{database.id}:{last}"
            transaction.replace("meta", pl.DataFrame({"name": [MARK], "value": [value]}))
        return last

    last = warehouse.write(fill)
    delete = text("DELETE FROM ledger_asks WHERE seq <= :last")
    database.write(lambda connection, _: connection.execute(delete, {"last": last}))


def store_judgment(
    connection: Connection, row: Mapping[str, Any], number: int, known: int = -1
) -> None:
    """Store the outcome of a call.

    It replaces a failure and a damaged outcome, and a reply only if its number is at most `known`.
    One of both stays; attempts, tokens and cost are those of both.

    Args:
        connection: The connection, in a transaction.
        row: The columns of `judgments`; some may be missing.
        number: The number of the transaction.
        known: The number of the outcome that the caller wants to replace; -1 for none.
    """
    new = {**dict.fromkeys(JUDGMENT_COLUMNS), **row}
    old = connection.execute(FIND, {"digest": new["digest"]}).mappings().one_or_none()
    if old is not None and not is_damaged(old):
        replaces = old["status"] == "judge_error" or old["seq"] <= known
        stays, goes = (new, old) if replaces else (old, new)
        merged = dict(stays)
        for paid, replaced in _PAID.items():
            merged[paid] = _sum(stays[paid], goes[paid])
            merged[replaced] = _sum(stays[replaced], goes[paid])
        merged["attempts"] = _sum(stays["attempts"], goes["attempts"])
        new = merged
    connection.execute(_STORE, {**new, "checksum": checksum(new), "seq": number})


def reopen_judgment(connection: Connection, digest: str, number: int) -> None:
    """Let an outcome count as a failure, which any other outcome replaces; its cost stays.

    A damaged one counts as that already.
    """
    row = connection.execute(FIND, {"digest": digest}).mappings().one_or_none()
    if row is None or is_damaged(row):
        return
    is_of_system = row["status"] == "target_error"
    failed = {"reply": None} if is_of_system else {"status": "judge_error"}
    changed = {**row, **failed}
    connection.execute(_STORE, {**changed, "checksum": checksum(changed), "seq": number})


def _sum(one: float | None, other: float | None) -> float | None:
    known = [each for each in (one, other) if each is not None]
    return sum(known) if known else None


def read_tables(warehouse: Warehouse) -> Iterator[list[dict[str, Any]]]:
    """Yield all judgments of the warehouse, in batches of rows for `seed`."""
    if not warehouse.exists():
        return
    with warehouse.fetch_to_disk("SELECT * FROM judgments") as judgments:
        for batch in judgments.batches(BATCH_ROWS):
            moment = pl.col("judged_at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
            yield batch.with_columns(moment).to_dicts()


def read_journals(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the judgments in the journals of version 0.1, which has none of these databases.

    A last line may be incomplete, because the process was killed; it is ignored.
    """
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            rows = [orjson.loads(line) for line in file if line.endswith(b"\n")]
        yield [row["judgment"] for row in rows if "judgment" in row]


def seed(connection: Connection, batches: Iterable[list[dict[str, Any]]]) -> None:
    """Store judgments in a new ledger, and what they cost."""
    for rows in batches:
        for row in rows:
            store_judgment(connection, row, 0)
    connection.execute(
        text(
            "INSERT INTO ledger_spending "
            "SELECT run_id, substr(judged_at, 1, 13), sum(cost_usd) FROM ledger_judgments "
            "WHERE cost_usd IS NOT NULL GROUP BY 1, 2"
        )
    )


def remove_journals(folder: Path) -> None:
    """Remove the folder of journals after its rows were stored."""
    if folder.is_dir():
        shutil.rmtree(folder)


def store_asks(connection: Connection, number: int, rows: list[Mapping[str, Any]]) -> None:
    """Store which samples needed which calls; the first step of a sample replaces its old rows."""
    sample = " AND ".join(f"{name} = :{name}" for name in ASK_COLUMNS[:4])
    sample += f" AND step >= :step AND step < :step + {ANSWER_STEPS}"
    restarted = [row for row in rows if row["step"] % ANSWER_STEPS == 0]
    if restarted:
        connection.execute(text(f"DELETE FROM ledger_asks WHERE {sample}"), restarted)  # noqa: S608
    values = ", ".join(f":{name}" for name in (*ASK_COLUMNS, "seq"))
    key = ", ".join(ASK_COLUMNS[:5])
    connection.execute(
        text(
            f"INSERT INTO ledger_asks VALUES ({values}) "  # noqa: S608
            f"ON CONFLICT ({key}) DO UPDATE SET digest = excluded.digest, seq = excluded.seq"
        ),
        [{**row, "seq": number} for row in rows],
    )


def _rows_after(database: LedgerDatabase, table: str, number: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of later transactions, without damaged ones, as one SELECT sees them."""
    columns = table_named(table).columns
    types = {"INTEGER": pl.Int32, "BIGINT": pl.Int64, "DOUBLE": pl.Float64}
    schema = {column.name: types.get(column.type, pl.String) for column in columns}
    names = [*schema, "seq"]
    selected = [*names, "checksum"] if table == "judgments" else names
    query = text(
        f"SELECT {', '.join(selected)} FROM ledger_{table} WHERE seq > :number"  # noqa: S608
    )
    with database.streaming() as connection:
        result = connection.execute(
            query, {"number": number}, execution_options={"yield_per": BATCH_ROWS}
        )
        # Without a number each row comes alone, whatever `yield_per` says.
        for rows in result.mappings().partitions(BATCH_ROWS):
            intact = [row for row in rows if "checksum" not in row or not is_damaged(row)]
            if not intact:
                continue
            frame = pl.DataFrame(
                [tuple(row[name] for name in names) for row in intact],
                schema={**schema, "seq": pl.Int64},
                orient="row",
            )
            if "judged_at" in schema:
                moment = pl.col("judged_at").str.to_datetime(time_unit="us")
                frame = frame.with_columns(moment)
            yield frame


def _import_judgments(transaction: Transaction, frame: pl.DataFrame) -> None:
    transaction.replace("judgments", frame)


def _import_asks(transaction: Transaction, frame: pl.DataFrame) -> None:
    restarted = frame.filter(pl.col("step") % ANSWER_STEPS == 0)
    for (benchmark, evaluator), part in restarted.partition_by(
        "benchmark", "evaluator", as_dict=True
    ).items():
        transaction.execute(
            "DELETE FROM asks WHERE benchmark = $benchmark AND evaluator = $evaluator AND "
            "list_contains($samples, {system: system, question_id: question_id, "
            "step: step - step % $answer_steps})",
            {
                "answer_steps": ANSWER_STEPS,
                "benchmark": benchmark,
                "evaluator": evaluator,
                "samples": part.select("system", "question_id", "step").to_dicts(),
            },
        )
    transaction.replace("asks", frame)
