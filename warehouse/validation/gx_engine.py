"""Runs expectations with Great Expectations, in SQL on one open connection to DuckDB."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from warehouse.validation.expectation import Verdict
from warehouse.validation.row_conditions import broken_keys_sql, with_conditions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    import polars as pl

    from warehouse.validation.expectation import Batch, Expectation

VIEW = "validated_rows"
"""The temporary view of the batch that is being validated."""

MAX_ROWS = 100
"""The most rows that a verdict quotes of those that break an expectation."""

MAX_TEXT = 500
"""The most characters that are quoted of a text in such a row."""

ROW_KINDS = tuple(
    f"expect_{about}"
    for about in ("column_values", "column_value_lengths", "column_pair", "compound_columns")
)
"""How the names of expectations about single rows begin."""


class Session:
    """Great Expectations on one connection to DuckDB.

    The library does not support DuckDB: its SQL engine closes the connection before it has read
    the result. The engine here keeps the connection open.
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
        wrapped = _connection_class()(connection)
        url = "duckdb:///:memory:"
        self._engine = sqlalchemy.create_engine(url, creator=lambda: wrapped, poolclass=pool)

    def validate(self, batch: Batch) -> list[Verdict]:
        """Return the verdict on each expectation of a batch, in their order.

        The first pass tells which expectations hold, with one query for all of those about rows.
        A second pass finds the rows that break the others.
        """
        about_rows = [each for each in batch.expectations if _is_about_rows(each)]
        others = [each for each in batch.expectations if not _is_about_rows(each)]
        with self._view(batch):
            verdicts = self._run(batch, about_rows, {"result_format": "BOOLEAN_ONLY"})
            verdicts |= self._run(batch, others, {"result_format": "BASIC"})
            failed = [each for each in batch.expectations if not verdicts[each.name].success]
            exact = {
                "result_format": "SUMMARY",
                "partial_unexpected_count": MAX_ROWS,
                "unexpected_index_column_names": list(batch.key),
            }
            verdicts |= self._run(batch, failed, exact)
        return [verdicts[each.name] for each in batch.expectations]

    @contextmanager
    def _view(self, batch: Batch) -> Iterator[None]:
        broken_keys = broken_keys_sql(batch)
        for table, rows in broken_keys.items():
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {rows}")
        # A view, because Great Expectations takes a colon in a query for a parameter.
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW {VIEW} AS {with_conditions(batch)}")
        try:
            yield
        finally:
            self._connection.execute(f"DROP VIEW {VIEW}")
            for table in broken_keys:
                self._connection.execute(f"DROP TABLE {table}")

    def _run(
        self, batch: Batch, expectations: Sequence[Expectation], result_format: dict[str, Any]
    ) -> dict[str, Verdict]:
        """Return verdicts by the names of the expectations."""
        if not expectations:
            return {}
        from great_expectations.core.batch import Batch as GxBatch
        from great_expectations.core.batch import BatchMarkers
        from great_expectations.execution_engine.sqlalchemy_batch_data import SqlAlchemyBatchData
        from great_expectations.validator.validator import Validator

        # A new engine for each batch: an engine reuses the metrics of one batch for the next.
        engine = _engine_class()(engine=self._engine)
        # A table name, not a query: to learn the columns of a query, the library executes it.
        data = SqlAlchemyBatchData(execution_engine=engine, table_name=VIEW)
        rows = GxBatch(data=data, batch_markers=BatchMarkers({"ge_load_time": "now"}))
        # No suite: it would keep only one of several expectations about the same columns.
        results = Validator(
            execution_engine=engine, batches=[rows], data_context=self._context
        ).graph_validate(
            configurations=[build(each).configuration for each in expectations],
            runtime_configuration={"result_format": result_format, "catch_exceptions": True},
        )
        by_name = {each.expectation_config.meta["name"]: each for each in results}
        return {
            each.name: self._verdict(
                batch,
                each,
                by_name[each.name],
                with_rows=result_format["result_format"] == "SUMMARY",
            )
            for each in expectations
        }

    def _verdict(
        self, batch: Batch, expectation: Expectation, result: Any, *, with_rows: bool
    ) -> Verdict:
        details: Mapping[str, Any] = result.result
        verdict = Verdict(
            table=batch.table,
            expectation=batch.prefix + expectation.name,
            severity=expectation.severity,
            success=bool(result.success),
        )
        error = _error_message(result.exception_info)
        if error is not None:
            return replace(verdict, success=False, observed=f"an error: {error}")
        if not details:
            unexpected = None if "mostly" in expectation.kwargs else 0
            return replace(verdict, unexpected=unexpected)
        unexpected = details.get("unexpected_count")
        if expectation.condition:
            broken = (
                f"SELECT * EXCLUDE ({', '.join(self._condition_columns())}) FROM {VIEW} "  # noqa: S608
                f"WHERE {expectation.kwargs['column']}"
            )
            return replace(verdict, unexpected=unexpected, rows=self._fetch_rows(broken))
        query = expectation.kwargs.get("unexpected_rows_query")
        if query is not None:
            broken = str(query).replace("{batch}", f"(FROM {VIEW})")
            rows = self._fetch_rows(broken) if with_rows else ()
            return replace(verdict, unexpected=details.get("observed_value"), rows=rows)
        observed = str(details["observed_value"]) if "observed_value" in details else None
        keys = (details.get("partial_unexpected_index_list") or []) if with_rows else []
        rows = tuple(_without_nulls(row) for row in keys[:MAX_ROWS])
        return replace(verdict, observed=observed, unexpected=unexpected, rows=rows)

    def _condition_columns(self) -> list[str]:
        columns = self._connection.execute(f"DESCRIBE {VIEW}").fetchall()
        return [name for name, *_ in columns if name.startswith("breaks_")]

    def _fetch_rows(self, query: str) -> tuple[dict[str, Any], ...]:
        limited = f"SELECT * FROM ({query}) LIMIT {MAX_ROWS}"  # noqa: S608
        rows: pl.DataFrame = self._connection.sql(limited).pl()
        return tuple(_without_nulls(row) for row in rows.iter_rows(named=True))


