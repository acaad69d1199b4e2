"""Generate the configuration page: every key with its type, default, meaning and example."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from docs.generators.fields import FieldDoc, cell, describe_fields
from orchestration.config import schema, system_schema
from orchestration.config.judge import schema as judge_schema
from systems.http import request as http_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPLETE = Path(__file__).with_name("complete.yaml")
"""A valid configuration with every key without an example of its own."""

_HEAD = """\
# Configuration

A project is one file, `scoreline.yaml`:

```yaml
benchmarks:
  support:
    questions: data/questions.jsonl
    predictions: data/predictions_{system}.jsonl
    evaluators: [document_retrieval, citation]
```

Only `benchmarks` is required, with `evaluators` and `predictions` or `systems` for each benchmark.
`scoreline init` writes a commented file. Paths are relative to it.

An unknown key or a value of the wrong type is an error that names the line and suggests a similar
key; the exit code is 2. To check files, warehouse, judge and models as well, run

    scoreline doctor --config scoreline.yaml

See also [formats](formats.md), [evaluators and their parameters](evaluators.md),
[systems that are asked](systems.md), [judges](judges.md), [models](models.md),
[expectations, automation and alerts](operations.md), [gates](gates.md), [intervals](trust.md),
[lakes and executors](scale-out.md).

`make docs` generates this page from `orchestration/config/schema.py`.
"""

_TAIL = """\
## Complete example

Every key once, to look up the syntax. No project needs all of them.

"""


def markdown() -> str:
    """Return the page."""
    example = yaml.safe_load(COMPLETE.read_text(encoding="utf-8"))
    sections = _sections(schema.ProjectKeys, example, "")
    fenced = f"```yaml\n{COMPLETE.read_text(encoding='utf-8')}```\n"
    return "\n".join([_HEAD, *sections, _TAIL + fenced])


def _sections(model: Any, example: Mapping[str, Any], address: str) -> list[str]:
    """Return the tables of a model and of the models nested in it.

    Args:
        model: The model of one mapping in the configuration file.
        example: The same mapping in the complete example.
        address: The path of keys to the mapping, with a trailing dot.

    Raises:
        LookupError: A key has no example.
    """
    own: list[str] = []
    below: list[str] = []
    for field in describe_fields(model):
        if field.name not in example and field.example is None:
            raise LookupError(f"{address}{field.name}: {COMPLETE.name} has no example of it")
        given = example.get(field.name, field.example)
        own.append(_row(field, given))
        if field.part is not None and given is not None:
            inner, place = _first(field.kind, given, f"{address}{field.name}")
            below += _sections(model_named(field.part), inner, f"{place}.")
    head = f"## `{address.rstrip('.')}`" if address else "## Top level"
    summary = (model.__doc__ or "").strip().partition("\n\n")[0]
    table = ["| key | type | default | meaning | example |", "| --- | --- | --- | --- | --- |"]
    return ["\n".join([head, "", " ".join(summary.split()), "", *table, *own, ""]), *below]


def model_named(name: str) -> Any:
    """Return the model of the configuration with a name."""
    return next(
        model
        for module in (schema, judge_schema, system_schema, http_schema)
        if (model := getattr(module, name, None)) is not None
    )


def _first(kind: str, given: Any, address: str) -> tuple[Mapping[str, Any], str]:
    """Return the keys of the mappings of a list, or the first mapping by name, and its address."""
    if kind.startswith("mapping of names to "):
        given, address = list(given.values()), f"{address}.<name>"
        if "list" in kind:
            given = given[0]
    if "list" in kind:
        address += "[]"
    if isinstance(given, list):
        # No mapping may need all keys; of equal keys the first is shown.
        given = reduce(_merge, given)
    return given, address


def _merge(first: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the keys of both, also of mappings in them; of equal keys those of the first."""
    shared = {key for key in first if isinstance(first[key], dict) and key in other}
    return {**other, **first, **{key: _merge(first[key], other[key]) for key in shared}}


def _row(field: FieldDoc, example: Any) -> str:
    default = "required" if field.required else _shown(field.default)
    shown = "" if field.part is not None else _shown(example)
    cells = [f"`{field.name}`", field.kind, default, field.meaning, shown]
    return f"| {' | '.join(map(cell, cells))} |"


def _shown(value: Any) -> str:
    if value is None or value in ({}, [], ""):
        return "-"
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"
