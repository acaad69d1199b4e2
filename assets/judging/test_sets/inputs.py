"""How the files of benchmarks are read from which test sets are made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assets.fingerprints.input_files import input_files
from warehouse.errors import InputError, Problem
from warehouse.formats.catalog import format_named
from warehouse.formats.test_sets import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assets.project import Benchmark


def find_readings(
    benchmarks: Iterable[Benchmark], kind: Literal["questions", "documents"]
) -> dict[Path, Reading[Any]]:
    """Return how benchmarks read their files of a kind, by resolved path.

    Formats that read folders, or questions with the answers to them, are left out.

    Raises:
        InputError: Two benchmarks read one file in different ways.
    """
    readings: dict[Path, Reading[Any]] = {}
    first: dict[Path, str] = {}
    for benchmark in benchmarks:
        chosen = format_named(benchmark.format)
        reader = getattr(chosen, kind)
        if reader is None or chosen.folders is not None or chosen.questions_from == "both":
            continue
        in_predictions = chosen.questions_from == "predictions"
        try:
            files = input_files(benchmark, "predictions" if in_predictions else kind)
        except InputError:  # the run names patterns that match nothing
            continue
        for file, system in files:
            if not isinstance(file, Path):
                continue
            columns = benchmark.columns
            named = columns.predictions_of(system) if in_predictions else getattr(columns, kind)
            reading, path = Reading(reader, named), file.resolve()
            if readings.setdefault(path, reading) != reading:
                message = f"the benchmarks {first[path]!r} and {benchmark.name!r} read it in "
                message += "different ways: choose one with --benchmark"
                raise InputError([Problem(file, None, message)])
            first.setdefault(path, benchmark.name)
    return readings
