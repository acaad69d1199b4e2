"""Checks tables in SQL: columns, keys, complete grids of scores, and counts that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from warehouse.errors import DuplicateKey
from warehouse.queries.benchmarks import names_in
from warehouse.schema.ddl import check
from warehouse.schema.quoting import quoted
from warehouse.storage.transaction import Transaction, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb
    import polars as pl

    from warehouse.store import Warehouse

MAX_FAULTS = 5
"""The most faults that are listed; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The rows of `grades` that an evaluator must have on a benchmark.

    `bounds` holds those of each metric, possibly infinite, in the order of the lists in `grades`.
    `with_values` says whether to check values too: their bounds and their statuses.
    """

    benchmark: str
    evaluator: str
    signature: str
    bounds: Mapping[str, tuple[float, float]]
    with_values: bool = True

    @property
    def query(self) -> object:
        """What grids share that differ in the benchmark and the bounds only."""
        return self.evaluator, self.signature, len(self.bounds), self.with_values


def check_tables(
    warehouse: Warehouse, tables: Sequence[str], benchmarks: Sequence[str]
) -> list[str]:
    """Check the columns of tables, and the keys of benchmarks.

    Returns:
        One sentence per fault.
    """
    with warehouse.reading() as connection:
        faults = check(connection, tables)
        if faults:
            # The check of keys needs the columns.
            return faults
        for table in tables:
            try:
                Transaction(connection, warehouse.path.parent).require_unique(
                    table, {"benchmark": list(benchmarks)}
                )
            except DuplicateKey as error:
                faults.append(str(error))
    return faults


def check_grids(
    warehouse: Warehouse, grids: Sequence[Grid], systems: Sequence[str] = ()
) -> list[list[str]]:
    """Check grids for rows that are missing, left over, malformed or out of bounds.

    A grid is complete if its samples are exactly the predictions of the benchmark, for some systems
    or (empty) all. The check compares counts and combined hashes per system; a join takes a hundred
    times as long.

    Returns:
        For each grid, one sentence per fault.
    """
    with warehouse.reading() as connection:
        samples = _count_samples(connection, {grid.benchmark for grid in grids}, systems)
        alike: dict[object, list[Grid]] = {}
        for grid in grids:
            alike.setdefault(grid.query, []).append(grid)
        graded = {query: _count_grades(connection, alike[query], systems) for query in alike}
    return [
        _find_faults(
            grid,
            samples.get(grid.benchmark, {}),
            graded[grid.query].get(grid.benchmark, {}),
        )
        for grid in grids
    ]


def check_counts(
    warehouse: Warehouse, benchmarks: Sequence[str], systems: Sequence[str] = ()
) -> list[str]:
    """Check that each row of the leaderboard counts every score exactly once.

    `n_target_error` counts failures of the system with and without a value. Those without one are
    in no other column. The slice `all` must count every question that the evaluator has scored, or
    every answer for a metric of the whole system. Without systems, all are checked. Whether every
    prediction has a score is up to `check_grids`, for the evaluators of a run: the others may have
    scores of earlier predictions.

    Returns:
        One sentence per fault.
    """
    sql = f"""
WITH samples AS (
    SELECT
        benchmark, system, evaluator, signature,
        count(*) AS samples, sum(coalesce(n_answers, 1)) AS answers
    FROM grades
    WHERE list_contains($benchmarks, benchmark) AND {_ONLY} GROUP BY ALL
),
counted AS (
    SELECT
        *,
        n - n_scored - n_not_applicable - n_undefined - n_parse_failure - n_judge_error AS lost
    FROM leaderboard WHERE list_contains($benchmarks, benchmark)
)
SELECT
    benchmark, slice, system, evaluator || '.' || metric, n, lost, n_target_error,
    CASE WHEN slice = 'all' AND n NOT IN (samples, answers) THEN samples END AS expected
FROM counted LEFT JOIN samples USING (benchmark, system, evaluator, signature)
WHERE lost NOT BETWEEN 0 AND n_target_error
   OR n_target_error > lost + n_scored
   OR (slice = 'all' AND n NOT IN (samples, answers))
