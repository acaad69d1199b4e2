"""Copies between the ledger and the tables `judgments` and `asks` of the warehouse."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson
import polars as pl
from sqlalchemy import text

from calls.ledger.errors import LedgerUnreachable
from calls.ledger.integrity import BATCH_ROWS, is_damaged
from warehouse.errors import WarehouseUnreachable
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from calls.ledger.database import LedgerDatabase
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

MARK: Final = "ledger"
"""The row of `meta` that says up to which transaction of which ledger the tables are filled."""


def fill_tables(warehouse: Warehouse, database: LedgerDatabase) -> None:
    """Copy what the tables of the warehouse lack, in one transaction."""

    def fill(transaction: Transaction) -> int:
        mark = transaction.fetch("SELECT value FROM meta WHERE name = $name", {"name": MARK})
        id_, _, number = (mark.item() if mark.height else "").partition(":")
        after = int(number) if id_ == database.id else -1
        last = after
        for table, import_rows in (("judgments", _import_judgments), ("asks", _import_asks)):
            with _as_warehouse_errors():
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


@contextmanager
def _as_warehouse_errors() -> Iterator[None]:
    """Let a lost server of the ledger repeat the transaction, like one of the warehouse."""
    try:
        yield
    except LedgerUnreachable as error:
        raise WarehouseUnreachable(str(error)) from error


def read_tables(warehouse: Warehouse) -> Iterator[list[dict[str, Any]]]:
    """Yield all judgments of the warehouse, in batches of rows for a new ledger."""
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


def remove_journals(folder: Path) -> None:
    """Remove the folder of journals after its rows were stored."""
    if folder.is_dir():
        shutil.rmtree(folder)


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
    restarted = frame.filter(pl.all_horizontal(pl.col("step", "member", "turn") == 0))
    for (benchmark, evaluator), part in restarted.partition_by(
        "benchmark", "evaluator", as_dict=True
    ).items():
        transaction.execute(
            "DELETE FROM asks WHERE benchmark = $benchmark AND evaluator = $evaluator AND "
            "list_contains($answers, {system: system, question_id: question_id, repeat: repeat})",
            {
                "benchmark": benchmark,
                "evaluator": evaluator,
                "answers": part.select("system", "question_id", "repeat").to_dicts(),
            },
        )
    transaction.replace("asks", frame)
