"""The catalogue: all evaluators, found by walking `library/`.

An evaluator is one file, `library/<family>/<name>.py`, with one concrete subclass of `Evaluator`
whose name in snake_case is `<name>`. There is no registry.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ForwardRef

from evaluators import library
from evaluators.errors import EXPECTED_TYPES, BadParameters, BrokenPromise, UnknownEvaluator
from evaluators.evaluator import Evaluator, parameter_fields, parameter_name
from evaluators.flows.requests import config_key
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from records.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import BaseModel

    from evaluators.metric import Metric


_ALL = "all"

OWN = "own"
"""The family of evaluators from elsewhere."""


class _Catalogue(Mapping[str, type[Evaluator]]):
    """The evaluator classes by name; a file is imported when its class is first asked for."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Set the full names of the modules by name of evaluator."""
        self._modules = modules
        self._classes: dict[str, type[Evaluator]] = {}

    def __getitem__(self, name: str) -> type[Evaluator]:
        if name not in self._classes:
            self._classes[name] = _load(self._modules[name], name)
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def family(self, name: str) -> str:
        """Return the family of an evaluator."""
        return self._modules[name].split(".")[-2]


@cache
def catalogue() -> _Catalogue:
    """Return every evaluator class by name, sorted by family and name.

    Loading a class raises `BrokenPromise` if its file does not define exactly one evaluator with
    the file's name.

    Raises:
        BrokenPromise: Two files have the same name.
    """
    found: dict[str, str] = {}
    prefix = f"{library.__name__}."
    for module in pkgutil.walk_packages(library.__path__, prefix, onerror=_reraise):
        if module.ispkg:
            continue
        name = module.name.rpartition(".")[2]
        if name in found:
            raise BrokenPromise(f"{module.name}: {found[name]} defines {name!r}, too")
        found[name] = module.name
    return _Catalogue(dict(sorted(found.items(), key=lambda item: item[1].split(".")[-2:])))


def _load(module: str, name: str) -> type[Evaluator]:
    loaded = importlib.import_module(module)
    classes = [
        member
        for member in vars(loaded).values()
        if inspect.isclass(member)
        and issubclass(member, Evaluator)
        and not inspect.isabstract(member)
        and member.__module__ == module
    ]
    if [cls.name for cls in classes] != [name]:
        raise BrokenPromise(
            f"{module}: expected one evaluator named {name!r}, "
            f"found {[cls.name for cls in classes]}"
        )
    return classes[0]


def family_of(evaluator: Evaluator | type[Evaluator]) -> str:
    """Return the family of an evaluator: the folder of its file, or `own`."""
    cls = evaluator if isinstance(evaluator, type) else type(evaluator)
    is_of_library = cls.__module__.startswith(f"{library.__name__}.")
    return cls.__module__.split(".")[-2] if is_of_library else OWN


