"""The page of the configuration: every key, what it may hold, and what it means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from docs.generators.fields import Described, cell, described
from orchestration.config import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPLETE = Path(__file__).with_name("complete.yaml")
"""A configuration in which every key stands, so that each has an example that is held valid."""

_HEAD = """\
# Configuration

Written by `make docs` from the models in `orchestration/config/schema.py` and
`orchestration/config/engine_schema.py`.

A project is one file, `scoreline.yaml`; `scoreline init` writes one with comments. Paths in it are
relative to it. Keys that are not on this page are errors, with a near name suggested, and so are
values of another type; every fault is named with its line, and the exit code is 2.

    scoreline doctor --config scoreline.yaml

looks further: at files, the warehouse, the judge and the models. Only `benchmarks` must be given,
with `predictions` and `evaluators` for each. More about the values: [formats](formats.md),
[evaluators and their parameters](evaluators.md), [judges](judges.md), [models](models.md),
[expectations, automation and alerts](operations.md), [gates and intervals](trust.md),
[lakes and executors](scale-out.md).
"""

_TAIL = """\
## All of it

Every key once, as no project needs it:

"""


def markdown() -> str:
    """The page."""
    example = yaml.safe_load(COMPLETE.read_text(encoding="utf-8"))
    sections = _sections(schema.ProjectKeys, example, "")
    fenced = f"```yaml\n{COMPLETE.read_text(encoding='utf-8')}```\n"
    return "\n".join([_HEAD, *sections, _TAIL + fenced])


def _sections(model: Any, example: Mapping[str, Any], address: str) -> list[str]:
    """The tables of a model and of the models below it.

    Args:
        model: A mapping of the configuration file.
        example: Its part of the complete configuration.
        address: The keys that lead to it.
    """
    own: list[str] = []
    below: list[str] = []
    for field in described(model):
        given = example[field.name]
        own.append(_row(field, given))
        if field.part is not None:
            inner, place = _first(field.kind, given, f"{address}{field.name}")
            below += _sections(getattr(schema, field.part), inner, f"{place}.")
    head = f"## `{address.rstrip('.')}`" if address else "## At the top"
    summary = (model.__doc__ or "").strip().partition("\n\n")[0]
    table = ["| key | type | default | meaning | example |", "| --- | --- | --- | --- | --- |"]
    return ["\n".join([head, "", " ".join(summary.split()), "", *table, *own, ""]), *below]


def _first(kind: str, given: Any, address: str) -> tuple[Mapping[str, Any], str]:
    """The first mapping in a list or behind a name, and how it is addressed."""
    if kind.startswith("mapping of names to "):
        given, address = next(iter(given.values())), f"{address}.<name>"
    if "list" in kind:
        given, address = given[0], f"{address}[]"
    return given, address


def _row(field: Described, example: Any) -> str:
    default = "required" if field.required else _shown(field.default)
    shown = "" if field.part is not None else _shown(example)
    cells = [f"`{field.name}`", field.kind, default, field.meaning, shown]
    return f"| {' | '.join(map(cell, cells))} |"


def _shown(value: Any) -> str:
    if value is None or value in ({}, [], ""):
        return "-"
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"
