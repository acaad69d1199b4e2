"""The page of each evaluator, from what its file declares, and the catalogue as one document."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from evaluators import catalog, library
from evaluators.flow import setting_of
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.origins import fields_of, file_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric

_PARAMETERS = "\n\nAttributes:\n"
_PARAMETER = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an evaluator.

    Attributes:
        name: As it is set in the configuration.
        default: Its value unless set, of types that JSON knows.
        meaning: What it does.
    """

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to read about an evaluator.

    Attributes:
        name: The evaluator's name.
        family: The family that it belongs to.
        question: The question that it answers.
        prose: The question, the formula, the sources and the edges, in paragraphs.
        metrics: What it measures with these parameters.
        parameters: Its parameters.
        reads: The sample columns that it needs.
        optional: The sample columns that it also looks at.
        asks: The keys of `scoreline.yaml` that say whom it asks, such as `judge`.
    """

    name: str
    family: str
    question: str
    prose: str
    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...]
    reads: tuple[str, ...]
    optional: tuple[str, ...]
    asks: tuple[str, ...]

    @property
    def primary(self) -> Metric:
        """The metric that stands for the evaluator."""
        return next(metric for metric in self.metrics if metric.primary)


def page(evaluator: Evaluator) -> Page:
    """Read the page of an evaluator off its class and its parameters."""
    prose = inspect.cleandoc(type(evaluator).__doc__ or "").partition(_PARAMETERS)[0]
    meanings = _meanings(type(evaluator))
    return Page(
        name=evaluator.name,
        family=catalog.family(evaluator.name),
        question=_line(prose.partition("\n\n")[0]),
        prose=prose,
        metrics=evaluator.measured(),
        parameters=tuple(
            Parameter(field.name, evaluator.parameters[field.name], meanings.get(field.name, ""))
            for field in fields(evaluator)
            if not field.metadata.get("settled")
        ),
        reads=tuple(sorted(evaluator.reads)),
        optional=tuple(sorted(evaluator.optional)),
        asks=tuple(sorted(_asked(evaluator))),
    )


def pages() -> list[Page]:
    """The pages of all evaluators with their default parameters, by family and name."""
    return [page(catalog.build(name)) for name in catalog.catalogue()]


def _asked(evaluator: Evaluator) -> set[str]:
    """The judge and the models that it asks itself, or that its parts do."""
    if isinstance(evaluator, CompositeEvaluator):
        parts = {part.partition(".")[0] for part in evaluator.parts}
        return {key for part in parts for key in _asked(catalog.build(part))}
    asked = evaluator.asked() if isinstance(evaluator, FlowEvaluator) else frozenset()
    return {setting_of(role) for role in asked}


def family_question(family: str) -> str:
    """The question that the evaluators of a family have in common."""
    text = importlib.import_module(f"{library.__name__}.{family}").__doc__ or ""
    question = _line(text.partition(": ")[2])
    return question[:1].upper() + question[1:]


def _meanings(cls: type[Evaluator]) -> Mapping[str, str]:
    """What is said of each parameter in the class that brings it."""
    found: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        text = inspect.cleandoc(vars(ancestor).get("__doc__") or "")
        listed = text.partition(_PARAMETERS)[2]
        found |= {name: _line(meaning) for name, meaning in _PARAMETER.findall(listed)}
    return found


def _line(text: str) -> str:
    return " ".join(text.split())


def markdown() -> str:
    """The document of all evaluators."""
    shown = {one.name: one for one in pages()}
    lines = [
        "# The evaluators",
        "",
        "Written by `make docs` from the files in `evaluators/library/`; one page of it is shown",
        "in a terminal by `scoreline evaluators NAME`. A metric is addressed as",
        "`evaluator.metric`; the name of a family stands for all its evaluators.",
        "The metric in bold is the primary one, which stands for its evaluator.",
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


def _section(one: Page) -> list[str]:
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
    reads = f"Reads {_inputs(one.reads)}" if one.reads else "Needs no field"
    also = f"; looks also at {_inputs(one.optional)}" if one.optional else ""
    asks = f" Asks {_listed(one.asks)} of `scoreline.yaml`." if one.asks else ""
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
    """The fields of the input from which columns are made, file by file."""
    files: dict[str, list[str]] = {}
    for column in columns:
        fields = " or ".join(f"`{field}`" for field in fields_of(column))
        files.setdefault(file_of(column), []).append(fields)
    return "; ".join(f"{', '.join(fields)} of {file}" for file, fields in files.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
