"""Great Expectations over DuckDB: everything is asked in SQL, on one connection that stays open."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from warehouse.validation.row_conditions import found_beforehand, with_conditions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    import polars as pl

    from warehouse.validation.expectation import Batch, Expectation

ROWS = 100
"""The rows that are shown of those that break an expectation."""

LONGEST = 500
"""The characters that are shown of a text in such a row."""

Found = dict[str, Any]
"""What came of an expectation: success, observed, unexpected, rows; JSON can hold it."""


class Session:
    """Great Expectations on one connection to DuckDB.

    The library knows no DuckDB: its engine for SQL closes the connection before it has read the
    result. Here it keeps it.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        import great_expectations as gx
        import sqlalchemy
        from great_expectations.data_context.types.base import ProgressBarsConfig

        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)
        self._connection = connection
        self._context = gx.get_context(mode="ephemeral")
        self._context.enable_analytics(False)
        self._context.variables.progress_bars = ProgressBarsConfig(
            globally=False, metric_calculations=False
        )
        pool = sqlalchemy.pool.StaticPool
        wrapped = _wrapper()(connection)
        url = "duckdb:///:memory:"
        self._engine = sqlalchemy.create_engine(url, creator=lambda: wrapped, poolclass=pool)

    def validate(self, batch: Batch) -> list[Found]:
        """What comes of each expectation of a batch, in their order."""
        each = list(batch.expectations)
        with self._view(batch) as view:
            found: dict[int, Found] = {}
            for chosen, form in (
                # Whether all rows hold is told by one query; a number is told by its own.
                ([at for at, one in enumerate(each) if _by_row(one)], "BOOLEAN_ONLY"),
                ([at for at, one in enumerate(each) if not _by_row(one)], "BASIC"),
            ):
                told = self._validated(view, [each[at] for at in chosen], {"result_format": form})
                found |= dict(zip(chosen, told, strict=True))
            failed = [at for at in sorted(found) if not found[at]["success"]]
            exact = {
                "result_format": "SUMMARY",
                "partial_unexpected_count": ROWS,
                "unexpected_index_column_names": list(batch.key),
            }
            told = self._validated(view, [each[at] for at in failed], exact)
            found |= dict(zip(failed, told, strict=True))
            return [found[at] for at in range(len(each))]

    @contextmanager
    def _view(self, batch: Batch) -> Iterator[str]:
        found = found_beforehand(batch)
        for table, rows in found.items():
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {rows}")
        # The rows as a view: Great Expectations would take a colon in a query for a parameter.
        sql = with_conditions(batch)
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW expected_of AS {sql}")
        try:
            yield "expected_of"
        finally:
            self._connection.execute("DROP VIEW expected_of")
            for table in found:
                self._connection.execute(f"DROP TABLE {table}")

    def _validated(
        self, view: str, expectations: Sequence[Expectation], result_format: dict[str, Any]
    ) -> list[Found]:
        if not expectations:
            return []
        from great_expectations.core.batch import Batch as Rows
        from great_expectations.core.batch import BatchMarkers
        from great_expectations.execution_engine.sqlalchemy_batch_data import SqlAlchemyBatchData
        from great_expectations.validator.validator import Validator

        # One for each batch: an engine takes the numbers of one batch for those of the next.
        engine = _engine_class()(engine=self._engine)
        # By its name and not as a query: the columns of a query are found out by executing it.
        data = SqlAlchemyBatchData(execution_engine=engine, table_name=view)
        rows = Rows(data=data, batch_markers=BatchMarkers({"ge_load_time": "now"}))
        made = [built(each.kind, each.kwargs, at) for at, each in enumerate(expectations)]
        # Not as a suite: that would keep one of several expectations about the same columns.
        results = Validator(
            execution_engine=engine, batches=[rows], data_context=self._context
        ).graph_validate(
            configurations=[each.configuration for each in made],
            runtime_configuration={"result_format": result_format, "catch_exceptions": True},
        )
        by_place = {each.expectation_config.meta["place"]: each for each in results}
        wants_rows = "unexpected_index_column_names" in result_format
        return [
            self._found(expectation, by_place[at], view, wants_rows=wants_rows)
            for at, expectation in enumerate(expectations)
        ]

    def _found(
        self, expectation: Expectation, result: Any, view: str, *, wants_rows: bool
    ) -> Found:
        told: Mapping[str, Any] = result.result
        raised = _raised(result.exception_info)
        if raised is not None:
            return {"success": False, "observed": f"an error: {raised}"}
        found: Found = {"success": bool(result.success)}
        if not told:
            return found | ({} if "mostly" in expectation.kwargs else {"unexpected": 0})
        if expectation.condition:
            found["unexpected"] = told.get("unexpected_count")
            columns = f"* EXCLUDE ({', '.join(self._made(view))})"
            broken = f"SELECT {columns} FROM {view} WHERE {expectation.kwargs['column']}"  # noqa: S608
            found["rows"] = self._broken(broken)
            return found
        query = expectation.kwargs.get("unexpected_rows_query")
        if query is not None:
            found["unexpected"] = told.get("observed_value")
            if wants_rows:
                found["rows"] = self._broken(str(query).replace("{batch}", f"(FROM {view})"))
            return found
        if "observed_value" in told:
            found["observed"] = str(told["observed_value"])
        found["unexpected"] = told.get("unexpected_count")
        if wants_rows:
            rows = told.get("partial_unexpected_index_list") or []
            found["rows"] = [_plain(row) for row in rows[:ROWS]]
        return found

    def _made(self, view: str) -> list[str]:
        described = self._connection.execute(f"DESCRIBE {view}").fetchall()
        return [name for name, *_ in described if name.startswith("breaks_")]

    def _broken(self, query: str) -> list[dict[str, Any]]:
        rows: pl.DataFrame = self._connection.sql(f"SELECT * FROM ({query}) LIMIT {ROWS}").pl()  # noqa: S608
        return [_plain(row) for row in rows.iter_rows(named=True)]


