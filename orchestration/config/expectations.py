"""What users expect of the tables of a benchmark: names, arguments and columns that exist."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from assets.checks.score_expectations import columns_of_scores
from evaluators.errors import nearest
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Expectation
from warehouse.validation.supported import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from orchestration.config.evaluators import Complaint, Place
    from orchestration.config.schema import BenchmarkKeys, ExpectationKeys

TABLES = ("questions", "documents", "predictions", "leaderboard", "system_scores")


class Expected:
    """Turns the keys of expectations into expectations; tells of what does not fit together."""

    def __init__(self, complaint: Complaint) -> None:
        self._complaint = complaint

    def of(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], where: Place
    ) -> Mapping[str, tuple[Expectation, ...]]:
        """The expectations of a benchmark by table.

        Args:
            keys: The benchmark's keys.
            evaluators: Its evaluators; none when something is wrong with them already.
            where: The benchmark's place in the file.
        """
        columns = {name: table_named(name).column_names for name in TABLES}
        columns |= {f"scores/{each.name}": columns_of_scores(each) for each in evaluators}
        found = {}
        for table, wanted in keys.expectations.items():
            place = (*where, "expectations", table)
            if table not in columns:
                if evaluators or not table.startswith("scores/"):
                    self._complaint(
                        f"expectations of {table!r}, of which there can be none"
                        f"{nearest(table, columns)}: expected one of {', '.join(columns)}",
                        *place,
                    )
                continue
            found[table] = self._of_table(wanted, columns[table], place)
        return MappingProxyType(found)

    def _of_table(
        self, wanted: Sequence[ExpectationKeys], columns: Sequence[str], place: Place
    ) -> tuple[Expectation, ...]:
        made: dict[str, Expectation] = {}
        for at, keys in enumerate(wanted):
            kind = KINDS.get(keys.name)
            if kind is None:
                self._complaint(
                    f"unknown expectation {keys.name!r}{nearest(keys.name, KINDS)}: "
                    f"expected one of {', '.join(KINDS)}",
                    *(*place, at, "name"),
                )
                continue
            self._check_arguments(keys, kind, columns, (*place, at))
            expectation = Expectation(
                kind=keys.name, kwargs=keys.kwargs, severity=keys.severity, meaning=keys.meaning
            )
            if expectation.name in made:
                self._complaint(f"{expectation.name!r} is expected twice", *place, at)
            made[expectation.name] = expectation
        return tuple(made.values())

    def _check_arguments(
        self, keys: ExpectationKeys, kind: Kind, columns: Sequence[str], place: Place
    ) -> None:
        for name in keys.kwargs:
            if name not in kind.arguments:
                self._complaint(
                    f"unknown argument {name!r} of {keys.name}{nearest(name, kind.arguments)}: "
                    f"expected one of {', '.join(kind.arguments) or 'none'}",
                    *(*place, "kwargs", name),
                )
        for name in kind.required:
            if name not in keys.kwargs:
                self._complaint(f"the argument {name!r} of {keys.name} is missing", *place)
        for name in kind.columns:
            given = keys.kwargs.get(name, [])
            for column in given if isinstance(given, list) else [given]:
                if column not in columns:
                    self._complaint(
                        f"there is no column {column!r}{nearest(str(column), columns)}: "
                        f"expected one of {', '.join(columns)}",
                        *(*place, "kwargs", name),
                    )
        query = keys.kwargs.get("unexpected_rows_query")
        if query is not None and "{batch}" not in str(query):
            self._complaint(
                "the query must say `{batch}` where the rows of the table are meant",
                *(*place, "kwargs", "unexpected_rows_query"),
            )
