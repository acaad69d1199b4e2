"""Selects the files from which a format reads questions and documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import InputError, Problem, WarehouseError
from warehouse.formats.format import Source
from warehouse.formats.paths import invalid_name_reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.formats.format import Format


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of questions and of documents."""

    questions: tuple[Source, ...]
    documents: tuple[Source, ...]


def select_sources(
    chosen: Format,
    benchmark: str,
    questions: Sequence[Path],
    documents: Sequence[Path],
    predictions: Sequence[tuple[Path, str | None]],
) -> Sources:
    """Return the files from which a format reads questions and documents.

    Raises:
        WarehouseError: Required files are missing, or the format does not have such files.
        InputError: The system named by a path is not a valid name.
    """
    require_valid_systems(predictions)
    if chosen.questions_from == "predictions":
        if questions or documents:
            raise WarehouseError(
                f"the format {chosen.name!r} reads questions and documents from the predictions: "
                "leave out `questions` and `documents`"
            )
        if not predictions:
            raise WarehouseError(f"benchmark {benchmark!r} has no files of predictions")
        files = tuple(Source(path, system) for path, system in predictions)
        return Sources(files, files if chosen.documents is not None else ())
    if documents and chosen.documents is None:
        raise WarehouseError(f"the format {chosen.name!r} has no documents")
    if not questions:
        raise WarehouseError(f"benchmark {benchmark!r} has no files of questions")
    answers = tuple(path for path, _ in predictions) if chosen.questions_from == "both" else ()
    return Sources(
        tuple(Source(path, answered_in=answers) for path in questions),
        tuple(Source(path) for path in documents),
    )


def require_valid_systems(files: Sequence[tuple[Path, str | None]]) -> None:
    """Check the systems named by paths.

    Raises:
        InputError: A name is not valid.
    """
    problems = [
        Problem(path, None, reason)
        for path, system in files
        if system is not None and (reason := invalid_name_reason(system)) is not None
    ]
    if problems:
        raise InputError(problems)
