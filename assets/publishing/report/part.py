"""Benchmarks of the report that are read together: each query is run once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warehouse.queries.benchmarks import MAX_BENCHMARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import polars as pl

    from warehouse.publish.snapshot import OpenSnapshot
    from warehouse.queries.samples import Query

    Prepare: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
    _Key: TypeAlias = tuple[str, str, str]

MAX_ANSWERS = 10_000
"""The answers of a part with several benchmarks, which bounds its memory."""


@dataclass(frozen=True)
class ReportPart:
    """Benchmarks of a published copy that are read together: each query is run once for all.

    Attributes:
        copy: The published copy.
        benchmarks: One benchmark, or several with at most `MAX_ANSWERS` answers together.
    """

    copy: OpenSnapshot
    benchmarks: Sequence[str]
    _found: dict[_Key, dict[tuple[object, ...], pl.DataFrame]] = field(default_factory=dict)
    _prepared: dict[_Key, pl.DataFrame] = field(default_factory=dict)

    @property
    def is_shared(self) -> bool:
        """Whether there are several benchmarks."""
        return len(self.benchmarks) > 1

    def fetch(self, benchmark: str, query: Query, prepare: Prepare | None = None) -> pl.DataFrame:
        """Return the rows of one benchmark, from a query for all; without `benchmark`.

        Args:
            benchmark: The benchmark.
            query: The query.
            prepare: Changes the rows of all benchmarks, which is faster than those of each.
        """
        if not self.is_shared:
            return self._fetch(query, prepare).drop("benchmark")
        key = _key(query, prepare)
        if key not in self._found:
            found = self._fetch(query, prepare)
            parts = found.partition_by("benchmark", as_dict=True, include_key=False)
            self._found[key] = {(): found.drop("benchmark").clear(), **parts}
        return self._found[key].get((benchmark,), self._found[key][()])

    def fetch_all(self, query: Query, prepare: Prepare) -> pl.DataFrame:
        """Return the rows of all benchmarks, which are read and prepared once."""
        key = _key(query, prepare)
        if key not in self._prepared:
            self._prepared[key] = self._fetch(query, prepare)
        return self._prepared[key]

    def _fetch(self, query: Query, prepare: Prepare | None) -> pl.DataFrame:
        found = self.copy.fetch(*query)
        return found if prepare is None else prepare(found)


def _key(query: Query, prepare: Prepare | None) -> _Key:
    return query.sql, str(query.parameters), getattr(prepare, "__qualname__", "")


def split_parts(snapshot: OpenSnapshot, answers: Mapping[str, int]) -> Iterator[ReportPart]:
    """Yield benchmarks in parts, given the number of answers of each."""
    names: list[str] = []
    total = 0
    for name, count in answers.items():
        if names and (total + count > MAX_ANSWERS or len(names) == MAX_BENCHMARKS):
            yield ReportPart(snapshot, names)
            names, total = [], 0
        names.append(name)
        total += count
    if names:
        yield ReportPart(snapshot, names)
