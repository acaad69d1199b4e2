"""Inputs of `evaluate`: frames, rows and paths become the files of one benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from records.document import Document
from records.error_messages import RecordError
from records.prediction import Prediction
from records.question import Question
from scoreline.row_files import AnswerColumns, RowFiles, is_path, merged, opened
from scoreline.text_ids import TextIds
from warehouse.errors import InputError, Problem
from warehouse.formats.columns import Columns
from warehouse.formats.paths import expand
from warehouse.formats.readers.field_names import (
    PREDICTION_ALIASES,
    QUESTION_ALIASES,
    FieldNames,
)
from warehouse.ingest.load import alias_notes
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from collections.abc import Collection

    from assets.project import Benchmark

Rows: TypeAlias = Any
"""A Polars, pandas or Arrow frame, dicts, or a path."""

ONLY_SYSTEM: Final = "system"
"""The name of the system whose answers rows without a system are."""


@dataclass
class InputFolder:
    """Writes rows as canonical files into a folder, and remembers what each file stands for.

    Attributes:
        folder: The folder.
        origins: What each file was written from, for error messages.
        rows: The row behind each line of a file.
        texts: The ids of questions by their text.
        has_systems: Whether a row of answers names its system.
        aliases: The fields by well-known name that were read as such, by origin.
        answers: The columns of rows of answers.
    """

    folder: Path
    origins: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[str]] = field(default_factory=dict)
    texts: TextIds = field(default_factory=TextIds)
    has_systems: bool = False
    aliases: dict[Path, dict[str, str]] = field(default_factory=dict)
    answers: AnswerColumns = field(default_factory=AnswerColumns)

    def files(
        self,
        benchmark: str,
        questions: Rows,
        predictions: Rows,
        documents: Rows | None,
        settings: Benchmark,
    ) -> BenchmarkFiles:
        """Return the files of a benchmark; paths are used as they are.

        Raises:
            InputError: Something is neither rows nor a path, a path matches no file, or a column is
                missing.
        """
        columns = settings.columns
        # One frame may hold questions and answers, a row for each answer.
        if predictions is None:
            questions, predictions = None, questions
        is_combined = questions is None or questions is predictions
        if is_combined:
            questions, predictions = None, opened(predictions)
        self.answers = AnswerColumns.of(settings, is_combined=is_combined)
        predictions, documents = _read_once(predictions), _read_once(documents)
        questions = _combined(predictions) if questions is None else _read_once(questions)
        is_one = not isinstance(predictions, Mapping) or len(predictions) == 1
        self.texts = TextIds(is_combined, columns.tags, has_row_ids=is_combined and is_one)
        answers = predictions.values() if isinstance(predictions, Mapping) else [predictions]
        # Rows get the names of fields here, so that the files need not be read row by row.
        read = Columns(
            questions=columns.questions if is_path(questions) else {},
            predictions=columns.predictions if any(map(is_path, answers)) else {},
            systems=columns.systems if any(map(is_path, answers)) else {},
            documents=columns.documents if is_path(documents) else {},
            tags=columns.tags,
        )
        return BenchmarkFiles(
            benchmark=benchmark,
            format="canonical",
            questions=self._files("questions", questions, columns),
            documents=[] if documents is None else self._files("documents", documents, columns),
            predictions=list(self._prediction_files(predictions, columns)),
            columns=read,
            missing=settings.missing,
            renamed=frozenset(map(Path, self.origins)),
        )

    def name_origins(self, error: InputError) -> InputError:
        """Return an error about rows of a frame instead of lines of a file written from it."""
        return InputError([self._renamed(problem) for problem in error.problems])

    def name_notes(self, notes: Iterable[str]) -> list[str]:
        """Return notes on inputs with those on names of columns, without names of files written."""
        return [*alias_notes(self.aliases), *map(self._without_files, notes)]

    def _prediction_files(self, given: Rows, columns: Columns) -> Iterator[tuple[Path, str | None]]:
        if not isinstance(given, Mapping):
            if is_path(given):
                yield from expand(given)
            else:
                path = self._write("predictions", "predictions", given, columns)
                yield path, None if self.has_systems else ONLY_SYSTEM
            return
        if not given:
            raise InputError([Problem("predictions", None, "expected at least one system")])
        for number, (system, rows) in enumerate(given.items()):
            name = f"predictions[{system!r}]"
            if is_path(rows):
                yield from ((path, str(system)) for path, _ in expand(rows))
            else:
                path = self._write("predictions", name, rows, columns, number, str(system))
                yield path, str(system)

    def _files(self, kind: str, given: Rows, columns: Columns) -> list[Path]:
        if is_path(given):
            return [path for path, _ in expand(given)]
        return [self._write(kind, kind, given, columns)]

    def _write(
        self,
        kind: str,
        origin: str,
        given: Rows,
        columns: Columns,
        number: int = 0,
        system: str | None = None,
    ) -> Path:
        path = self.folder / f"{kind}-{number}.jsonl"
        if isinstance(given, RowFiles) and len(given.paths) == 1:
            origin = str(given.paths[0])
        self.origins[str(path)] = origin
        fields, aliases = _KINDS[kind]
        used: dict[str, str] = {}
        given_names = (
            columns.predictions_of(system) if kind == "predictions" else getattr(columns, kind)
        )
        all_names: list[FieldNames] = []

        def names_of(file: Path) -> FieldNames:
            required = next(iter(fields))
            names = FieldNames(file, fields, given_names, aliases, used=used, required=required)
            names.has_id = kind == "documents" or not self.texts.has_row_ids
            all_names.append(names)
            return names

        nameless: str | None = None
        with path.open("w", encoding="utf-8") as file:
            for at, (where, row) in enumerate(self._named_rows(kind, given, origin, names_of)):
                try:
                    is_named = kind == "predictions" and "system" in row
                    self.has_systems |= is_named
                    nameless = nameless or (None if is_named else where)
                    named = self._identified(kind, row, where, at)
                    if named is None:
                        continue
                    _require_system(named, system)
                    line = _as_json(named)
                except (RecordError, TypeError, ValueError) as error:
                    raise InputError([Problem(where, None, str(error))]) from error
                file.write(line + "\n")
                self.rows.setdefault(str(path), []).append(where)
        if str(path) not in self.rows:
            raise InputError([Problem(origin, None, "there are no rows")])
        if kind == "predictions":
            self._require_systems(nameless, system)
            self.answers.require_answers(origin, merged(all_names))
        if used:
            self.aliases[Path(origin)] = used
        return path

    def _require_systems(self, nameless: str | None, system: str | None) -> None:
        """Check that all rows of answers name their systems, or none does.

        Raises:
            InputError: A row, the first of them given, does not, although others do.
        """
        if nameless is not None and self.has_systems and system is None:
            message = "system: missing; name it in every row, as in others, or in none"
            raise InputError([Problem(nameless, None, message)])

    def _named_rows(
        self, kind: str, given: Rows, origin: str, names_of: Callable[[Path], FieldNames]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each row under the names of fields, after what messages call it."""
        if isinstance(given, RowFiles):
            yield from given.read(Question if kind == "questions" else Prediction, names_of)
            return
        names = names_of(Path(origin))
        names.needs_columns = True
        header, rows = as_rows(given, origin)
        if header is not None:
            names.has_id &= kind == "documents" or not TextIds.in_header(header, names.targets)
            names.check_header(header, None)
        for at, row in enumerate(rows):
            where = f"{origin}[{at}]"
            try:
                yield where, names.rename(row)
            except RecordError as error:
                raise InputError([Problem(where, None, str(error))]) from error
        names.require_columns()

    def _identified(
        self, kind: str, row: dict[str, Any], origin: str, at: int
    ) -> dict[str, Any] | None:
        """Return a row with the id of its question; null for a question that repeats another."""
        if kind == "predictions":
            return self.texts.answer(row)
        if kind == "questions":
            if self.texts.is_combined or "question_id" not in row:
                row = json.loads(json.dumps(row, default=_plain))
            return self.texts.question(row, origin, at)
        return row

    def _without_files(self, message: str) -> str:
        for path, name in self.origins.items():
            if path in message:
                line = re.compile(rf"{re.escape(path)}:(\d+)")
                message = line.sub(partial(self._row, path), message).replace(path, name)
        return message

    def _row(self, path: str, line: re.Match[str]) -> str:
        """Return the name of the row that a line of a file was written from."""
        return self.rows[path][int(line[1]) - 1]

    def _renamed(self, problem: Problem) -> Problem:
        origin = self.origins.get(str(problem.file))
        message = self._without_files(problem.message)
        if origin is None:
            return Problem(problem.file, problem.line, message)
        # A file without rows has problems, but no line.
        row = origin if problem.line is None else self.rows[str(problem.file)][problem.line - 1]
        if not self.has_systems and message.startswith(f"a second prediction of {ONLY_SYSTEM!r}"):
            message += self.answers.system_hint()
        return Problem(row, None, message)


