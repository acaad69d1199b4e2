"""The schema of `systems` in `scoreline.yaml`: the keys of all kinds of systems together."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, WithJsonSchema, WrapValidator, create_model

from records.settings import ConfigModel, Text
from systems.settings import (
    CommandSystem,
    HttpSystem,
    LocalModelSystem,
    ModelSystem,
    PythonSystem,
    SystemSettings,
)
from systems.tasks.mcqa import Mcqa
from systems.tasks.rgb import Rgb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS: Final[dict[str, type[SystemSettings]]] = {
    "python": PythonSystem,
    "http": HttpSystem,
    "model": ModelSystem,
    "command": CommandSystem,
}
"""The kinds of systems by the key that only they have; a model may also be a local one."""

_ALL: Final[tuple[type[SystemSettings], ...]] = (LocalModelSystem, *KINDS.values())


class TaskKeys(ConfigModel):
    """What a model is asked to do instead of answering a prompt.

    Attributes:
        mcqa: Multiple choice.
        rgb: Noisy, missing, scattered and false passages.
    """

    mcqa: Mcqa | None = None
    rgb: Rgb | None = None


def keys_of(kind: type[SystemSettings]) -> list[str]:
    """Return the keys of a kind of system."""
    return [name for name, field in kind.model_fields.items() if not field.exclude]


def _names() -> list[str]:
    """Return the keys of all kinds: what they are, what models have, what all have."""
    shared = keys_of(SystemSettings)
    own = [name for name in keys_of(ModelSystem) if name not in shared]
    names = list(dict.fromkeys([*KINDS, *own, *shared]))
    names.insert(1 + names.index("timeout_s"), "start_timeout_s")
    return names


def _keys() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each key with its type and default; the default is null where kinds differ in it."""
    for name in _names():
        found = [each.model_fields[name] for each in _ALL if name in each.model_fields]
        kind: Any = TaskKeys if name == "task" else found[-1].rebuild_annotation()
        defaults = [field.get_default(call_default_factory=True) for field in found]
        if len(found) == len(_ALL) and all(each == defaults[0] for each in defaults):
            yield name, (kind, defaults[0])
        else:
            yield name, (kind | None, None)


def _meanings() -> str:
    docs = [inspect.cleandoc(each.__doc__ or "") for each in (SystemSettings, *_ALL)]
    return "\n".join(doc.partition("\n\nAttributes:\n")[2] for doc in docs)


def _in_order(given: Any, validate: Callable[[Any], Any]) -> dict[str, list[Any]]:
    """Return the values of a matrix by key, as they are written: names count them."""
    matrix = validate(given)
    return {key: getattr(matrix, key) for key in given}


def _list_of(kind: Any) -> Any:
    optional: Any = kind | None
    return Annotated[list[optional], Field(min_length=1)]


_LISTS: Final[dict[str, Any]] = {name: (_list_of(kind), None) for name, (kind, _) in _keys()}
_Matrix: Any = Annotated[
    create_model("MatrixKeys", __base__=ConfigModel, **_LISTS),
    WrapValidator(_in_order),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"enum": list(_LISTS)},
            "additionalProperties": {"type": "array", "minItems": 1},
        }
    ),
]


class _NamedMatrix(ConfigModel):
    """Several systems that differ in the values of some keys.

    Attributes:
        matrix: Lists of values by key: there is a system for each combination. A benchmark names
            one of them, or with the name of this entry all; so do its gates and other keys.
        names: The names of the systems of a matrix, such as `{name}-{model}`, with keys of the
            matrix. Unless given they are numbered: `<name>-1-2` has the first value of the
            first key and the second value of the second key.
    """

    matrix: Annotated[
        _Matrix | None,
        Field(
            examples=[
                {
                    "model": ["openai/gpt-4o-mini", "openai/gpt-4o"],
                    "prompt": ["prompts/short.j2", "prompts/long.j2"],
                }
            ]
        ),
    ] = None
    names: Annotated[Text | None, Field(examples=["{name}-{model}"])] = None


if TYPE_CHECKING:
    SystemKeys = ConfigModel
else:
    SystemKeys = create_model(
        "SystemKeys",
        __base__=_NamedMatrix,
        __module__=__name__,
        __doc__="A system that is asked: `python`, `http`, `model` or `command`."
        f"\n\nAttributes:\n{_meanings()}",
        **dict(_keys()),
    )
