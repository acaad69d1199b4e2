"""Streams the result of a query on the published copy, within limits of time and memory."""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import duckdb

from warehouse.errors import InvalidQuery, QueryOutOfMemory, QueryTimeout
from warehouse.storage.connect import require_select
from warehouse.storage.connection import connect_file
from warehouse.storage.migrate import require_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warehouse.publish.snapshot import Snapshot

T = TypeVar("T")

SIGNED: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMERIC: Final = frozenset({*SIGNED, *(f"U{each}" for each in SIGNED), "BIGNUM", "DOUBLE", "FLOAT"})

BATCH_ROWS: Final = 2_048
"""The rows in memory at a time: one vector of DuckDB."""


@dataclass(frozen=True, slots=True)
class RowStream:
    """The rows of a result, which DuckDB computes as they are read.

    Attributes:
        columns: The names of the columns; a repeated name gets a number.
        numeric: Whether each column holds numbers.
        batches: The rows in batches.
    """

    columns: list[str]
    numeric: list[bool]
    batches: Iterator[list[tuple[Any, ...]]]


@contextmanager
def stream_query(copy: Snapshot, sql: str, timeout_s: float = math.inf) -> Iterator[RowStream]:
    """Run a query that cannot change this or any other file.

    Args:
        copy: The published copy, with the limit of memory.
        sql: A SELECT.
        timeout_s: The seconds that DuckDB may compute; the time between two batches, in which the
            caller writes, does not count.

    Raises:
        InvalidQuery: DuckDB rejects the query; the error has its message.
        QueryTimeout: The query takes longer.
        QueryOutOfMemory: The query needs more memory.
        WarehouseError: The copy cannot be read.
    """
    with connect_file(copy.path, read_only=True, settings=copy.settings) as connection:
        require_version(connection, copy.path)
        limited = _Limited(connection, timeout_s)
        limited.run(lambda: require_select(connection, sql))
        limited.run(lambda: connection.execute(sql))
        described = connection.description or []
        yield RowStream(
            columns=_distinct([str(name) for name, *_ in described]),
            numeric=[_is_numeric(str(type_)) for _, type_, *_ in described],
            batches=limited.batches(),
        )


class _Limited:
    """Runs the calls of a connection within a limit of their total time."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._left_s = timeout_s

    def batches(self) -> Iterator[list[tuple[Any, ...]]]:
        while rows := self.run(lambda: self._connection.fetchmany(BATCH_ROWS)):
            yield rows

    def run(self, call: Callable[[], T]) -> T:
        timer = None
        if math.isfinite(self._left_s):
            timer = threading.Timer(max(0.0, self._left_s), self._connection.interrupt)
            timer.daemon = True
            timer.start()
        began = time.monotonic()
        try:
            return call()
        except duckdb.InterruptException as error:
            raise QueryTimeout(f"the query took longer than {self._timeout_s:g} s") from error
        except duckdb.OutOfMemoryException as error:
            raise QueryOutOfMemory(
                f"the query needs more memory than its limit: {error}"
            ) from error
        except duckdb.Error as error:
            raise InvalidQuery(str(error)) from error
        finally:
            if timer is not None:
                timer.cancel()
            self._left_s -= time.monotonic() - began


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with a number after each repeated one: `n`, `n_1`."""
    distinct: dict[str, None] = {}
    for name in names:
        candidates = (f"{name}_{i}" if i else name for i in range(len(names) + 1))
        distinct[next(each for each in candidates if each not in distinct)] = None
    return list(distinct)


def _is_numeric(type_: str) -> bool:
    return type_ in NUMERIC or (type_.startswith("DECIMAL(") and type_.endswith(")"))
