"""Runs of some benchmarks, as schedules and sensors ask for them: one for each stretch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.fingerprints.digests import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assets.project import Project

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


def stretches(ordered: Sequence[str], wanted: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The first and the last name of each stretch of `ordered` that is wanted without a gap."""
    chosen = set(wanted)
    stretch: list[str] = []
    for name in [*ordered, None]:
        if name in chosen and name is not None:
            stretch.append(name)
        elif stretch:
            yield stretch[0], stretch[-1]
            stretch = []


def range_tags(first: str, last: str) -> dict[str, str]:
    """The tags of a run of all benchmarks from one to another."""
    return {RANGE_START: first, RANGE_END: last}


def requests(project: Project, wanted: Iterable[str], key: str) -> list[dg.RunRequest]:
    """A request for each stretch of the wanted benchmarks.

    Args:
        project: The project, which says in which order benchmarks stand.
        wanted: The benchmarks.
        key: What they are wanted for; for an equal one Dagster starts no second run.
    """
    return [
        dg.RunRequest(run_key=digest_of(key, first, last), tags=range_tags(first, last))
        for first, last in stretches(list(project.benchmarks), wanted)
    ]
