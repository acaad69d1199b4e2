"""Generate the page of all evaluators from their classes."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from evaluators import catalog
from evaluators.catalog import EvaluatorDoc, describe_all, family_question
from evaluators.sample import input_fields, input_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.metric import Metric


def markdown() -> str:
    """Return the page of all evaluators."""
    shown = {one.name: one for one in describe_all()}
    lines = [
        "# The evaluators",
        "",
        "`make docs` generates this page from the files in `evaluators/library/`. To read about",
        "one evaluator in a terminal, run `scoreline evaluators NAME`. A metric is addressed as",
        "`evaluator.metric`; a family name stands for all its evaluators.",
        "The metric in bold is the evaluator's primary metric.",
        "",
        "| family | question | evaluators |",
        "| --- | --- | --- |",
    ]
    sections = []
    for family, names in catalog.families().items():
        # Of two equal headings only the first could be linked to.
        title = f"{family} (family)" if family in shown else family
        anchor = title.replace(" ", "-").replace("(", "").replace(")", "")
        links = ", ".join(f"[`{name}`](#{name})" for name in names)
        question = family_question(family)
        lines.append(f"| [{family}](#{anchor}) | {_cell(question)} | {links} |")
        sections += [f"## {title}", "", question, ""]
        for name in names:
            sections += _section(shown[name])
    return "\n".join([*lines, "", *sections]).rstrip() + "\n"


def _section(one: EvaluatorDoc) -> list[str]:
    lines = [f"### `{one.name}`", "", one.prose, ""]
    lines += ["| metric | best | bounds | threshold | level | what it says |"]
    lines += ["| --- | --- | --- | --- | --- | --- |", *map(_metric, one.metrics), ""]
    if one.parameters:
        lines += ["| parameter | default | what it does |", "| --- | --- | --- |"]
        lines += [
            f"| `{p.name}` | `{json.dumps(p.default, ensure_ascii=False)}` | {_cell(p.meaning)} |"
            for p in one.parameters
        ]
        lines.append("")
    reads = f"Reads {_inputs(one.reads)}" if one.reads else "Requires no field"
    also = f"; also reads {_inputs(one.optional)}" if one.optional else ""
    asks = f" Uses {_listed(one.engine_keys)} of `scoreline.yaml`." if one.engine_keys else ""
    return [*lines, f"{reads}{also}.{asks}", ""]


def _metric(metric: Metric) -> str:
    name = f"**`{metric.name}`**" if metric.primary else f"`{metric.name}`"
    bounds = " to ".join(map(_number, metric.bounds))
    limit = "-" if metric.threshold is None else _number(metric.threshold)
    cells = [name, metric.best, bounds, limit, metric.level, _cell(metric.summary)]
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:g}"


def _inputs(columns: Sequence[str]) -> str:
    """Return the input fields that fill the columns, by file."""
    files: dict[str, list[str]] = {}
    for column in columns:
        fields = " or ".join(f"`{field}`" for field in input_fields(column))
        if fields not in files.setdefault(input_file(column), []):
            files[input_file(column)].append(fields)
    return "; ".join(f"{', '.join(fields)} of {file}" for file, fields in files.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
