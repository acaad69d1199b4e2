"""Files of predictions with the current answers of systems that are asked."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from assets.fingerprints.input_files import benchmark_files
from assets.inputs.stand_ins import append_stand_ins
from systems.answering import SystemCalls, prediction_of
from warehouse.ingest.ingest import ingest
from warehouse.queries.answers import (
    answers_file,
    fetch_given,
    fetch_questions,
    remove_other_answers,
    write_answers,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.project import Project
    from warehouse.ingest.ingest import InputKey, Inspection
    from warehouse.ingest.result import Ingested
    from warehouse.store import Warehouse


def ingest_inputs(
    project: Project,
    warehouse: Warehouse,
    benchmarks: Sequence[str],
    kinds: Sequence[str],
    *,
    inspect: Inspection,
    force: bool = False,
    stand_ins: bool = False,
) -> dict[InputKey, Ingested]:
    """Ingest the files of benchmarks, and the answers of their systems as they are stored.

    Answers to an earlier text of a question, or of an earlier version of a system, are left out:
    the question was not asked. If systems are asked, questions are ingested before predictions.

    Args:
        project: The project.
        warehouse: Its warehouse, or a copy, beside which the files of answers are written.
        benchmarks: The benchmarks.
        kinds: `questions`, `predictions` or both.
        inspect: Checks new questions; see `ingest`.
        force: Whether to read unchanged files, too.
        stand_ins: Whether stand-ins take the place of answers that are not there yet; see
            `append_stand_ins`.

    Raises:
        WarehouseError: As raised by `ingest`.
        SystemRefused: A request cannot be made from a question.
    """
    asking = [name for name in benchmarks if project.benchmarks[name].systems]
    steps = [list(kinds)]
    if asking and len(kinds) > 1:
        steps = [["questions"], ["predictions"]]
    results: dict[InputKey, Ingested] = {}
    for step in steps:
        if "predictions" in step:
            for name in asking:
                remove_other_answers(warehouse, name, project.benchmarks[name].systems)
                _write_files(project, warehouse, name, stand_ins=stand_ins)
        files = [benchmark_files(project.benchmarks[name], warehouse.path) for name in benchmarks]
        results |= ingest(warehouse, files, kinds=step, inspect=inspect, force=force)
    return results


def _write_files(
    project: Project, warehouse: Warehouse, benchmark: str, *, stand_ins: bool
) -> None:
    questions = fetch_questions(warehouse, benchmark)
    repeats = project.benchmarks[benchmark].repeats
    for name in project.benchmarks[benchmark].systems:
        calls = SystemCalls(project.systems[name], questions, repeats)
        current = {(job.question_id, job.repeat): job.call.digest for job in calls.jobs()}
        file = answers_file(warehouse.path, benchmark, name)
        missing: list[tuple[Mapping[str, Any], int]] = []
        if stand_ins:
            given = fetch_given(warehouse, benchmark, name)
            for question, repeat in product(questions, range(repeats)):
                key = (str(question["question_id"]), repeat)
                if given.get(key) != current[key]:
                    del current[key]
                    missing.append((question, repeat))
        write_answers(warehouse, benchmark, name, file, prediction_of, current)
        if missing:
            append_stand_ins(warehouse, name, file, missing)
