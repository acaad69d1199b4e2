"""What pydantic found wrong in a configuration file, in words and with lines."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evaluators.errors import nearest
from orchestration.errors import Fault

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from orchestration.config.yaml_document import Document

EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
    "model_attributes_type": "a mapping (`key: value` lines)",
    "string_too_short": "text that is not empty",
}


def faults_of(error: ValidationError, document: Document, model: type[BaseModel]) -> list[Fault]:
    """Every finding of `error` as a fault with its line in `document`.

    Values are not repeated: one of them may be a secret that was written into the wrong place.
    """
    found = [
        Fault(document.line(_steps(one)), _message(one, model))
        for one in error.errors(include_url=False, include_input=False)
    ]
    return list(dict.fromkeys(found))


def _steps(finding: ErrorDetails) -> tuple[str | int, ...]:
    """The path to the value; pydantic's marker for a mapping's key is left out."""
    return tuple(step for step in finding["loc"] if step != "[key]")


def _message(finding: ErrorDetails, model: type[BaseModel]) -> str:
    steps = _steps(finding)
    place = ".".join(str(step) for step in steps) or "the file"
    kind = finding["type"]
    if kind == "extra_forbidden":
        known = _keys_at(model, steps[:-1])
        key = str(steps[-1])
        return f"unknown key {key!r}{nearest(key, known)}: expected one of {', '.join(known)}"
    if kind == "missing":
        owner = ".".join(str(step) for step in steps[:-1])
        return f"the key {str(steps[-1])!r} is missing" + (f" in {owner}" if owner else "")
    if kind in EXPECTED:
        return f"{place}: expected {EXPECTED[kind]}"
    if kind == "too_short":
        return f"{place}: expected at least one"
    said = finding["msg"]
    return f"{place}: {said[:1].lower()}{said[1:]}" if kind != "benchmark_name" else said


def _keys_at(model: type[BaseModel], steps: tuple[str | int, ...]) -> list[str]:
    """The keys that the model at the end of `steps` accepts."""
    here: Any = model
    for step in steps:
        owner = _models_in(here)[0]
        if isinstance(step, int):
            here = owner
            continue
        is_mapping = typing.get_origin(here) is dict
        here = owner if is_mapping else owner.model_fields[str(step)].annotation
    return list(_models_in(here)[0].model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if _is_model(annotation):
        return [annotation]
    return [found for part in typing.get_args(annotation) for found in _models_in(part)]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
