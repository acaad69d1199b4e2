"""The input formats that there are, found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from warehouse.errors import UnknownFormat, suggest_name
from warehouse.formats.format import Format

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def formats() -> Mapping[str, Format]:
    """Every format by its name: each module of this folder that has a `FORMAT`."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        candidate = getattr(importlib.import_module(module.name), "FORMAT", None)
        if isinstance(candidate, Format):
            found[candidate.name] = candidate
    return MappingProxyType(dict(sorted(found.items())))


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        UnknownFormat: There is none; the nearest name is suggested.
    """
    try:
        return formats()[name]
    except KeyError:
        said = f"there is no input format {name!r}{suggest_name(name, formats())}"
        raise UnknownFormat(said) from None
