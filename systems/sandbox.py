"""Jinja's sandbox, with limits of size and of steps."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_CHARACTERS = 10_000_000
"""The most characters of a text."""
_MOST_STEPS = 100_000
_MOST_PADDING = 1000
_MOST_BITS = 4096
_PADDING_FILTERS = ("batch", "center", "indent", "round", "slice", "truncate", "wordwrap")


class Sandbox(SandboxedEnvironment):
    """Jinja's sandbox, in which a mistake such as `{{ 'x' * 10**9 }}` is an error at once.

    Attributes:
        steps: The items of all ranges in the current rendering.
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, finalize: Callable[[Any], Any]) -> None:
        super().__init__(
            undefined=StrictUndefined, finalize=finalize, keep_trailing_newline=True, cache_size=0
        )
        self.steps = 0
        self.globals.pop("lipsum")
        self.globals["range"] = self._range
        self.filters.pop("format")
        self.filters["tojson"] = _as_text(self.filters["tojson"])
        for name in _PADDING_FILTERS:
            self.filters[name] = _with_small_numbers(name, self.filters[name])

    def _range(self, *limits: int) -> range:
        items = range(*limits)
        self.steps += len(items)
        if self.steps > _MOST_STEPS:
            raise SecurityError(f"more than {_MOST_STEPS:,} steps")
        return items

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a member of a mapping before a method of that name."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Refuse format strings, which can set any width."""
        if super().wrap_str_format(value) is not None:
            raise SecurityError("`format` is not available")
        return None

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute, unless the result could be huge."""
        if operator == "%" and isinstance(left, str):
            raise SecurityError("`%` does not format texts")
        if operator == "**" and isinstance(left, int) and isinstance(right, int):
            if abs(right) * left.bit_length() > _MOST_BITS:
                raise SecurityError("the power is too large")
        elif operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, int) and hasattr(other, "__len__"):
                    check_length(one * len(other))
                elif isinstance(one, int) and abs(one).bit_length() > _MOST_BITS:
                    raise SecurityError("the product is too large")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method; texts are not padded without limit."""
        if isinstance(getattr(obj, "__self__", None), str):
            _check_numbers(obj.__name__, (*args, *kwargs.values()))
        return super().call(context, obj, *args, **kwargs)


def _with_small_numbers(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)  # it also copies what Jinja passes to the filter
    def limited(*args: Any, **kwargs: Any) -> Any:
        _check_numbers(name, (*args, *kwargs.values()))
        return function(*args, **kwargs)

    return limited


def _as_text(function: Callable[..., Any]) -> Callable[..., str]:
    """Let a filter return a text; `~` would escape what is joined with its markup."""

    @functools.wraps(function)
    def converted(*args: Any, **kwargs: Any) -> str:
        return str.__str__(function(*args, **kwargs))

    return converted


def _check_numbers(name: str, given: Sequence[Any]) -> None:
    if any(isinstance(each, int) and abs(each) > _MOST_PADDING for each in given):
        raise SecurityError(f"{name}: a number above {_MOST_PADDING:,}")


def check_length(length: int) -> None:
    """Raise `SecurityError` for a text that is too long."""
    if length > MOST_CHARACTERS:
        raise SecurityError(f"longer than {MOST_CHARACTERS:,} characters")