ORDER BY ALL
"""  # noqa: S608
    parameters = {"benchmarks": list(benchmarks), "systems": list(systems)}
    faults = []
    for benchmark, slice_, system, metric, n, lost, failed, expected in warehouse.fetch(
        sql, parameters
    ).iter_rows():
        row = f"{metric} of {system!r} on {slice_!r} of {benchmark!r}"
        if expected is not None:
            faults.append(f"{row} counts {n:,} samples, expected {expected:,}")
        else:
            faults.append(
                f"{row} has {n:,} samples, but statuses for {n - lost:,} and {failed:,} failures"
            )
    return _shorten(faults)


_ONLY = "(len($systems) = 0 OR list_contains($systems, system))"


_BySystem: TypeAlias = "Mapping[str, tuple[Any, ...]]"


def _count_samples(
    connection: duckdb.DuckDBPyConnection, benchmarks: Iterable[str], systems: Sequence[str]
) -> Mapping[str, _BySystem]:
    """Return questions, a digest of their ids, and answers, by benchmark and system."""
    rows = fetch_frame(
        connection,
        "SELECT benchmark, system, count(*) FILTER (repeat = 0), "  # noqa: S608
        "bit_xor(hash(question_id)) FILTER (repeat = 0), count(*) FROM predictions "
        f"WHERE benchmark IN ({names_in(benchmarks)}) AND {_ONLY} GROUP BY benchmark, system",
        {"systems": list(systems)},
    )
    return _by_system(rows)


def _count_grades(
    connection: duckdb.DuckDBPyConnection, grids: Sequence[Grid], systems: Sequence[str]
) -> Mapping[str, _BySystem]:
    """Return what is measured of the rows of grids that differ in the benchmark only.

    Returns:
        By benchmark and system: the number of rows, their combined hash, the number of answers
        (null for one to each question), the number of malformed rows, and for each metric what
        `_metric_sql` measures.
    """
    grid = grids[0]
    n_metrics = len(grid.bounds)
    positions = range(1, n_metrics + 1) if grid.with_values else ()
    columns = "".join(f", {_metric_sql(position)}" for position in positions)
    rows = fetch_frame(
        connection,
        f"""
SELECT benchmark, system, count(*), bit_xor(hash(question_id)), sum(n_answers),
    count(*) FILTER (
        len("values") < {n_metrics}
        OR (n_answers IS NULL AND len("values") <> {n_metrics})
        OR len(statuses) <> len("values")
    ){columns}
FROM grades
WHERE benchmark IN ({names_in(each.benchmark for each in grids)})
    AND evaluator = $evaluator AND signature = $signature AND {_ONLY}
GROUP BY benchmark, system
""",  # noqa: S608
        {"evaluator": grid.evaluator, "signature": grid.signature, "systems": list(systems)},
    )
    return _by_system(rows)


def _by_system(rows: pl.DataFrame) -> Mapping[str, _BySystem]:
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for benchmark, system, *measured in rows.iter_rows():
        found.setdefault(benchmark, {})[system] = tuple(measured)
    return found


def _find_faults(grid: Grid, samples: _BySystem, graded: _BySystem) -> list[str]:
    n_metrics = len(grid.bounds)
    faults = []
    for system in sorted({*samples, *graded}):
        expected, expected_hash, answers = samples.get(system, (0, 0, 0))
        found, found_hash, combined, malformed, *measured = graded.get(system, (0, 0, None, 0))
        name = f"system {system!r}"
        if found != expected:
            faults.append(f"{name} has {found:,} grades for {expected:,} samples")
        elif found_hash != expected_hash:
            faults.append(f"the grades of {name} are not those of its {expected:,} samples")
        elif combined not in (None, answers):
            faults.append(f"the grades of {name} combine {combined:,} of {answers:,} answers")
        if malformed:
            faults.append(f"{malformed:,} grades of {name} do not hold {n_metrics} values")
        triples = zip(measured[::3], measured[1::3], measured[2::3], strict=True)
        for (metric, (low, high)), (least, greatest, inconsistent) in zip(
            grid.bounds.items(), triples, strict=False
        ):
            if inconsistent:
                faults.append(
                    f"{inconsistent:,} of the values of {metric} of {name} are null where scored, "
                    "or numbers where not"
                )
            faults.extend(
                f"{metric} of {name} is {value!r}, expected {low:g} to {high:g}"
                for value in dict.fromkeys((least, greatest))
                if value is not None and not (low <= value <= high and math.isfinite(value))
            )
    return _shorten(faults)


def _metric_sql(position: int) -> str:
    """Return three columns for the metric at a position of the lists: min, max, wrong statuses."""
    value = f"{quoted('values')}[{position}]"
    status = f"coalesce(statuses[{position}], 'scored')"
    return (
        f"min({value}), max({value}), count(*) FILTER (({value} IS NULL) <> ({status} <> 'scored'))"
    )


def _shorten(faults: list[str]) -> list[str]:
    more = len(faults) - MAX_FAULTS
    return [*faults[:MAX_FAULTS], f"and {more:,} more"] if more > 0 else faults
