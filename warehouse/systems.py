"""Which systems there are, so that a misspelt one is named and not silently passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.errors import UnknownSystem, near

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warehouse.snapshot import Snapshot
    from warehouse.store import Warehouse


def require_systems(
    source: Warehouse | Snapshot, systems: Iterable[str], benchmarks: Iterable[str]
) -> None:
    """Checks that each system has answered one of some benchmarks.

    Args:
        source: The warehouse or its published copy.
        systems: The systems that are meant.
        benchmarks: Where they are looked for.

    Raises:
        UnknownSystem: One of them is in none of the benchmarks; a near name is suggested.
    """
    names = list(benchmarks)
    found = source.fetch(
        "SELECT DISTINCT system FROM predictions "
        "WHERE benchmark IN (SELECT unnest($benchmarks::VARCHAR[]))",
        {"benchmarks": names},
    )["system"].to_list()
    for system in systems:
        if system not in found:
            place = ", ".join(repr(name) for name in names)
            raise UnknownSystem(f"there is no system {system!r} in {place}{near(system, found)}")
