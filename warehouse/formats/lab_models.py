"""Names the models of a test lab, so that each is a system of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from warehouse.formats.nested_json import Element

NAMES: Final = ("llm_model_name", "name", "key")
"""What a model may be called by, the preferred first."""


def systems(models: Iterable[Element]) -> dict[str, str]:
    """The systems by the keys of their models.

    Args:
        models: The models of one test lab; what is not an object with a key is no model.
    """
    known: list[dict[str, Any]] = [
        each.value
        for each in models
        if isinstance(each.value, dict) and isinstance(each.value.get("key"), str)
    ]
    times = {name: Counter(map(str, (model.get(name) for model in known))) for name in NAMES}
    return {
        model["key"]: next(
            model[name]
            for name in NAMES
            if name == "key" or (_is_text(model.get(name)) and times[name][model[name]] == 1)
        )
        for model in known
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""
