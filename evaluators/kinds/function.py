"""Function evaluators: a plain function of some fields of a sample, with one metric."""

from __future__ import annotations

import inspect
import json
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from evaluators.errors import EvaluatorError
from evaluators.kinds.own import code_digest
from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined, Unscored
from evaluators.sample import COLUMNS
from records.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluators.outcome import Value
    from evaluators.sample import Sample

FIELDS: Mapping[str, tuple[str, ...]] = {
    "question": ("question",),
    "answer": ("answer",),
    "expected_answer": ("expected_answers",),
    "retrieved": ("retrieved_doc_ids", "contexts"),
    **{name: (name,) for name in COLUMNS if name != "error"},
}
"""The columns of a sample behind each field that a function may take."""

_JSON = frozenset(name for name, each in COLUMNS.items() if each.is_json) | {"tags"}
"""Columns that hold JSON as text."""

_NEVER_MISSING = frozenset({"tags", "extra", "retrieved"})
"""Fields that are empty where nothing is given."""


class BadFunction(EvaluatorError):  # noqa: N818
    """A function cannot become an evaluator."""


class FunctionEvaluator(RowEvaluator):
    """Calls a function for each sample; see `metric`.

    Attributes:
        function: The function.
        fields: Its parameters.
    """

    function: ClassVar[Callable[..., Any]]
    taken: ClassVar[tuple[str, ...]]

    def grade(self, sample: Sample) -> Graded:
        """Call the function."""
        found = type(self).function(**{name: _value(name, sample) for name in self.taken})
        (metric,) = self.metrics
        return Graded({metric.name: _number(found, metric.bounds)})


def metric(
    function: Callable[..., Any] | None = None,
    *,
    best: Literal["high", "low"] = "high",
    bounds: tuple[float, float] = (0.0, 1.0),
    threshold: float | None = None,
    on_error: Literal["undefined", "fail"] = "undefined",
) -> Any:
    """Make an evaluator of a function, with one metric of the same name.

    The parameters of the function name fields of questions and predictions, such as question,
    answer, expected_answer (the first one), expected_answers (all), contexts, retrieved, label,
    expected_label, tags and extra. A sample without a field is not applicable, unless its parameter
    has a default. The function returns a number, a
    bool (pass or fail) or None (undefined). Annotated with `-> bool`, it also has pass rates of
    several answers to a question. Its docstring begins with what the metric means.

    Args:
        function: The function.
        best: Whether high or low values are better.
        bounds: The smallest and the largest value.
        threshold: The mean from which on a system passes.
        on_error: What happens if the function raises an exception: the sample is `undefined`, with
            the reason, or the run fails.

    Returns:
        The class of the evaluator.

    Raises:
        BadFunction: A parameter is not a field, the name is not in snake_case, or the function is
            annotated to return text.
    """

    def decorate(wrapped: Callable[..., Any]) -> type[FunctionEvaluator]:
        made = {"best": best, "bounds": bounds, "threshold": threshold}
        return _make_class(wrapped, _metric(wrapped, made), on_error)

    return decorate if function is None else decorate(function)


_TEXTS = (str, bytes, "str", "bytes")


def _metric(function: Callable[..., Any], properties: Mapping[str, Any]) -> Metric:
    name = function.__name__
    returned = inspect.signature(function).return_annotation
    if returned in _TEXTS:
        said = returned if isinstance(returned, str) else returned.__name__
        raise BadFunction(
            f"{_location(function)}: {name}: it returns {said}, expected a number, a bool (pass or "
            "fail) or None (undefined)"
        )
    summary = " ".join((inspect.getdoc(function) or name).partition("\n\n")[0].split())
    try:
        return Metric(
            name=name,
            summary=summary,
            primary=True,
            pass_fail=returned in (bool, "bool"),
            **properties,
        )
    except ValueError as error:
        raise BadFunction(f"{_location(function)}: {error}") from error


def _make_class(
    function: Callable[..., Any], measured: Metric, on_error: str
) -> type[FunctionEvaluator]:
    parameters = inspect.signature(function).parameters
    for name in parameters:
        if name not in FIELDS:
            known = did_you_mean(name, FIELDS) or f"; expected {', '.join(FIELDS)}"
            raise BadFunction(
                f"{_location(function)}: {measured.name}: {name!r} is not a field{known}"
            )
    if not parameters:
        raise BadFunction(f"{_location(function)}: {measured.name}: expected a parameter")
    required = {
        column
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and name not in _NEVER_MISSING
        for column in FIELDS[name]
    }
    every = {column for name in parameters for column in FIELDS[name]}
    cls = type(
        "".join(part.title() for part in measured.name.split("_")),
        (FunctionEvaluator,),
        {
            "__doc__": inspect.getdoc(function) or measured.summary,
            "__module__": function.__module__,
            "metrics": (measured,),
            "reads": frozenset(required),
            "optional": frozenset(every - required),
            "non_empty": frozenset(required & {"expected_answers"}),
            "function": staticmethod(function),
            "taken": tuple(parameters),
            "code": code_digest(function),
            "on_error": on_error,
        },
    )
    made: type[FunctionEvaluator] = cls
    made.name = measured.name
    return made


def _value(field: str, sample: Sample) -> Any:
    match field:
        case "expected_answer":
            return sample.expected_answers[0] if sample.expected_answers else None
        case "retrieved":
            return _retrieved(sample)
        case "tags" | "extra":
            return json.loads(getattr(sample, field) or "{}")
        case _:
            value = getattr(sample, field)
            return json.loads(value) if field in _JSON and value is not None else value


def _retrieved(sample: Sample) -> list[dict[str, Any]]:
    """Return the retrieved passages, best first: rank, doc_id and text, where they are known."""
    ids, texts = sample.retrieved_doc_ids or (), sample.contexts or ()
    found: list[dict[str, Any]] = [{"rank": at + 1} for at in range(max(len(ids), len(texts)))]
    for name, values in (("doc_id", ids), ("text", texts)):
        for passage, value in zip(found, values, strict=False):
            passage[name] = value
    return found


def _number(found: object, bounds: tuple[float, float]) -> Value:
    """Return what a function returned as a number, or why it is none."""
    if isinstance(found, Unscored):
        return found
    if found is None:
        return Undefined("the function returned None")
    try:
        # It would read a number out of a text, too.
        value = None if isinstance(found, str | bytes | bytearray) else float(found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = None
    if value is None:
        return Undefined(f"the function returned {found!r:.40}, expected a number", of_run=True)
    low, high = bounds
    if not math.isfinite(value):
        return Undefined(f"the function returned {value}", of_run=True)
    if not low <= value <= high:
        return Undefined(
            f"the function returned {value:g}, outside its bounds {low:g} to {high:g}", of_run=True
        )
    return value


def _location(function: Callable[..., Any]) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"
