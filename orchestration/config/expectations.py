"""Build the expectations of a benchmark; check their names, arguments and columns."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from assets.checks.score_expectations import score_columns
from orchestration.config.error_messages import describe_unknown
from records.similar_names import did_you_mean
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Expectation
from warehouse.validation.supported import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from orchestration.config.evaluators import ReportFault, YamlPath
    from orchestration.config.schema import BenchmarkKeys, ExpectationKeys

TABLES = ("questions", "documents", "predictions", "leaderboard", "system_scores")


class ExpectationBuilder:
    """Builds expectations from their keys; reports unknown names, arguments and columns."""

    def __init__(self, report: ReportFault) -> None:
        self._report = report

    def build(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], path: YamlPath
    ) -> Mapping[str, tuple[Expectation, ...]]:
        """Build the expectations of a benchmark by table.

        Args:
            keys: The benchmark's keys.
            evaluators: Its evaluators; none when there is a fault in one of them.
            path: The YAML path of the benchmark.
        """
        columns = {name: table_named(name).column_names for name in TABLES}
        columns |= {f"scores/{each.name}": score_columns(each) for each in evaluators}
        expectations = {}
        for table, wanted in keys.expectations.items():
            table_path = (*path, "expectations", table)
            if table not in columns:
                if evaluators or not table.startswith("scores/"):
                    self._report(
                        f"no expectations are possible for {table!r}"
                        f"{did_you_mean(table, columns)}: expected one of {', '.join(columns)}",
                        *table_path,
                    )
                continue
            expectations[table] = self._of_table(wanted, columns[table], table_path)
        return MappingProxyType(expectations)

    def _of_table(
        self, wanted: Sequence[ExpectationKeys], columns: Sequence[str], path: YamlPath
    ) -> tuple[Expectation, ...]:
        built: dict[str, Expectation] = {}
        for at, keys in enumerate(wanted):
            kind = KINDS.get(keys.name)
            if kind is None:
                message = describe_unknown(f"expectation {keys.name!r}", keys.name, KINDS)
                self._report(message, *path, at, "name")
                continue
            self._check_arguments(keys, kind, columns, (*path, at))
            expectation = Expectation(
                kind=keys.name, kwargs=keys.kwargs, severity=keys.severity, meaning=keys.meaning
            )
            if expectation.name in built:
                self._report(f"{expectation.name!r} is given twice", *path, at)
            built[expectation.name] = expectation
        return tuple(built.values())

    def _check_arguments(
        self, keys: ExpectationKeys, kind: Kind, columns: Sequence[str], path: YamlPath
    ) -> None:
        for name in keys.kwargs:
            if name not in kind.arguments:
                what = f"argument {name!r} of {keys.name}"
                message = describe_unknown(what, name, kind.arguments)
                self._report(message, *path, "kwargs", name)
        for name in kind.required:
            if name not in keys.kwargs:
                self._report(f"the argument {name!r} of {keys.name} is missing", *path)
        for name in kind.columns:
            given = keys.kwargs.get(name, [])
            for column in given if isinstance(given, list) else [given]:
                if column not in columns:
                    self._report(
                        f"there is no column {column!r}{did_you_mean(str(column), columns)}: "
                        f"expected one of {', '.join(columns)}",
                        *(*path, "kwargs", name),
                    )
        query = keys.kwargs.get("unexpected_rows_query")
        if query is not None and "{batch}" not in str(query):
            self._report(
                "the query must contain `{batch}`, which stands for the rows of the table",
                *(*path, "kwargs", "unexpected_rows_query"),
            )
