"""Turn pydantic's validation errors into faults with lines and plain messages."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evaluators.errors import EXPECTED_TYPES
from orchestration.errors import Fault
from records.similar_names import did_you_mean
from warehouse.errors import suggest_twin

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from orchestration.config.yaml_document import Document


def validation_faults(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Fault]:
    """Return the validation errors as faults with their lines in `document`.

    Messages do not repeat values: a value may be a secret in the wrong key.
    """
    faults = [
        Fault(document.line(_path(each)), _message(each, model))
        for each in error.errors(include_url=False, include_input=False)
    ]
    return list(dict.fromkeys(faults))


def describe_unknown(what: str, name: str, known: Collection[str]) -> str:
    """Return the message about a name that is none of the known ones; suggest a similar name."""
    expected = ", ".join(known) or "none"
    hint = suggest_twin(name, known) or did_you_mean(name, known)
    return f"unknown {what}{hint}: expected one of {expected}"


def _path(error: ErrorDetails) -> tuple[str | int, ...]:
    """Return the path to the value, without marks for keys of mappings and members of unions."""
    marks = {"[key]", "[path]", "[paths]", "[query]", "[field]", "[conversion]"}
    return tuple(step for step in error["loc"] if step not in marks)


def _message(error: ErrorDetails, model: type[BaseModel]) -> str:
    path = _path(error)
    owner = ".".join(str(step) for step in path[:-1])
    where = ".".join(str(step) for step in path) or "the file"
    kind = error["type"]
    if kind == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        key = str(path[-1])
        return describe_unknown(f"key {key!r}", key, known)
    if kind == "missing":
        return f"the key {str(path[-1])!r} is missing" + (f" in {owner}" if owner else "")
    if kind in EXPECTED_TYPES:
        return f"{where}: expected {EXPECTED_TYPES[kind]}"
    if kind == "too_short":
        return f"{where}: expected at least one"
    message = error["msg"]
    return message if kind == "benchmark_name" else f"{where}: {message[:1].lower()}{message[1:]}"


def _keys_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys of the model at `path`."""
    here: Any = model
    for step in path:
        owner = _models_in(here)[0]
        if isinstance(step, int):
            here = owner
            continue
        is_mapping = typing.get_origin(here) is dict
        here = owner if is_mapping else owner.model_fields[str(step)].annotation
    return list(_models_in(here)[0].model_fields)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in typing.get_args(annotation) for found in _models_in(part)]
