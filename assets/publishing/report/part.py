"""Benchmarks of the report that are read together: each query is run once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warehouse.queries.benchmarks import MAX_BENCHMARKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from warehouse.publish.snapshot import OpenSnapshot
    from warehouse.queries.samples import Query

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
    _found: dict[tuple[str, str], dict[tuple[object, ...], pl.DataFrame]] = field(
        default_factory=dict
    )

    @property
    def is_shared(self) -> bool:
        """Whether there are several benchmarks."""
        return len(self.benchmarks) > 1

    def fetch(self, benchmark: str, query: Query) -> pl.DataFrame:
        """Return the rows of one benchmark, from a query for all; without `benchmark`."""
        if not self.is_shared:
            return self.copy.fetch(*query).drop("benchmark")
        key = (query.sql, str(query.parameters))
        if key not in self._found:
            found = self.copy.fetch(*query)
            parts = found.partition_by("benchmark", as_dict=True, include_key=False)
            self._found[key] = {(): found.drop("benchmark").clear(), **parts}
        return self._found[key].get((benchmark,), self._found[key][()])


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
