"""The catalog of input formats: the modules of this folder."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from warehouse.errors import UnknownFormat, closest_match, suggest_name
from warehouse.formats.format import Format

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SPANS: Final = ("openinference",)
_OWN: Final = ("canonical",)
TOOLS: Final = MappingProxyType(
    {
        "phoenix": ("openinference", "phoenix-experiment"),
        "arize": ("openinference", "phoenix-experiment"),
        "experiment": ("phoenix-experiment",),
        **dict.fromkeys(("opentelemetry", "otel", "otlp", "spans", "traces"), _SPANS),
        **dict.fromkeys(("ragbench", "galileo"), ("trace",)),
        **dict.fromkeys(("harness", "eleuther", "eleutherai"), ("lm-eval",)),
        **dict.fromkeys(("qrels", "trec-eval", "pytrec", "ir-measures"), ("trec",)),
        **dict.fromkeys(("h2o", "h2ogpte"), ("eval-studio",)),
        **dict.fromkeys(("hf", "datasets", "arrow"), ("huggingface",)),
        **dict.fromkeys(("json", "jsonl", "csv", "tsv", "parquet", "excel", "xlsx"), _OWN),
        **dict.fromkeys(("sql", "duckdb", "scoreline", "default"), _OWN),
    }
)
"""The formats by other names of their tools and files."""


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
        UnknownFormat: The format does not exist; the message suggests those of this tool, or a
            similar name.
    """
    try:
        return formats()[name]
    except KeyError:
        message = f"there is no input format {name!r}{suggest_format(name, formats())}"
        raise UnknownFormat(message) from None


def suggest_format(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the formats of a tool, or a similar name."""
    known = list(known)
    written = re.sub(r"[\s_.]+", "-", name.strip().lower())
    singular = written.removesuffix("s")
    candidates = [[written], TOOLS.get(written, ()), [singular]]
    candidates += [TOOLS.get(word, ()) for word in written.split("-")]
    found = ([each for each in listed if each in known] for listed in candidates)
    meant = next(filter(None, found), [])
    if not meant:
        return suggest_name(written if closest_match(written, known) else name, known)
    return f"; did you mean {' or '.join(map(repr, meant))}?"
