"""A typed decoder of JSON Lines: one strict pass over rows whose values need no conversion.

What it accepts, validation of the record accepts, too, and leaves as it is; only whole numbers
become texts where the record says so. It refuses too much rather than too little: rows that need a
validator of their own are left to validation. So is what it cannot see: rules about several fields,
and names that occur twice in an object, of which it takes the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Union

import msgspec

from records.columns import column_of
from records.decoded_types import OTHER, PRINTABLE, Unsupported, decoded_type, required

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from records.record import Record

MAX_OTHERS: Final = 200
"""The number of unknown members that the rows of a file may have."""

BLANK: Final = b" \t\r\n"
"""What a line without a row consists of."""

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_INVALID: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class NotDecoded(Exception):  # noqa: N818 - not a failure
    """A row is not valid, or only validation can read it; the message says why."""


@dataclass(slots=True)
class Members:
    """The members of the objects of one record that have occurred.

    Attributes:
        record: The record.
        known: Its fields that have occurred, and those that every record has.
        others: The other members, and whether one of their values was a list or an object.
    """

    record: type[Record]
    known: set[str] = field(default_factory=set)
    others: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the fields that every record has."""
        self.known |= required(self.record)

    @property
    def nested(self) -> list[str]:
        """The attributes of structs with lists or objects that are values of unknown members."""
        return [_attribute(at) for at, is_nested in enumerate(self.others.values()) if is_nested]

    def add(self, members: Mapping[str, Any]) -> bool:
        """Add the members of an object; return whether there was anything new."""
        before = len(self.known), dict(self.others)
        for name, value in members.items():
            if name in self.record.annotations():
                self.known.add(name)
            else:
                is_nested = isinstance(value, dict | list)
                self.others[name] = is_nested or self.others.get(name, False)
        return (len(self.known), self.others) != before

    def struct(self, types: Mapping[str, Any], needed: set[str]) -> type[msgspec.Struct]:
        """Return a struct of the members that have occurred, with values of some types.

        Raises:
            NotDecoded: There are too many, or one has an unusual name.
        """
        if len(self.others) > MAX_OTHERS:
            raise NotDecoded("there are too many unknown fields")
        members: list[Any] = []
        for name in sorted(self.known, key=needed.__contains__, reverse=True):
            type_ = types[name]
            is_needed = name in needed
            members.append((name, type_) if is_needed else (name, Union[type_, None], None))  # noqa: UP007
        others = {_attribute(at): name for at, name in enumerate(self.others)}
        for attribute, name in others.items():
            members.append((attribute, msgspec.Raw if self.others[name] else OTHER, None))
        try:
            return msgspec.defstruct(
                self.record.__name__, members, rename=others, forbid_unknown_fields=True, gc=False
            )
        except ValueError as error:
            raise NotDecoded(str(error)) from error


def _attribute(number: int) -> str:
    return f"other_{number}"


def _is_clear(line: bytes) -> bool:
    """Return whether no name in a line can have control characters, which is so in most lines.

    To search each name takes three times as long as to decode the line.
    """
    return line.isascii() and b"\\" not in line and b"\x7f" not in line


