"""Migrations of the schema, one SQL file for each.

`<number>_<name>.sql` migrates from the version before its number to that number; the highest
number is the current version. The files do not touch views, which are created again from their
descriptions after the last migration. Use IF NOT EXISTS: a warehouse of an unreleased version may
already have the change.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = 1
"""The first version, to which no migration leads."""


@cache
def steps() -> Mapping[int, str]:
    """Return the SQL of each migration by the version to which it leads, in order.

    Raises:
        ValueError: Two files have the same number, or a number is missing.
    """
    found: dict[int, str] = {}
    for each in sorted(files(__name__).iterdir(), key=lambda file: file.name):
        number, _, rest = each.name.partition("_")
        if not rest.endswith(".sql"):
            continue
        if int(number) in found:
            raise ValueError(f"two migrations have the number {number}: {each.name}")
        found[int(number)] = each.read_text(encoding="utf-8")
    expected = list(range(FIRST + 1, FIRST + 1 + len(found)))
    if sorted(found) != expected:
        raise ValueError(f"the migrations are {sorted(found)}, expected {expected}")
    return MappingProxyType(dict(sorted(found.items())))


def latest() -> int:
    """Return the version to which the last migration leads."""
    return max(steps(), default=FIRST)
