"""Which files a benchmark's questions and documents are read from, by its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import InputError, Problem, WarehouseError
from warehouse.formats.format import Source
from warehouse.formats.paths import unusable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.formats.format import Format


@dataclass(frozen=True, slots=True)
class Sources:
    """The files to read questions from, and those to read documents from."""

    questions: tuple[Source, ...]
    documents: tuple[Source, ...]


def sources(
    chosen: Format,
    benchmark: str,
    questions: Sequence[Path],
    documents: Sequence[Path],
    predictions: Sequence[tuple[Path, str | None]],
) -> Sources:
    """The files that a format reads questions and documents from.

    Args:
        chosen: The format.
        benchmark: The benchmark's name, for messages.
        questions: The files of questions.
        documents: The files of documents.
        predictions: The files of predictions, each with the system that its path names.

    Raises:
        WarehouseError: Files that the format needs are missing, or there are others.
        InputError: A path names a system that no system may be called.
    """
    require_usable(predictions)
    if chosen.questions_from == "predictions":
        if questions or documents:
            raise WarehouseError(
                f"the format {chosen.name!r} has no files of questions or documents of its own"
            )
        if not predictions:
            raise WarehouseError(f"benchmark {benchmark!r} has no files of predictions")
        given = tuple(Source(path, system) for path, system in predictions)
        return Sources(given, given if chosen.documents is not None else ())
    if documents and chosen.documents is None:
        raise WarehouseError(f"the format {chosen.name!r} has no documents")
    if not questions:
        raise WarehouseError(f"benchmark {benchmark!r} has no files of questions")
    looked_at = chosen.questions_from == "both"
    answers = tuple(path for path, _ in predictions) if looked_at else ()
    return Sources(
        tuple(Source(path, answered_in=answers) for path in questions),
        tuple(Source(path) for path in documents),
    )


def require_usable(files: Sequence[tuple[Path, str | None]]) -> None:
    """Checks the names of the systems that paths name.

    Raises:
        InputError: No system may be called so.
    """
    problems = [
        Problem(path, None, said)
        for path, system in files
        if system is not None and (said := unusable(system)) is not None
    ]
    if problems:
        raise InputError(problems)
