"""The catalog of input formats: the modules of this folder."""

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
    """Return all formats by name: each module of this folder with a `FORMAT`."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        candidate = getattr(importlib.import_module(module.name), "FORMAT", None)
        if isinstance(candidate, Format):
            found[candidate.name] = candidate
    return MappingProxyType(dict(sorted(found.items())))


def format_named(name: str) -> Format:
    """Return a format by name.

    Raises:
        UnknownFormat: The format does not exist; the message suggests a similar name.
    """
    try:
        return formats()[name]
    except KeyError:
        message = f"there is no input format {name!r}{suggest_name(name, formats())}"
        raise UnknownFormat(message) from None
