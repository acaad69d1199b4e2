"""Builds how a benchmark reads its files: columns, tags, and what missing answers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.project import expand_systems
from orchestration.config.error_messages import describe_unknown
from orchestration.config.schema import DEFAULT
from records.document import Document
from records.prediction import Prediction
from records.question import Question
from warehouse.formats.catalog import formats
from warehouse.formats.columns import Columns, Conversion, field_of
from warehouse.formats.missing_answers import Meaning, MissingAnswers
from warehouse.formats.readers.cells.lists import LISTS, PARTS
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from orchestration.config.evaluators import ReportFault
    from orchestration.config.schema import BenchmarkKeys, ConversionKeys
    from warehouse.formats.columns import Target
    from warehouse.formats.format import Format

_FIELDS = {
    "questions": Question.annotations().keys(),
    "predictions": Prediction.annotations().keys(),
    "documents": Document.annotations().keys(),
}

_SHAPES = (Shape.of(Question), Shape.of(Prediction))
_NUMBERS = frozenset(name for each in _SHAPES for name in each.numbers | each.text_or_number)
"""The fields whose columns can be converted."""


def build_columns(report: ReportFault, keys: BenchmarkKeys, path: tuple[str, str]) -> Columns:
    """Return the columns of a benchmark, and report the faults of `columns` and `tags`."""
    input_format = formats().get(keys.format)
    given = {kind: _targets(getattr(keys.columns, kind)) for kind in _FIELDS}
    systems = {name: _targets(each) for name, each in keys.columns.systems.items()}
    if input_format is not None:
        for kind, columns in given.items():
            if columns:
                _check(report, input_format, kind, columns, (*path, "columns", kind))
        for name, columns in systems.items():
            location = (*path, "columns", "systems", name)
            _check(report, input_format, "predictions", columns, location)
    if systems and (not isinstance(keys.predictions, str) or "{system}" not in keys.predictions):
        message = "expected {system} in the path of 'predictions', which tells the systems apart"
        report(message, *path, "columns", "systems")
    for at, name in enumerate(keys.tags):
        if name in _FIELDS["questions"]:
            message = f"{name!r} is a field of questions, expected another column"
            report(message, *path, "tags", at)
    return Columns(**given, systems=systems, tags=tuple(dict.fromkeys(keys.tags)))


def _targets(keys: Mapping[str, str | ConversionKeys]) -> dict[str, Target]:
    return {
        name: each
        if isinstance(each, str)
        else Conversion(each.to, each.scale, each.optional, each.separator)
        for name, each in keys.items()
    }


def build_missing(
    keys: BenchmarkKeys, asked: Sequence[str], members: Mapping[str, Sequence[str]]
) -> MissingAnswers:
    """Return what missing answers of a benchmark mean.

    A system that is asked answers everything that it is asked; what it was not asked, because of a
    budget or a limit, is not a failure.

    Args:
        keys: The keys of the benchmark.
        asked: The systems that it asks.
        members: The systems that an entry of the configuration stands for; what one of them has
            of its own counts.
    """
    own = {name: each for name, each in keys.missing.items() if name != DEFAULT}
    meanings: dict[str, Meaning] = dict.fromkeys(asked, "not_asked")
    for name, meaning in own.items():
        meanings.update(dict.fromkeys(expand_systems([name], members, asked), meaning))
    own = {name: each for name, each in own.items() if name in meanings}
    return MissingAnswers(keys.missing.get(DEFAULT, "failed"), {**meanings, **own})


def _check(
    report: ReportFault,
    input_format: Format,
    kind: str,
    columns: Mapping[str, Target],
    location: tuple[str, ...],
) -> None:
    from_predictions = input_format.questions_from == "predictions"
    if not input_format.has_columns:
        named = ", ".join(repr(each.name) for each in formats().values() if each.has_columns)
        message = f"the format {input_format.name!r} has names of its own: remove this key, "
        report(message + f"which is for {named}", *location)
        return
    if from_predictions and kind != "predictions":
        message = f"the format {input_format.name!r} has questions in the prediction files: "
        report(message + "name their columns in 'predictions'", *location)
        return
    fields = list(_FIELDS[kind])
    if from_predictions:
        fields += [name for name in _FIELDS["questions"] if name not in fields]
    if kind == "predictions":
        fields += PARTS
    used: dict[str, str] = {}
    for column, target in columns.items():
        field = field_of(target)
        conversion = target if isinstance(target, Conversion) else Conversion(target)
        if conversion.separator is not None and field in fields and field not in LISTS:
            message = f"{field!r} is not a list: expected one of {', '.join(sorted(LISTS))}"
            report(message, *location, column)
        if conversion.scale is not None and field in fields and field not in _NUMBERS:
            message = f"{field!r} holds no number: expected one of {', '.join(sorted(_NUMBERS))}"
            report(message, *location, column)
        if field not in fields:
            report(describe_unknown(f"field {field!r}", field, fields), *location, column)
        elif field in used:
            message = f"{used[field]!r} and {column!r} are both {field!r}: expected one column"
            report(message, *location, column)
        used.setdefault(field, column)
