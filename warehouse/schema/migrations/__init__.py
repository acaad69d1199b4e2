"""How a warehouse of an earlier version is brought up to date: one file of SQL for each step.

`<number>_<what>.sql` leads from the version before its number to that number; the highest number is
the version of the tables as they are described. Views are no matter of these files: they are made
anew from their descriptions after the last step. What a step adds may be there already in a
warehouse of a version that was never released, so that it says IF NOT EXISTS.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = 1
"""The version that no step leads to."""


@cache
def steps() -> Mapping[int, str]:
    """The SQL of each step by the version that it leads to, in order.

    Raises:
        ValueError: Two steps have one number, or a number is left out.
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
    """The version that the last step leads to."""
    return max(steps(), default=FIRST)