def _by_row(expectation: Expectation) -> bool:
    """Whether it is about rows one by one, so that those which break it are looked for later."""
    about = ("column_values", "column_value_lengths", "column_pair", "compound_columns")
    kind = expectation.kind
    return kind == "unexpected_rows_expectation" or kind.startswith(
        tuple(f"expect_{each}" for each in about)
    )


def built(kind: str, kwargs: Mapping[str, Any], place: int = 0) -> Any:
    """An expectation as Great Expectations has it.

    Raises:
        ValueError: Its arguments do not fit together; the library's words.
    """
    import great_expectations.expectations as gxe

    named = {each.__name__.lower(): each for each in vars(gxe).values() if isinstance(each, type)}
    return named[kind.replace("_", "")](**kwargs, meta={"place": place})


@cache
def _engine_class() -> type[Any]:
    from great_expectations.execution_engine import SqlAlchemyExecutionEngine

    class DuckDBExecutionEngine(SqlAlchemyExecutionEngine):  # type: ignore[misc] # untyped here
        """The engine for SQL, with a connection that outlives the reading of a result."""

        _held: Any = None

        @contextmanager
        def get_connection(self) -> Iterator[Any]:
            if self._held is None:
                self._held = self.engine.connect()
            yield self._held

    return DuckDBExecutionEngine


@cache
def _wrapper() -> type[Any]:
    from duckdb_engine import ConnectionWrapper

    class Kept(ConnectionWrapper):  # type: ignore[misc] # untyped
        """A connection that is closed by whoever opened it, and on which nothing is changed.

        Without transactions an expectation that fails cannot spoil those that follow it.
        """

        def close(self) -> None:
            pass

        begin = commit = rollback = close

    return Kept


def _raised(info: Mapping[str, Any]) -> str | None:
    """The message of what an expectation raised; it may stand under the name of a metric."""
    for each in (info, *(value for value in info.values() if isinstance(value, dict))):
        if each.get("raised_exception"):
            return str(each.get("exception_message")).strip().splitlines()[0]
    return None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short(value) for name, value in row.items() if value is not None}


def _short(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
