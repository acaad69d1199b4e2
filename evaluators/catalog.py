"""The catalogue: every evaluator there is, found by walking `library/`.

An evaluator is one file, `library/<family>/<name>.py`, with one concrete subclass of `Evaluator`
whose name in snake case is `<name>`. There is no list to keep.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaluators import library
from evaluators.errors import BadParameters, BrokenPromise, UnknownEvaluator, nearest
from evaluators.evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

_EVERYTHING = "all"

_WANTED = {
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
}
"""What a parameter of the wrong type should have been, by pydantic's name of the error."""


@cache
def catalogue() -> Mapping[str, type[Evaluator]]:
    """Every evaluator by name, sorted by family and name.

    Raises:
        BrokenPromise: When a file of the library does not hold exactly one evaluator of its name.
    """
    found: dict[str, type[Evaluator]] = {}
    prefix = f"{library.__name__}."
    for module in pkgutil.walk_packages(library.__path__, prefix, onerror=_fly):
        if module.ispkg:
            continue
        name = module.name.rpartition(".")[2]
        loaded = importlib.import_module(module.name)
        classes = [
            member
            for member in vars(loaded).values()
            if inspect.isclass(member)
            and issubclass(member, Evaluator)
            and not inspect.isabstract(member)
            and member.__module__ == module.name
        ]
        if [cls.name for cls in classes] != [name] or name in found:
            raise BrokenPromise(
                f"{module.name}: expected one evaluator named {name!r} that no other file defines, "
                f"found {[cls.name for cls in classes]}"
            )
        found[name] = classes[0]
    return MappingProxyType(
        dict(sorted(found.items(), key=lambda item: (_family(item[1]), item[0])))
    )


def family(name: str) -> str:
    """The family of an evaluator: the folder that its file is in."""
    return _family(_known(name))


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    """The names of the evaluators of each family."""
    groups: dict[str, list[str]] = {}
    for name, cls in catalogue().items():
        groups.setdefault(_family(cls), []).append(name)
    return MappingProxyType({group: tuple(names) for group, names in groups.items()})


def select(names: Iterable[str]) -> list[str]:
    """Resolve names of evaluators and families, and `all`, to names of evaluators.

    Returns:
        Each evaluator once, in the order of the catalogue.

    Raises:
        UnknownEvaluator: For a name that is neither, with the nearest that is.
    """
    groups = families()
    chosen: set[str] = set()
    for name in names:
        if name == _EVERYTHING:
            chosen.update(catalogue())
        elif name in groups:
            chosen.update(groups[name])
        else:
            chosen.add(_known(name).name)
    return [name for name in catalogue() if name in chosen]


def build(name: str, parameters: Mapping[str, object] | None = None) -> Evaluator:
    """Make an evaluator with its parameters checked.

    Args:
        name: An evaluator's name.
        parameters: Values by parameter, of types that JSON knows; what is left out keeps its
            default.

    Raises:
        UnknownEvaluator: When there is no such evaluator.
        BadParameters: When it takes no such parameter or refuses a value.
    """
    cls = _known(name)
    given = dict(parameters or {})
    taken = {each.name: each.type for each in fields(cls) if not each.metadata.get("settled")}
    for parameter in given:
        if parameter not in taken:
            offer = f"; it takes {', '.join(taken)}" if taken else "; it takes none"
            raise BadParameters(
                f"{name}: unknown parameter {parameter!r}{nearest(parameter, taken) or offer}"
            )
    try:
        return cls(**_checked(cls, given)) if given else cls()
    except ValueError as error:
        raise BadParameters(f"{name}: {error}") from error


@cache
def _model(cls: type[Evaluator], parameters: frozenset[str]) -> type[BaseModel]:
    """What checks some parameters of an evaluator; many benchmarks give the same ones."""
    from pydantic import ConfigDict, create_model

    types: dict[str, Any] = {
        each.name: (each.type, ...) for each in fields(cls) if each.name in parameters
    }
    config = ConfigDict(strict=True, allow_inf_nan=False)
    return create_model(cls.__name__, __config__=config, __module__=cls.__module__, **types)


def _checked(cls: type[Evaluator], given: Mapping[str, object]) -> dict[str, Any]:
    """The given values as the types of the parameters have them (a list as a tuple, say)."""
    from pydantic import ValidationError

    try:
        # As JSON, because only there a list is strictly a tuple.
        values = _model(cls, frozenset(given)).model_validate_json(json.dumps(given, default=str))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        wanted = _WANTED.get(first["type"])
        said = f"expected {wanted}, got {first['input']!r}" if wanted else first["msg"]
        raise BadParameters(f"{cls.name}: parameter {place}: {said}") from error
    return {parameter: getattr(values, parameter) for parameter in given}


def _fly(_: str) -> None:
    """Let a family that cannot be imported fail: `walk_packages` alone would leave it out."""
    raise  # noqa: PLE0704 - called while the exception is being handled


def _known(name: str) -> type[Evaluator]:
    try:
        return catalogue()[name]
    except KeyError:
        offers = [*catalogue(), *families(), _EVERYTHING]
        raise UnknownEvaluator(f"unknown evaluator {name!r}{nearest(name, offers)}") from None


def _family(cls: type[Evaluator]) -> str:
    return cls.__module__.split(".")[-2]
