"""JSONPath: the fields of a prediction in the JSON answer of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, get_origin

from pydantic import BeforeValidator

from records.prediction import Prediction
from records.shapes import constraints, plain
from systems.client import (
    USAGE_FIELDS,
    SystemRefused,
    WrongShape,
    has_error,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonpath import JSONPath

_NAMED: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a text"),
    float: ((int, float), "a number"),
    int: ((int,), "a whole number"),
    bool: ((bool,), "true or false"),
    list: ((list,), "a list"),
}
_CONVERTED: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str, int), "a text"),
    float: ((int, float, str), "a time"),
}
"""The same where a validator converts values: ids that are numbers, times in words."""

_OBJECT: Final[tuple[tuple[type, ...], str]] = ((dict,), "an object")


def _expected(field: str) -> tuple[tuple[type, ...], str]:
    """Return the Python types of a field's JSON values, and how messages call them."""
    if field in USAGE_FIELDS:
        return _NAMED[int]
    if _retrieved_field(field) is not None:
        return _NAMED[list]
    annotation = Prediction.declared()[field].annotation
    kind = plain(annotation)
    is_converted = any(isinstance(each, BeforeValidator) for each in constraints(annotation))
    if is_converted and kind in _CONVERTED:
        return _CONVERTED[kind]
    if get_origin(kind) is Literal:
        kind = str
    return _NAMED.get(get_origin(kind) or kind, _OBJECT)


_SHOWN = 200
_MOST_KEYS = 12


class JsonPaths:
    """The paths of one system, compiled."""

    def __init__(self, system: str, paths: Mapping[str, str]) -> None:
        """Compile the paths.

        Raises:
            SystemRefused: An expression is not a JSONPath.
        """
        self._paths = {
            name: _Path(f"systems.{system}", name, source) for name, source in paths.items()
        }

    def read(self, reply: Any) -> dict[str, Any]:
        """Return the fields that the paths find.

        Raises:
            WrongShape: A path finds nothing, several values for one, or a value of a wrong type.
        """
        error = self._paths.get("error")
        if error is not None:
            found = error.find_optional(reply)
            if has_error(found):
                return {"error": found}
        fields: dict[str, Any] = {}
        retrieved: dict[str, list[Any]] = {}
        for name, path in self._paths.items():
            field = _retrieved_field(name)
            if field is not None:
                column = path.find(reply)
                if column is not None:
                    retrieved[field] = column
            elif path is not error:
                fields[name] = path.find(reply)
        if retrieved:
            fields["retrieved"] = self._joined(retrieved)
        return fields

    def _joined(self, columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
        """Return what was retrieved as one object per item."""
        if len({len(column) for column in columns.values()}) > 1:
            counts = ", ".join(f"{len(column)} of {name}" for name, column in columns.items())
            raise WrongShape(f"the paths of `retrieved` find different numbers of values: {counts}")
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]


class StreamPath:
    """The path of the next part of the answer in each event of a stream."""

    def __init__(self, system: str, source: str) -> None:
        """Compile the path.

        Raises:
            SystemRefused: The expression is not a JSONPath.
        """
        self._where = f"systems.{system}.http.stream"
        self._source = source
        self._path = _compile(self._where, source)

    def part(self, event: Any) -> str | None:
        """Return the text that the path finds in an event; None if it finds nothing.

        Raises:
            WrongShape: It finds something else; null is nothing.
        """
        found = [each for each in _find_all(self._path, event, self._where) if each is not None]
        for each in found:
            if not isinstance(each, str):
                raise WrongShape(f"{self._where}: expected a text, found {_short(each)}")
        return "".join(found) if found else None

    def fail_empty(self, event: Any, count: int) -> NoReturn:
        """Raise that no event has a part."""
        first = f"has {_keys(event)}" if isinstance(event, dict) else f"is {_short(event)}"
        raise WrongShape(
            f"{self._where}: {self._source!r} finds nothing in {count} events, of which the first "
            f"{first}"
        )


