"""Whether tables hold what they promise, for some benchmarks, each in one short look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import DuplicateKey
from warehouse.schema.ddl import check, quoted
from warehouse.storage.transaction import Transaction, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from warehouse.store import Warehouse

SHOWN = 5
"""The systems or rows that are named; of more, only the number is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The grades that one evaluator, as configured, must have given on one benchmark.

    Attributes:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: The evaluator as it is configured.
        bounds: The least and the greatest possible value of each metric, in the order of the
            lists in `grades`; infinite where there is none.
        with_values: Whether to look at the values, too: at their bounds and their statuses.
    """

    benchmark: str
    evaluator: str
    signature: str
    bounds: Mapping[str, tuple[float, float]]
    with_values: bool = True


def as_described(
    warehouse: Warehouse, tables: Sequence[str], benchmarks: Sequence[str]
) -> list[str]:
    """What is wrong with the columns of some tables, and with the keys of some benchmarks.

    Returns:
        One sentence a fault; empty when the tables are as described.
    """
    with warehouse.reading() as connection:
        faults = check(connection, tables)
        if faults:
            # Without its columns a table cannot be asked about its keys.
            return faults
        for table in tables:
            try:
                Transaction(connection).require_unique(table, {"benchmark": list(benchmarks)})
            except DuplicateKey as error:
                faults.append(str(error))
    return faults


def incomplete(
    warehouse: Warehouse, grids: Sequence[Grid], systems: Sequence[str] = ()
) -> list[list[str]]:
    """What is wrong with grades: missing, left over, of a wrong shape, or out of bounds.

    A grid is complete when its samples are exactly the predictions of the benchmark. That is
    told by the numbers of both and the sums of their hashes, for each system: a join of a million
    samples would take a hundred times as long.

    Args:
        warehouse: The warehouse.
        grids: The grids to look at.
        systems: The systems to look at; empty: all.

    Returns:
        For each grid one sentence a fault; empty where it is complete and sound.
    """
    with warehouse.reading() as connection:
        samples = {
            benchmark: _samples(connection, benchmark, systems)
            for benchmark in {grid.benchmark for grid in grids}
        }
        return [_faults(connection, grid, samples[grid.benchmark], systems) for grid in grids]


def miscounted(
    warehouse: Warehouse, benchmarks: Sequence[str], systems: Sequence[str] = ()
) -> list[str]:
    """Which rows of the leaderboard do not account for every sample exactly once.

    The samples without a number whose system failed are not counted in a column of their own, but
    they are among `n_target_error`; the rest of those have a number. The slice `all` must count
    each prediction of the system.

    Args:
        warehouse: The warehouse.
        benchmarks: The benchmarks to look at.
        systems: The systems whose samples must all be there; empty: all.

    Returns:
        One sentence a fault; empty when everything adds up.
    """
    sql = f"""
WITH samples AS (
    SELECT benchmark, system, count(*) AS samples FROM predictions
    WHERE list_contains($benchmarks, benchmark) AND {_ONLY} GROUP BY ALL
),
counted AS (
    SELECT
        *,
        n - n_scored - n_not_applicable - n_undefined - n_parse_failure - n_judge_error AS lost
    FROM leaderboard WHERE list_contains($benchmarks, benchmark)
)
SELECT
    benchmark, slice, system, evaluator || '.' || metric, n, lost, n_target_error, samples
FROM counted LEFT JOIN samples USING (benchmark, system)
WHERE lost NOT BETWEEN 0 AND n_target_error
   OR n_target_error > lost + n_scored
   OR (slice = 'all' AND n <> samples)
ORDER BY ALL
"""  # noqa: S608
    parameters = {"benchmarks": list(benchmarks), "systems": list(systems)}
    faults = []
    for benchmark, slice_, system, metric, n, lost, failed, samples in warehouse.fetch(
        sql, parameters
    ).iter_rows():
        place = f"{metric} of {system!r} on {slice_!r} of {benchmark!r}"
        if slice_ == "all" and samples is not None and n != samples:
            faults.append(f"{place} counts {n:,} samples, expected {samples:,}")
        else:
            faults.append(
                f"{place} has {n:,} samples, but statuses for {n - lost:,} and {failed:,} failures"
            )
    return _few(faults)


_ONLY = "(len($systems) = 0 OR list_contains($systems, system))"


def _samples(
    connection: duckdb.DuckDBPyConnection, benchmark: str, systems: Sequence[str]
) -> dict[str, tuple[int, int]]:
    rows = fetch_frame(
        connection,
        "SELECT system, count(*), bit_xor(hash(question_id)) FROM predictions "  # noqa: S608
        f"WHERE benchmark = $benchmark AND {_ONLY} GROUP BY system ORDER BY system",
        {"benchmark": benchmark, "systems": list(systems)},
    )
    return {system: (n, digest) for system, n, digest in rows.iter_rows()}


def _faults(
    connection: duckdb.DuckDBPyConnection,
    grid: Grid,
    samples: Mapping[str, tuple[int, int]],
    systems: Sequence[str],
) -> list[str]:
    number = len(grid.bounds)
    places = range(1, number + 1) if grid.with_values else ()
    columns = "".join(f", {_of_metric(place)}" for place in places)
    rows = fetch_frame(
        connection,
        f"""
SELECT system, count(*), bit_xor(hash(question_id)),
    count(*) FILTER (len("values") <> {number} OR len(statuses) <> {number}){columns}
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
        expected, digest = samples.get(system, (0, 0))
        found, found_digest, misshapen, *measured = graded.get(system, (0, 0, 0))
        whose = f"system {system!r}"
        if found != expected:
            faults.append(f"{whose} has {found:,} grades for {expected:,} samples")
        elif found_digest != digest:
            faults.append(f"the grades of {whose} are not those of its {expected:,} samples")
        if misshapen:
            faults.append(f"{misshapen:,} grades of {whose} do not hold {number} values")
        triples = zip(measured[::3], measured[1::3], measured[2::3], strict=True)
        for (metric, (low, high)), (least, greatest, odd) in zip(
            grid.bounds.items(), triples, strict=False
        ):
            what = f"{metric} of {whose}"
            if odd:
                faults.append(
                    f"{odd:,} of the values of {what} are null where scored, or numbers where not"
                )
            faults.extend(
                f"{what} is {value!r}, expected {low:g} to {high:g}"
                for value in dict.fromkeys((least, greatest))
                if value is not None and not (low <= value <= high and abs(value) < float("inf"))
            )
    return _few(faults)


def _of_metric(place: int) -> str:
    """Three columns for the metric at a place of the lists: least, greatest, of wrong status."""
    value = f"{quoted('values')}[{place}]"
    status = f"coalesce(statuses[{place}], 'scored')"
    return (
        f"min({value}), max({value}), count(*) FILTER (({value} IS NULL) <> ({status} <> 'scored'))"
    )


def _few(faults: list[str]) -> list[str]:
    left = len(faults) - SHOWN
    return [*faults[:SHOWN], f"and {left:,} more"] if left > 0 else faults
