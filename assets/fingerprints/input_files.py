"""The input files of a benchmark, as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from warehouse.errors import InputError, Problem
from warehouse.formats.catalog import format_named
from warehouse.formats.paths import expand
from warehouse.formats.query import Query
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from warehouse.formats.query import InputFile
    from warehouse.ledger.answers import SystemAnswers

Kind: TypeAlias = Literal["questions", "documents", "predictions"]

MAX_NAMED: Final = 10
"""The number of folders that a message names."""

KINDS: Final[tuple[Kind, ...]] = ("questions", "documents", "predictions")


def benchmark_files(benchmark: Benchmark, answers: Sequence[SystemAnswers] = ()) -> BenchmarkFiles:
    """Return the current input files of a benchmark.

    Args:
        benchmark: The benchmark.
        answers: The answers of systems that it asks; those that have none are left out.

    Raises:
        InputError: A pattern matches no file.
    """
    given = [each for each in answers if each.calls or each.stand_ins]
    return BenchmarkFiles(
        benchmark=benchmark.name,
        format=benchmark.format,
        questions=[path for path, _ in input_files(benchmark, "questions")],
        documents=[path for path, _ in input_files(benchmark, "documents")],
        predictions=input_files(benchmark, "predictions"),
        answers=given,
        expansion=benchmark.expansion,
        max_reject_ratio=benchmark.max_reject_ratio,
        columns=benchmark.columns,
        missing=benchmark.missing.without(set(benchmark.systems) - {each.system for each in given}),
    )


def named_systems(benchmark: Benchmark) -> list[str] | None:
    """Return the systems that paths name and those that are asked; None if rows name others.

    Raises:
        InputError: A pattern matches no file.
    """
    found = [system for _, system in input_files(benchmark, "predictions")]
    names = [name for name in found if name is not None]
    return [*names, *benchmark.systems] if len(names) == len(found) else None


def input_files(benchmark: Benchmark, kind: Kind) -> list[tuple[InputFile, str | None]]:
    """Return the files of one kind, or the query, with the systems that the paths name.

    Raises:
        InputError: A pattern matches no file, a folder has no files of the split, or several
            folders match although the format reads one.
    """
    folders = format_named(benchmark.format).folders
    pattern = input_pattern(benchmark, kind)
    if pattern is None:
        return []
    if isinstance(pattern, Query):
        return [(pattern, None)]
    files_of = None if folders is None else getattr(folders, kind)
    if folders is None or files_of is None:
        return [*expand(pattern)]
    matching = expand(pattern, folders=True)
    if folders.reads_together and len(matching) > 1:
        said = f"expected one folder, as {benchmark.format!r} reads one dataset; found "
        said += ", ".join(str(folder) for folder, _ in matching[:MAX_NAMED])
        more = len(matching) - MAX_NAMED
        raise InputError([Problem(str(pattern), None, said + (f" and {more} more" * (more > 0)))])
    return [
        (file, system) for folder, system in matching for file in files_of(folder, benchmark.split)
    ]


def input_pattern(benchmark: Benchmark, kind: Kind) -> InputFile | None:
    """Return the path or pattern of the files of one kind, or the query; null if there is none."""
    folders = format_named(benchmark.format).folders
    if kind == "documents" and folders is not None and folders.documents_with_questions:
        return benchmark.questions
    pattern: InputFile | None = getattr(benchmark, kind)
    return pattern