def _is_about_rows(expectation: Expectation) -> bool:
    kind = expectation.kind
    return kind == "unexpected_rows_expectation" or kind.startswith(ROW_KINDS)


def build(expectation: Expectation) -> Any:
    """Build an expectation as an object of Great Expectations.

    Raises:
        ValueError: Its arguments do not fit together; the message is the library's.
    """
    import great_expectations.expectations as gxe

    classes = {each.__name__.lower(): each for each in vars(gxe).values() if isinstance(each, type)}
    kind = classes[expectation.kind.replace("_", "")]
    return kind(**expectation.kwargs, meta={"name": expectation.name})


@cache
def _engine_class() -> type[Any]:
    from great_expectations.execution_engine import SqlAlchemyExecutionEngine

    class DuckDBExecutionEngine(SqlAlchemyExecutionEngine):  # type: ignore[misc] # untyped here
        """The SQL engine, with a connection that stays open after a result is read."""

        _open_connection: Any = None

        @contextmanager
        def get_connection(self) -> Iterator[Any]:
            if self._open_connection is None:
                self._open_connection = self.engine.connect()
            yield self._open_connection

    return DuckDBExecutionEngine


@cache
def _connection_class() -> type[Any]:
    from duckdb_engine import ConnectionWrapper

    class OpenConnection(ConnectionWrapper):  # type: ignore[misc] # untyped
        """A connection that its user cannot close, and that ignores transactions.

        Without transactions an expectation that fails cannot affect those after it.
        """

        def close(self) -> None:
            pass

        begin = commit = rollback = close

    return OpenConnection


def _error_message(info: Mapping[str, Any]) -> str | None:
    """Return what an expectation raised; the library may file it under the name of a metric."""
    for each in (info, *(value for value in info.values() if isinstance(value, dict))):
        if each.get("raised_exception"):
            return str(each.get("exception_message")).strip().splitlines()[0]
    return None


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _shorten(value) for name, value in row.items() if value is not None}


def _shorten(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."
