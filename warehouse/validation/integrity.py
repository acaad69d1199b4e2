"""Checks tables in SQL: columns, keys, complete grids of scores, and counts that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import DuplicateKey
from warehouse.schema.ddl import check, quoted
from warehouse.storage.transaction import Transaction, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

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
        samples = {
            benchmark: _count_samples(connection, benchmark, systems)
            for benchmark in {grid.benchmark for grid in grids}
        }
        return [_find_faults(connection, grid, samples[grid.benchmark], systems) for grid in grids]


def check_counts(
    warehouse: Warehouse, benchmarks: Sequence[str], systems: Sequence[str] = ()
) -> list[str]:
    """Check that each row of the leaderboard counts every sample exactly once.

    `n_target_error` counts failures of the system with and without a value. Those without one are
    in no other column. The slice `all` must count every question of the system, or every answer for
    a metric of the whole system. Without systems, all are checked.

    Returns:
        One sentence per fault.
    """
    sql = f"""
WITH samples AS (
    SELECT
        benchmark, system, count(*) FILTER (repeat = 0) AS samples, count(*) AS answers
    FROM predictions
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
FROM counted LEFT JOIN samples USING (benchmark, system)
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


def _count_samples(
    connection: duckdb.DuckDBPyConnection, benchmark: str, systems: Sequence[str]
) -> dict[str, tuple[int, int]]:
    rows = fetch_frame(
        connection,
        "SELECT system, count(*), bit_xor(hash(question_id)) FROM predictions "  # noqa: S608
        f"WHERE benchmark = $benchmark AND {_ONLY} AND repeat = 0 GROUP BY system ORDER BY system",
        {"benchmark": benchmark, "systems": list(systems)},
    )
    return {system: (n, digest) for system, n, digest in rows.iter_rows()}


def _find_faults(
    connection: duckdb.DuckDBPyConnection,
    grid: Grid,
    samples: Mapping[str, tuple[int, int]],
    systems: Sequence[str],
) -> list[str]:
    n_metrics = len(grid.bounds)
    positions = range(1, n_metrics + 1) if grid.with_values else ()
    columns = "".join(f", {_metric_sql(position)}" for position in positions)
    rows = fetch_frame(
        connection,
        f"""
SELECT system, count(*), bit_xor(hash(question_id)),
    count(*) FILTER (
        len("values") < {n_metrics}
        OR (n_answers IS NULL AND len("values") <> {n_metrics})
        OR len(statuses) <> len("values")
    ){columns}
FROM grades
WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature AND {_ONLY}
GROUP BY system
ORDER BY system
""",  # noqa: S608
        {
            "benchmark": grid.benchmark,
            "evaluator": grid.evaluator,
            "signature": grid.signature,
            "systems": list(systems),
        },
    )
    graded = {row[0]: row[1:] for row in rows.iter_rows()}
    faults = []
    for system in sorted({*samples, *graded}):
        expected, expected_hash = samples.get(system, (0, 0))
        found, found_hash, malformed, *measured = graded.get(system, (0, 0, 0))
        name = f"system {system!r}"
        if found != expected:
            faults.append(f"{name} has {found:,} grades for {expected:,} samples")
        elif found_hash != expected_hash:
            faults.append(f"the grades of {name} are not those of its {expected:,} samples")
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
