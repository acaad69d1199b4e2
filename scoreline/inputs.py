"""Inputs of `evaluate`: frames, rows and paths become the files of one benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from warehouse.errors import InputError, Problem
from warehouse.formats.paths import expand
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Rows: TypeAlias = Any
"""A Polars, pandas or Arrow frame, a list of dicts, or a path."""


@dataclass
class InputFolder:
    """Writes rows as canonical files into a folder, and remembers what each file stands for.

    Attributes:
        folder: The folder.
        columns: Other names of fields, by the name of the column.
        tags: Columns that become tags of questions.
        origins: What each file was written from, for error messages.
    """

    folder: Path
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tags: Sequence[str] = ()
    origins: dict[str, str] = field(default_factory=dict)

    def files(
        self, benchmark: str, questions: Rows, predictions: Rows, documents: Rows | None
    ) -> BenchmarkFiles:
        """Return the files of a benchmark; paths are used as they are.

        Raises:
            InputError: Something is neither rows nor a path, or a path matches no file.
        """
        return BenchmarkFiles(
            benchmark=benchmark,
            format="canonical",
            questions=self._files("questions", questions),
            documents=[] if documents is None else self._files("documents", documents),
            predictions=list(self._prediction_files(predictions)),
        )

    def name_origins(self, error: InputError) -> InputError:
        """Return an error about rows of a frame instead of lines of a file written from it."""
        return InputError([self._renamed(problem) for problem in error.problems])

    def _prediction_files(self, given: Rows) -> Iterator[tuple[Path, str | None]]:
        if not isinstance(given, Mapping):
            if is_path(given):
                yield from expand(given)
            else:
                yield self._write("predictions", "predictions", given), None
            return
        if not given:
            raise InputError([Problem("predictions", None, "expected at least one system")])
        for number, (system, rows) in enumerate(given.items()):
            name = f"predictions[{system!r}]"
            if is_path(rows):
                yield from ((path, str(system)) for path, _ in expand(rows))
            else:
                yield self._write("predictions", name, rows, number), str(system)

    def _files(self, kind: str, given: Rows) -> list[Path]:
        if is_path(given):
            return [path for path, _ in expand(given)]
        return [self._write(kind, kind, given)]

    def _write(self, kind: str, origin: str, given: Rows, number: int = 0) -> Path:
        path = self.folder / f"{kind}-{number}.jsonl"
        self.origins[str(path)] = origin
        renamed = self.columns.get(kind, {})
        with path.open("w", encoding="utf-8") as file:
            for at, row in enumerate(as_rows(given, origin)):
                named = {renamed.get(name, name): value for name, value in row.items()}
                if kind == "questions" and self.tags:
                    named = self._with_tags(named)
                try:
                    line = json.dumps(named, ensure_ascii=False, default=_plain)
                except (TypeError, ValueError) as error:
                    raise InputError([Problem(f"{origin}[{at}]", None, str(error))]) from error
                file.write(line + "\n")
        return path

    def _with_tags(self, row: dict[str, Any]) -> dict[str, Any]:
        tags = dict(row.get("tags") or {})
        for name in self.tags:
            value = row.pop(name, None)
            if value is not None:
                tags[name] = str(value)
        return {**row, "tags": tags} if tags else row

    def _renamed(self, problem: Problem) -> Problem:
        origin = self.origins.get(str(problem.file))
        message = problem.message
        for path, name in self.origins.items():
            message = message.replace(path, name)
        if origin is None:
            return Problem(problem.file, problem.line, message)
        row = "" if problem.line is None else f"[{problem.line - 1}]"
        return Problem(origin + row, None, message)


def is_path(given: object) -> bool:
    """Return whether an input is a path or a pattern."""
    return isinstance(given, str | Path)


def as_rows(given: Rows, origin: str) -> Iterable[Mapping[str, Any]]:
    """Return the rows of a frame or a list, without the missing values of frames.

    Raises:
        InputError: It is neither.
    """
    frame = _frame(given)
    if frame is not None:
        return (
            {name: value for name, value in row.items() if value is not None}
            for row in frame.iter_rows(named=True)
        )
    if isinstance(given, Iterable):
        rows = list(given)
        if all(isinstance(row, Mapping) for row in rows):
            return rows
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


def _plain(value: object) -> object:
    """Return a value of NumPy as a plain one, and a time as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"expected JSON values, found {type(value).__name__}")