def is_own(evaluator: Evaluator) -> bool:
    """Return whether an evaluator is none of the catalogue, or goes by another name."""
    return catalogue().get(evaluator.name) is not type(evaluator)


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the evaluators of each family."""
    groups: dict[str, list[str]] = {}
    for name in catalogue():
        groups.setdefault(catalogue().family(name), []).append(name)
    return MappingProxyType({group: tuple(names) for group, names in groups.items()})


def select(names: Iterable[str]) -> list[str]:
    """Resolve names of evaluators and families, and `all`, to names of evaluators.

    Returns:
        Each evaluator once, in the order of the catalogue.

    Raises:
        UnknownEvaluator: A name is unknown; the message suggests a similar one.
    """
    groups = families()
    chosen: set[str] = set()
    for name in names:
        if name == _ALL:
            chosen.update(catalogue())
        elif name in groups:
            chosen.update(groups[name])
        elif name in catalogue():
            chosen.add(name)
        else:
            _find(name)
    return [name for name in catalogue() if name in chosen]


def build(name: str, parameters: Mapping[str, object] | None = None) -> Evaluator:
    """Make an evaluator and validate its parameters.

    Args:
        name: An evaluator's name.
        parameters: Values by parameter, as JSON types; other parameters keep their defaults.

    Raises:
        UnknownEvaluator: There is no such evaluator.
        BadParameters: There is no such parameter, or a value is invalid.
    """
    return build_from(_find(name), parameters)


def build_from(
    cls: type[Evaluator], parameters: Mapping[str, object] | None = None, name: str | None = None
) -> Evaluator:
    """Make an evaluator of a class and validate its parameters.

    Args:
        cls: The class.
        parameters: As for `build`.
        name: Another name than that of the class, so that a benchmark can use it several times.

    Raises:
        BadParameters: There is no such parameter, or a value is invalid.
    """
    if name is not None and name != cls.name:
        members = {"__doc__": cls.__doc__, "__module__": cls.__module__}
        cls = type(cls.__name__, (cls,), members)
        cls.name = name
    name = cls.name
    given = dict(parameters or {})
    taken = {parameter_name(each): each.name for each in parameter_fields(cls)}
    for parameter in given:
        if parameter not in taken:
            accepted = f"; it takes {', '.join(taken)}" if taken else "; it takes none"
            raise BadParameters(
                f"{name}: unknown parameter {parameter!r}"
                f"{did_you_mean(parameter, taken) or accepted}"
            )
    try:
        fields = {taken[parameter]: value for parameter, value in given.items()}
        return cls(**_validate(cls, fields)) if fields else cls()
    except ValueError as error:
        raise BadParameters(f"{name}: {error}") from error


@cache
def _parameter_model(cls: type[Evaluator], parameters: frozenset[str]) -> type[BaseModel]:
    """Return a cached pydantic model of some parameters."""
    from pydantic import ConfigDict, create_model

    types: dict[str, Any] = {}
    for name in parameters:
        owner = next(each for each in cls.__mro__ if name in inspect.get_annotations(each))
        written = inspect.get_annotations(owner)[name]
        types[name] = (ForwardRef(written, module=owner.__module__), ...)
    config = ConfigDict(strict=True, allow_inf_nan=False)
    return create_model(cls.__name__, __config__=config, **types)


def _validate(cls: type[Evaluator], given: Mapping[str, object]) -> dict[str, Any]:
    """Validate values and convert them to the types of the parameters (a list to a tuple, say)."""
    from pydantic import ValidationError

    try:
        # As JSON, because only there a list is strictly a tuple.
        values = _parameter_model(cls, frozenset(given)).model_validate_json(
            json.dumps(given, default=str)
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part).removesuffix("_") for part in first["loc"])
        wanted = EXPECTED_TYPES.get(first["type"])
        said = f"expected {wanted}, got {first['input']!r}" if wanted else first["msg"]
        raise BadParameters(f"{cls.name}: parameter {place}: {said}") from error
    return {parameter: getattr(values, parameter) for parameter in given}


def _reraise(_: str) -> None:
    """Raise the import error of a family; `walk_packages` alone would ignore it."""
    raise  # noqa: PLE0704 - called while the exception is being handled


def _find(name: str) -> type[Evaluator]:
    try:
        return catalogue()[name]
    except KeyError:
        offers = [*catalogue(), *families(), _ALL]
        raise UnknownEvaluator(f"unknown evaluator {name!r}{did_you_mean(name, offers)}") from None


_PARAMETERS = "\n\nAttributes:\n"
_PARAMETER = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an evaluator.

    Attributes:
        name: The name in the configuration.
        default: The default value, as a JSON type.
        meaning: A description of its effect.
    """

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True, slots=True)
class EvaluatorDoc:
    """The documentation of an evaluator.

    Attributes:
        name: The evaluator's name.
        family: The evaluator's family.
        question: The question that it answers.
        prose: The docstring without parameters: question, formula, sources and edge cases.
        metrics: The metrics with these parameters.
        parameters: Its parameters.
        reads: The required sample columns.
        optional: The optional sample columns.
        engine_keys: The keys of `scoreline.yaml` that configure its engines, such as `judge`.
    """

    name: str
    family: str
    question: str
    prose: str
    metrics: tuple[Metric, ...]
    parameters: tuple[Parameter, ...]
    reads: tuple[str, ...]
    optional: tuple[str, ...]
    engine_keys: tuple[str, ...]

    @property
    def primary(self) -> Metric:
        """The main metric of the evaluator."""
        return next(metric for metric in self.metrics if metric.primary)


def describe(evaluator: Evaluator) -> EvaluatorDoc:
    """Describe an evaluator from its class and its parameters."""
    prose = inspect.cleandoc(type(evaluator).__doc__ or "").partition(_PARAMETERS)[0]
    meanings = _parameter_summaries(type(evaluator))
    return EvaluatorDoc(
        name=evaluator.name,
        family=family_of(evaluator),
        question=_one_line(prose.partition("\n\n")[0]),
        prose=prose,
        metrics=evaluator.measured(),
        parameters=tuple(
            Parameter(name, evaluator.parameters[name], meanings.get(field.name, ""))
            for field in parameter_fields(evaluator)
            for name in (parameter_name(field),)
        ),
        reads=tuple(sorted(evaluator.reads)),
        optional=tuple(sorted(evaluator.optional)),
        engine_keys=tuple(sorted(_engine_keys(evaluator))),
    )


def describe_all() -> list[EvaluatorDoc]:
    """Describe all evaluators with their default parameters, by family and name."""
    return [describe(build(name)) for name in catalogue()]


def _engine_keys(evaluator: Evaluator) -> set[str]:
    """Return the configuration keys of its engines and of its parts' engines."""
    if isinstance(evaluator, CompositeEvaluator):
        parts = {part.partition(".")[0] for part in evaluator.parts}
        return {key for part in parts for key in _engine_keys(build(part))}
    roles = evaluator.engine_roles() if isinstance(evaluator, FlowEvaluator) else frozenset()
    return {config_key(role) for role in roles}


def family_question(family: str) -> str:
    """Return the question that the evaluators of a family answer."""
    text = importlib.import_module(f"{library.__name__}.{family}").__doc__ or ""
    question = _one_line(text.partition(": ")[2])
    return question[:1].upper() + question[1:]


def _parameter_summaries(cls: type[Evaluator]) -> Mapping[str, str]:
    """Return the description of each parameter from the class that defines it."""
    found: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        text = inspect.cleandoc(vars(ancestor).get("__doc__") or "")
        listed = text.partition(_PARAMETERS)[2]
        found |= {name: _one_line(meaning) for name, meaning in _PARAMETER.findall(listed)}
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())