_KINDS: Final[Mapping[str, tuple[Collection[str], Mapping[str, str]]]] = {
    "questions": (Question.annotations().keys(), QUESTION_ALIASES),
    "predictions": (Prediction.annotations().keys(), PREDICTION_ALIASES),
    "documents": (Document.annotations().keys(), {}),
}
"""The fields of each kind of rows, the required one first, and their aliases."""


def _combined(predictions: Rows) -> Rows:
    """Return the rows of all systems, which hold the questions."""
    is_mapping = isinstance(predictions, Mapping)
    parts = dict(predictions) if is_mapping else {None: predictions}
    if any(isinstance(part, RowFiles) for part in parts.values()):
        return RowFiles([path for part in parts.values() for path in part.paths])
    return [
        row
        for name, part in parts.items()
        for row in as_rows(part, f"predictions[{name!r}]" if is_mapping else "predictions")[1]
    ]


def _read_once(given: Rows) -> Rows:
    """Return rows that can be read repeatedly: those of an iterator, also by system, as a list."""
    if isinstance(given, Mapping):
        return {name: _read_once(rows) for name, rows in given.items()}
    return list(given) if isinstance(given, Iterator) else given


def as_rows(given: Rows, origin: str) -> tuple[list[str] | None, Iterable[dict[str, Any]]]:
    """Return the columns of a frame (null for a list), and its rows without missing values.

    Raises:
        InputError: It is neither.
    """
    frame = _frame(given)
    if frame is not None:
        return frame.columns, (_without_missing(row) for row in frame.iter_rows(named=True))
    if isinstance(given, Iterable):
        rows = list(given)
        if all(isinstance(row, Mapping) for row in rows):
            return None, [dict(row) for row in rows]
    raise InputError(
        [
            Problem(
                origin,
                None,
                "expected a Polars, pandas or Arrow frame, a list of dicts or a path, found "
                f"{type(given).__name__}",
            )
        ]
    )


