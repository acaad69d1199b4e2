"""A matrix of systems: one system for each combination of the values of some keys."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from assets.config_types import AskedSystemName
from orchestration.config.error_messages import describe_unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from orchestration.config.evaluators import ReportFault
    from orchestration.config.system_schema import SystemKeys

MAX_SYSTEMS: Final = 1_000
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = TypeAdapter(AskedSystemName)


@dataclass(frozen=True, slots=True)
class Member:
    """A system of the configuration.

    Attributes:
        name: Its name.
        keys: Its keys.
        positions: The position of its value of each key of the matrix; empty without one.
    """

    name: str
    keys: SystemKeys
    positions: Mapping[str, int]

    def locate(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return the path of one of its keys, below that of its entry, in the document."""
        if path and path[0] in self.positions:
            return ("matrix", path[0], self.positions[str(path[0])], *path[1:])
        return path


def expand_system(
    name: str, keys: SystemKeys, taken: Collection[str], report: ReportFault
) -> list[Member]:
    """Return the systems that an entry of `systems` stands for; report what is wrong with them.

    Args:
        name: The name of the entry.
        keys: Its keys.
        taken: The names of other systems.
        report: Reports a fault.
    """
    given: dict[str, Any] = dict(keys)
    matrix, pattern = given.pop("matrix"), given.pop("names")
    path = ("systems", name)
    if matrix is None:
        if pattern is not None:
            report(f"systems.{name}.names: there is no `matrix` whose systems it names", *path)
        return [Member(name, keys.model_copy(update={"names": None}), {})]
    where = f"systems.{name}.matrix"
    if not matrix:
        report(f"{where}: expected at least one key with a list of values", *path, "matrix")
    for key in [key for key in matrix if key in keys.model_fields_set]:
        message = f"{where}.{key}: the key {key!r} is given beside the matrix, too"
        report(message, *path, "matrix", key)
    count = math.prod(map(len, matrix.values()))
    if count > MAX_SYSTEMS:
        message = f"{where}: expected at most {MAX_SYSTEMS:,} combinations, found {count:,}"
        report(message, *path, "matrix")
        return []
    members: list[Member] = []
    for positions in product(*(range(len(values)) for values in matrix.values())):
        at = dict(zip(matrix, positions, strict=True))
        values = {key: matrix[key][position] for key, position in at.items()}
        own = keys.model_copy(update={**values, "matrix": None, "names": None})
        if pattern is None:
            member = "-".join([name, *(str(position + 1) for position in positions)])
        else:
            member = _fill(pattern, {"name": name, **values})
        members.append(Member(member, own, at))
    key = "matrix" if pattern is None else "names"
    for message in _name_faults(members, matrix, pattern, taken):
        report(f"systems.{name}.{key}: {message}", *path, key)
    return members


def _fill(pattern: str, values: Mapping[str, Any]) -> str:
    """Return a name with values in place of placeholders, where these are texts or numbers."""

    def write(found: re.Match[str]) -> str:
        value = values.get(found[1])
        if not _is_text(value):
            return found[0]
        return f"{value:g}" if isinstance(value, float) else str(value)

    return _PLACEHOLDER.sub(write, pattern)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _name_faults(
    members: list[Member], matrix: Mapping[str, Any], pattern: str | None, taken: Collection[str]
) -> Iterator[str]:
    """Yield what is wrong with the names of the systems of a matrix."""
    for key in _PLACEHOLDER.findall(pattern or ""):
        if key not in {"name", *matrix}:
            yield describe_unknown(f"placeholder {{{key}}}", key, ["name", *matrix])
            return
        if not all(_is_text(value) for value in matrix.get(key, ())):
            yield (
                f"{{{key}}} stands for values that are not texts or numbers; without `names` the "
                "systems are numbered"
            )
            return
    names = [member.name for member in members]
    unsafe = {name: reason for name in names if (reason := _unsafe_reason(name)) is not None}
    if unsafe:
        hint = "" if pattern is None else "; without `names` the systems are numbered"
        yield f"{next(iter(unsafe.values()))}{_count_more(unsafe)}{hint}"
    clashes = [name for name in dict.fromkeys(names) if name in taken]
    if clashes:
        yield f"the name {clashes[0]!r} is that of another system{_count_more(clashes)}"
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        yield (
            f"several combinations have the name {repeated[0]!r}{_count_more(repeated)}: expected "
            f"a placeholder for each of {', '.join(matrix)}, and values that differ"
        )


def _unsafe_reason(name: str) -> str | None:
    """Return why a name is not that of a system; null if it may be."""
    try:
        _NAME.validate_python(name)
    except ValidationError as error:
        return error.errors(include_url=False)[0]["msg"]
    return None


def _count_more(names: Collection[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""
