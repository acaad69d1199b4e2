"""Names the columns of a file after fields: by configuration, or by well-known aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError
from warehouse.errors import InputError, Problem, closest_match
from warehouse.formats.columns import NO_COLUMNS, Conversion, field_of
from warehouse.formats.readers.cells.lists import LISTS, PARTS, items, parse
from warehouse.formats.readers.strict_json import is_list

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from warehouse.formats.columns import Target

QUESTION_ALIASES: Final[Mapping[str, str]] = {
    "id": "question_id",
    "query": "question",
    "user_input": "question",
    "ground_truth": "expected_answer",
    "reference": "expected_answer",
}
"""Names that other tools give to fields of questions."""

PREDICTION_ALIASES: Final[Mapping[str, str]] = {
    "id": "question_id",
    "response": "answer",
    "retrieved_contexts": "contexts",
    "context": "contexts",
}
"""Names that other tools give to fields of predictions."""

GIVEN_BY: Final[Mapping[str, str]] = {"contexts": "retrieved"}
"""Fields that another field provides, too."""

PARTS_OF: Final[Mapping[str, str]] = {
    "retrieved": "doc_id",
    **{name: name.removeprefix("retrieved.") for name in PARTS},
}
"""The members of a retrieved document by the field that lists them; a plain list is of ids."""

MAX_SHOWN: Final = 12
"""The number of columns that a message lists."""

MAX_CACHED: Final = 1_000
"""The rows with different columns whose names are kept at once."""

MAX_SEEN: Final = 10_000
"""The number of columns that are kept for messages; rows of JSON may each have others."""

DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tab"}


class FieldNames:
    """Gives the columns of one file the names of fields.

    A column is named by `columns` of its source. If no column provides a field, an alias does.
    Aliases that were used are noted in the source.

    Attributes:
        known: The names of fields; the delimiter of a CSV file is the one with which its header
            contains them.
        targets: The fields by column, as configured.
        written: The columns by field where they differ, for error messages.
        has_id: Whether the header must contain the required field.
        needs_columns: Whether a column may not be missing because rows have its field; a header
            sets it.
        notes: Collects notes on the file.
        texts: The field with the passages, which belong to ids in columns of their own.
    """

    def __init__(
        self,
        path: Path,
        known: Collection[str],
        columns: Mapping[str, Target] = NO_COLUMNS,
        aliases: Mapping[str, str] = NO_COLUMNS,
        *,
        used: dict[str, str] | None = None,
        required: str | None = None,
        with_json: bool = False,
    ) -> None:
        """Prepare the names of a file.

        Args:
            path: The file.
            known: The names of fields.
            columns: Fields by column, as configured, with the scales of their values.
            aliases: Fields by alias.
            used: Collects the aliases that were used.
            required: The field that every row has.
            with_json: Whether a text may be a JSON list.
        """
        self.known = {*known, *columns, *aliases}
        self.targets = columns
        self.written: dict[str, str] = {}
        self.has_id = True
        self.notes: list[str] = []
        self.texts = "contexts"
        self._path = path
        self._columns = {name: field_of(target) for name, target in columns.items()}
        self._conversions = {
            name: target for name, target in columns.items() if isinstance(target, Conversion)
        }
        self._aliases = aliases
        self._used = {} if used is None else used
        self._required = required
        self._with_json = with_json
        self._cache: dict[tuple[str, ...], dict[str, str]] = {}
        self._seen: dict[str, None] = {}
        self._delimiter: str | None = None
        self.needs_columns = False

    def rename(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row under the names of fields.

        An alias counts where the row has no value for the field itself, whatever other rows have.
        One text under another name than `contexts` is a list of one context.

        Raises:
            RecordError: Two columns provide one field.
        """
        names = self.fields(tuple(row))
        if None in row.values():
            row = {name: value for name, value in row.items() if value is not None}
            names = self.fields(tuple(row))
        if not names:
            return row
        named = {
            names.get(name, name): self.convert(name, value) if self._columns else value
            for name, value in row.items()
        }
        text = named.get("contexts")
        if isinstance(text, str) and "contexts" not in row:
            named["contexts"] = text if self._with_json and is_list(text) else [text]
        return self.pair(named)

    def is_list(self, column: str) -> bool:
        """Return whether `columns` names a column after a field that is a list."""
        return self._columns.get(column) in LISTS

    def convert(self, column: str, value: object) -> object:
        """Return the value of a column in the unit of its field, and the items of a list.

        Raises:
            RecordError: A text is not a list of such items.
        """
        conversion = self._conversions.get(column)
        kind = LISTS.get(self._columns.get(column, ""))
        if kind is not None:
            return items(value, kind, column, None if conversion is None else conversion.separator)
        return value if conversion is None else conversion.convert(value)

    def pair(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row in which columns of ids, texts, scores are one list of what was retrieved.

        Ids without a column of their texts belong to the contexts of the row.

        Raises:
            RecordError: There are not as many of one as of another.
        """
        given = {name: PARTS_OF[name] for name in self._columns.values() if name in PARTS_OF}
        lists = {
            part: row[name]
            for name, part in given.items()
            if isinstance(row.get(name), list) and not any(isinstance(e, dict) for e in row[name])
        }
        if not lists:
            return row
        texts = row.get(self.texts)
        if "text" not in lists and texts is not None:
            lists["text"] = parse(texts, self.texts) if isinstance(texts, str) else texts
        written = {part: self.written.get(name, name) for name, part in given.items()}
        written.setdefault("text", self.written.get(self.texts, self.texts))
        (first, values), *others = lists.items()
        for part, other in others:
            if not isinstance(other, list) or len(other) != len(values):
                count = len(other) if isinstance(other, list) else 1
                message = f"{written[part]}: expected as many items as {written[first]} has, "
                raise RecordError([message + f"{len(values)}, found {count}"])
        kept = {name: value for name, value in row.items() if PARTS_OF.get(name) not in lists}
        kept.pop(self.texts if "text" in lists else "", None)
        retrieved = [
            dict(zip(lists, each, strict=True)) for each in zip(*lists.values(), strict=True)
        ]
        return {**kept, "retrieved": retrieved}

    def fields(self, columns: tuple[str, ...]) -> Mapping[str, str]:
        """Return the field of each of these columns that has another name.

        Raises:
            RecordError: Two columns provide one field.
        """
        if columns not in self._cache:
            if len(self._cache) == MAX_CACHED:
                self._cache.clear()
            is_full = len(self._seen) >= MAX_SEEN
            self._seen |= {name: None for name in columns if not is_full or name in self._columns}
            self._cache[columns] = self._fields(columns)
        return self._cache[columns]

    def _fields(self, columns: tuple[str, ...]) -> dict[str, str]:
        names = {name: self._columns[name] for name in columns if name in self._columns}
        sources: dict[str, str] = {}
        for name in columns:
            field = names.get(name, name)
            if field in sources:
                self._refuse(field, sources[field], name)
            sources[field] = name
        found: dict[str, str] = {}
        for name in columns:
            if name in names or name not in self._aliases:
                continue
            field = self._aliases[name]
            if field in sources or GIVEN_BY.get(field) in sources:
                continue
            if field in found:
                self._refuse(field, found[field], name)
            found[field] = name
        aliases = {name: field for field, name in found.items()}
        self._used |= aliases
        names |= aliases
        self.written |= {field: name for name, field in names.items()}
        return names

    @staticmethod
    def _refuse(field: str, first: str, second: str) -> None:
        reason = f"{field}: expected one column, found {first!r} and {second!r}: "
        reason += "name the one to read in `columns`, or rename a column of the file"
        raise RecordError([reason])

    def check_header(
        self, columns: Sequence[str], line: int | None, delimiter: str | None = None
    ) -> Mapping[str, str]:
        """Return the fields by column of a file whose rows all have the same columns.

        Raises:
            InputError: A column that `columns` names or the required field is missing, or two
                columns provide one field.
        """
        self._delimiter, self.needs_columns = delimiter, True
        try:
            names = self.fields(tuple(columns))
        except RecordError as error:
            raise InputError([Problem(self._path, line, str(error))]) from None
        self.require_columns(line)
        field = self._required if self.has_id else None
        if field is not None and field not in {names.get(name, name) for name in columns}:
            reason = f"no column {field!r}{self.describe(field)}"
            raise InputError([Problem(self._path, line, reason)])
        return names

    def require_columns(self, line: int | None = None) -> None:
        """Check that the file has the columns that `columns` names, at its end or at its header.

        Raises:
            InputError: It lacks one; names the columns that it has.
        """
        missing = [
            name
            for name, field in self._columns.items()
            if self._seen and name not in self._seen and not self._may_lack(name, field)
        ]
        if missing:
            reason = f"no column {missing[0]!r}, which `columns` names"
            reason += self.describe(missing[0])
            raise InputError([Problem(self._path, line, reason)])

    def _may_lack(self, column: str, field: str) -> bool:
        """Return whether a file may lack a column: it is optional, or rows have the field itself.

        Such rows are those that `scoreline generate` writes. A header is rather a mistake.
        """
        conversion = self._conversions.get(column)
        is_field = field in self._seen and not self.needs_columns
        return is_field or (conversion is not None and conversion.optional)

    def by_column(self) -> dict[str, str]:
        """Return the field of each column that was seen; its own name where it has none."""
        fields = {column: name for name, column in self.written.items()}
        return {column: fields.get(column, column) for column in self._seen}

    def describe(self, missing: str) -> str:
        """Return the end of a message about a missing column: those found, and a near name."""
        columns = list(self._seen)
        shown = ", ".join(repr(name) for name in columns[:MAX_SHOWN])
        more = f" and {len(columns) - MAX_SHOWN} more" if len(columns) > MAX_SHOWN else ""
        separated = f" (delimiter: {DELIMITERS[self._delimiter]})" if self._delimiter else ""
        free = [name for name in columns if name not in self._columns and name not in self.known]
        close = closest_match(missing, free)
        if close is None and missing == self._required:
            hint = "; to read another column as it, set `columns`"
        else:
            hint = "" if close is None else f"; did you mean {close!r}?"
        return f"; found {shown}{more}{separated}{hint}"

    def explain(self, error: RecordError) -> RecordError:
        """Return the error of a row, with the columns found if the required field is missing."""
        field = self._required
        return RecordError(
            [
                each + self.describe(field) if field and each == f"{field}: missing" else each
                for each in error.sentences
            ]
        )