class _Path:
    def __init__(self, section: str, name: str, source: str) -> None:
        self._where = f"{section}.{name}"
        self._name = name
        self._source = source
        self._types, self._expected = _expected(name)
        self._is_list = self._types == (list,)
        self._path = _compile(self._where, source)
        self._stem = _singular_stem(self._path)

    def find(self, reply: Any) -> Any:
        """Return the value, or a list of values, that the path finds; see `JsonPaths.read`."""
        found = _find_all(self._path, reply, self._where)
        if self._path.singular_query():
            if not found:
                self._fail_empty(reply)
            return self._checked(found[0])
        if not found and not _find_all(self._stem, reply, self._where):
            self._fail_empty(reply)
        if self._is_list:
            return self._checked(found)
        if len(found) != 1:
            raise WrongShape(
                f"{self._where}: {self._source!r} finds {len(found)} values: expected one"
            )
        return self._checked(found[0])

    def find_optional(self, reply: Any) -> Any:
        """Return the first value that the path finds, or None."""
        found = _find_all(self._path, reply, self._where)
        return found[0] if found else None

    def _checked(self, value: Any) -> Any:
        if float not in self._types:
            value = whole_number(value)
        is_expected = isinstance(value, self._types) and (
            bool in self._types or not isinstance(value, bool)
        )
        if value is None or is_expected:
            return value
        raise WrongShape(
            f"{self._where}: expected {self._expected} at {self._source!r}, found {_short(value)}"
        )

    def _fail_empty(self, reply: Any) -> None:
        raise WrongShape(f"{self._where}: {self._source!r} finds nothing in {describe(reply)}")


def describe(reply: Any) -> str:
    """Describe a JSON value by its keys, or by its beginning."""
    if not isinstance(reply, dict):
        return f"the reply {_short(reply)}"
    if not reply:
        return "the reply, which is an empty object"
    return f"the reply, which has {_keys(reply)}"


def _keys(found: dict[str, Any]) -> str:
    if not found:
        return "no keys"
    keys = [repr(name)[:_SHOWN] for name in found][:_MOST_KEYS]
    more = f" and {len(found) - len(keys)} more" if len(found) > len(keys) else ""
    return f"the keys {', '.join(keys)}{more}"


def _compile(where: str, source: str) -> JSONPath:
    """Return a compiled path.

    Raises:
        SystemRefused: The expression is not a JSONPath.
    """
    import jsonpath

    environment = jsonpath.JSONPathEnvironment(strict=True)
    try:
        compiled = environment.compile(source)
    except jsonpath.JSONPathError as error:
        token = error.token
        # The library counts from 0, and the end is -1.
        number = len(source) if token is None or token.index < 0 else token.index + 1
        place = f" at character {number}" if source else ""
        raise SystemRefused(
            f"{where}: {source!r} is not a JSONPath{place}: {error.message}; a path begins "
            "with `$`, such as `$.answer` or `$.hits[*].text`"
        ) from None
    except RecursionError:
        raise SystemRefused(f"{where}: the path is nested too deeply") from None
    assert isinstance(compiled, jsonpath.JSONPath)  # noqa: S101 - RFC 9535 has no other
    return compiled


def _find_all(path: JSONPath, reply: Any, where: str) -> list[Any]:
    """Return all values that a path finds.

    Raises:
        WrongShape: The reply is nested too deeply.
    """
    import jsonpath

    # A path of a text or a number alone would be read as JSON in a text.
    if not isinstance(reply, dict | list):
        return [reply] if not path.segments else []
    try:
        return path.findall(reply)
    except (jsonpath.JSONPathError, RecursionError) as error:
        reason = getattr(error, "message", None) or "nested too deeply"
        raise WrongShape(f"{where}: {str(path)!r}: {reason}") from None


def _singular_stem(path: JSONPath) -> JSONPath:
    """Return the beginning of a path up to where it can find several values."""
    from jsonpath import JSONPath

    segments = list(path.segments)
    while not JSONPath(env=path.env, segments=segments).singular_query():
        segments.pop()
    return JSONPath(env=path.env, segments=segments)


def _retrieved_field(name: str) -> str | None:
    prefix, _, field = name.partition(".")
    return field if prefix == "retrieved" and field else None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
