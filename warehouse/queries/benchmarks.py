"""Queries for several benchmarks at once, and the parts of a run that bound their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from warehouse.schema.quoting import literal
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from warehouse.storage.connect import Parameters

MAX_SAMPLES = 100_000
"""The samples in a part of a run, unless a single benchmark has more."""

MAX_BENCHMARKS = 200
"""The benchmarks in a part of a run: after a failure, all of the part are computed again."""


class Source(Protocol):
    """A warehouse, a transaction or the published copy."""

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a query."""


class Part(NamedTuple):
    """Benchmarks that are read and written together, and the number of their samples."""

    names: list[str]
    samples: int

    @property
    def is_small(self) -> bool:
        """Whether the part may hold several benchmarks."""
        return self.samples <= MAX_SAMPLES


def names_in(benchmarks: Iterable[str]) -> str:
    """Return benchmarks as the list of an `IN`; DuckDB skips row groups only for constants."""
    return ", ".join(map(literal, benchmarks)) or "NULL"


def fill_in(statement: str, benchmarks: Iterable[str]) -> str:
    """Return a statement with its `{labels}` and `{benchmarks}` filled in."""
    with_labels = statement.replace("{labels}", sql("labels"))
    return with_labels.replace("{benchmarks}", names_in(benchmarks))


def split_benchmarks(source: Source, benchmarks: Sequence[str]) -> Iterator[Part]:
    """Yield the benchmarks in parts of bounded size."""
    found = source.fetch(
        "SELECT benchmark, count(*) FROM predictions "  # noqa: S608
        f"WHERE benchmark IN ({names_in(benchmarks)}) GROUP BY benchmark"
    )
    sizes: dict[str, int] = dict(found.iter_rows())
    part: list[str] = []
    samples = 0
    for name in benchmarks:
        size = sizes.get(name, 0)
        if part and (samples + size > MAX_SAMPLES or len(part) == MAX_BENCHMARKS):
            yield Part(part, samples)
            part, samples = [], 0
        part.append(name)
        samples += size
    if part:
        yield Part(part, samples)


class AnswerCount(NamedTuple):
    """How many answers the questions of a benchmark have.

    Attributes:
        most: The largest number.
        least: The smallest one, of systems with several answers to any question.
    """

    most: int
    least: int


def answers_per_question(source: Source, benchmarks: Iterable[str]) -> dict[str, AnswerCount]:
    """Return the numbers of answers to a question, for benchmarks with more than one."""
    found = source.fetch(
        "SELECT benchmark, 1 + max(repeat) FROM predictions "  # noqa: S608
        f"WHERE benchmark IN ({names_in(benchmarks)}) AND repeat > 0 GROUP BY benchmark"
    )
    most: dict[str, int] = dict(found.iter_rows())
    if not most:
        return {}
    found = source.fetch(
        "SELECT benchmark, min(least) FROM ("  # noqa: S608
        "SELECT benchmark, system, min(n) AS least, max(n) AS most FROM ("
        "SELECT benchmark, system, question_id, count(*) AS n FROM predictions "
        f"WHERE benchmark IN ({names_in(most)}) AND not_asked IS NULL GROUP BY ALL) "
        "GROUP BY benchmark, system) WHERE most > 1 GROUP BY benchmark"
    )
    least: dict[str, int] = dict(found.iter_rows())
    return {name: AnswerCount(count, least.get(name, 1)) for name, count in most.items()}
