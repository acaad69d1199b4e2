"""Runs of the job `evaluate` that cover some of the benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.fingerprints.digests import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assets.project import Project

EVALUATE = "evaluate"
"""The job that covers the whole pipeline; `Namespace.name` adds the prefix of a project."""

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


def contiguous_ranges(ordered: Sequence[str], selected: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the first and the last name of each contiguous range of `ordered` that is selected.

    Dagster can start one run for a range of partitions, but not for a set with gaps.
    """
    names = set(selected)
    current: list[str] = []
    for name in [*ordered, None]:
        if name is not None and name in names:
            current.append(name)
        elif current:
            yield current[0], current[-1]
            current = []


def range_tags(first: str, last: str) -> dict[str, str]:
    """Return the tags of a run that covers all benchmarks from the first to the last."""
    return {RANGE_START: first, RANGE_END: last}


def run_requests(project: Project, benchmarks: Iterable[str], key: str) -> list[dg.RunRequest]:
    """Return a request per contiguous range of the benchmarks, or per benchmark if so configured.

    Args:
        project: The project, which orders its benchmarks.
        benchmarks: The benchmarks to run.
        key: The reason for the runs; Dagster starts no second run for the same reason.
    """
    if project.execution.run_per_benchmark:
        ranges = [(name, name) for name in benchmarks]
    else:
        ranges = list(contiguous_ranges(list(project.benchmarks), benchmarks))
    return [
        dg.RunRequest(run_key=digest_of(key, first, last), tags=range_tags(first, last))
        for first, last in ranges
    ]