class Decoder:
    """Decodes the rows of a file, and finds out which members they have.

    It declares only the members that have occurred. A row with another one is parsed once more to
    see which.

    Attributes:
        row: The members of rows.
        items: By field, the members of the objects in its list.
        nested: By field (null: the row itself), the attributes with lists or objects that are
            values of unknown members.
    """

    def __init__(
        self,
        record: type[Record],
        annotations: Mapping[str, Any] = NOTHING,
        *,
        items: Mapping[str, type[Record]] = NOTHING,
        instead: Mapping[str, Sequence[str]] = NOTHING,
    ) -> None:
        """Prepare to decode the rows of a file.

        Args:
            record: The record.
            annotations: Annotations for the decoder, of fields whose values the caller converts as
                the validators of the record do.
            items: Fields whose values are lists of records that may have unknown members. The
                caller sees to the validators of these records.
            instead: Unknown members that may stand for fields, with these fields. Rows with such a
                member must have a value for the first of the fields that has occurred.
        """
        self.row = Members(record)
        self.items = {name: Members(each) for name, each in items.items()}
        self.nested: dict[str | None, list[str]] = {}
        self._annotations = annotations
        self._instead = instead
        self._decode: dict[str | None, Callable[[bytes], Any]] = {}

    def rows(self, lines: bytes) -> Iterator[Any]:
        """Yield the rows of whole lines as structs, with `None` for members that they lack.

        Raises:
            NotDecoded: A row is not valid, or only validation can read it.
        """
        is_clear = _is_clear(lines)
        for line in lines.split(b"\n"):
            pattern = None if is_clear or _is_clear(line) else PRINTABLE
            try:
                row = self._decode[pattern](line)
            except (KeyError, *_INVALID):
                if not line.strip(BLANK):
                    continue
                row = self._learn(line, pattern)
            yield row

    def nested_values(self, row: Any) -> Iterator[tuple[bytes, int]]:
        """Yield lists and objects that are values of a row's unknown members, as JSON, unchecked.

        Yields:
            The JSON, and how many lists and objects it is in.
        """
        for name, attributes in self.nested.items():
            depth = 1 if name is None else 3
            for members in (row,) if name is None else getattr(row, name) or ():
                for attribute in attributes:
                    value = getattr(members, attribute)
                    if value is not None:
                        yield bytes(value), depth

    def _learn(self, line: bytes, pattern: str | None) -> Any:
        """Learn the members of a row that the decoder refuses, and return the row.

        Raises:
            NotDecoded: It is not refused because of its members.
        """
        while True:
            try:
                if pattern not in self._decode:
                    struct = self._struct(pattern)
                    self._decode[pattern] = msgspec.json.Decoder(struct).decode
                return self._decode[pattern](line)
            except _INVALID as error:
                reason = str(error)
            try:
                row = msgspec.json.decode(line)
            except _INVALID as error:
                raise NotDecoded(str(error)) from error
            if not isinstance(row, dict) or not self._add(row):
                raise NotDecoded(reason)
            self._decode.clear()
            found = [(None, self.row), *self.items.items()]
            self.nested = {name: each.nested for name, each in found if each.nested}

    def _add(self, row: Mapping[str, Any]) -> bool:
        is_new = self.row.add(row)
        for name, members in self.items.items():
            given = row.get(name)
            for each in given if isinstance(given, list) else ():
                is_new |= isinstance(each, dict) and members.add(each)
        return is_new

    def _struct(self, pattern: str | None) -> type[msgspec.Struct]:
        record = self.row.record
        types = {name: self._type(name, pattern) for name in record.annotations()}
        for name, members in self.items.items():
            annotations = members.record.annotations().items()
            inner = {each: decoded_type(type_, pattern) for each, type_ in annotations}
            types[name] = list[members.struct(inner, required(members.record))]  # type: ignore[misc]
        return self.row.struct(types, required(record) | set(self._needed()))

    def _type(self, name: str, pattern: str | None) -> Any:
        """Return the type of a field; that of null if only validation can read its values."""
        record = self.row.record
        annotation = self._annotations.get(name)
        if annotation is None:
            column = column_of(record, name)
            if column is not None and column.is_json:
                return type(None)
            annotation = record.annotations()[name]
        try:
            return decoded_type(annotation, pattern)
        except Unsupported:
            return type(None)

    def _needed(self) -> Iterator[str]:
        """Yield the fields that rows must have because of other members.

        Raises:
            NotDecoded: None has occurred, so that the other member may stand for it.
        """
        for name in self._instead.keys() & self.row.others.keys():
            given = [each for each in self._instead[name] if each in self.row.known]
            if not given:
                raise NotDecoded(f"{name} may stand for {self._instead[name][0]}")
            yield given[0]