def _without_missing(value: Any) -> Any:
    """Return a value without null members: the rows of a column share the names of all of them."""
    if isinstance(value, dict):
        return {key: _without_missing(each) for key, each in value.items() if each is not None}
    return list(map(_without_missing, value)) if isinstance(value, list) else value


def _frame(given: Rows) -> pl.DataFrame | None:
    """Return a Polars frame of any frame; null if it is none."""
    if isinstance(given, pl.LazyFrame):
        return given.collect()
    if isinstance(given, pl.DataFrame):
        return given
    if hasattr(given, "to_pandas") and hasattr(given, "__arrow_c_stream__"):
        found = pl.from_arrow(given)
    elif type(given).__module__.partition(".")[0] == "pandas":
        found = pl.from_pandas(given, nan_to_null=True)
    elif hasattr(given, "__arrow_c_stream__"):
        found = pl.DataFrame(given)
    else:
        return None
    return found if isinstance(found, pl.DataFrame) else None


def _require_system(row: Mapping[str, Any], key: str | None) -> None:
    """Check that a row does not name another system than the key of its rows.

    Raises:
        RecordError: It does.
    """
    if key is not None and row.get("system") not in (None, key):
        raise RecordError([f"system: the row says {row['system']!r}, its key {key!r}"])


def _as_json(row: Mapping[str, Any]) -> str:
    """Return a row as JSON.

    Raises:
        RecordError: A field holds NaN, an infinite number, or half of a surrogate pair.
        TypeError: A value has no form in JSON.
        ValueError: A value refers to itself.
    """
    try:
        line = json.dumps(row, ensure_ascii=False, default=_plain, allow_nan=False)
        line.encode()
    except UnicodeEncodeError:
        raise RecordError(["expected text, found half of a surrogate pair"]) from None
    except ValueError:
        for name, value in row.items():
            refused: list[str] = []
            json.loads(json.dumps(value, default=_plain), parse_constant=refused.append)
            if refused:
                message = f"{name}: {refused[0]} is not a number; use None for what is not given"
                raise RecordError([message]) from None
        raise
    return line


def _plain(value: object) -> object:
    """Return a value of NumPy as a plain one, and a time as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"expected JSON values, found {type(value).__name__}")
