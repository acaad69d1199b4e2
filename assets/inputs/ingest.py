"""Ingests the files of benchmarks, and the answers of systems as the ledger has them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from assets.fingerprints.digests import answers_fingerprint, answers_stage
from assets.fingerprints.input_files import benchmark_files
from assets.inputs.stand_ins import make_stand_ins
from warehouse.ingest.ingest import PREDICTIONS, QUESTIONS, ingest
from warehouse.ledger.answers import SystemAnswers
from warehouse.queries.answers import fetch_answered, fetch_questions, remove_other_answers

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
        warehouse: Its warehouse, or a copy.
        benchmarks: The benchmarks.
        kinds: `questions`, `predictions` or both.
        inspect: Checks new questions; see `ingest`.
        force: Whether to read unchanged files, too.
        stand_ins: Whether stand-ins take the place of answers that are not there yet; see
            `make_stand_ins`.

    Raises:
        WarehouseError: As raised by `ingest`.
        SystemRefused: A request cannot be made from a question.
    """
    asking = [name for name in benchmarks if project.benchmarks[name].systems]
    steps = [[QUESTIONS], [PREDICTIONS]] if asking and len(kinds) > 1 else [kinds]
    results: dict[InputKey, Ingested] = {}
    for step in steps:
        answers = {}
        for name in asking if PREDICTIONS in step else ():
            remove_other_answers(warehouse, name, project.benchmarks[name].systems)
            answers[name] = _current_answers(project, warehouse, name, stand_ins=stand_ins)
        files = [
            benchmark_files(project.benchmarks[each], answers.get(each, ())) for each in benchmarks
        ]
        results |= ingest(warehouse, files, kinds=step, inspect=inspect, force=force)
    return results


def stored_answers(
    warehouse: Warehouse,
    benchmark: str,
    systems: Sequence[str],
    fingerprints: Mapping[str, str],
    *,
    with_failed: bool = True,
) -> list[SystemAnswers]:
    """Return the answers of each system as of the last asking.

    Args:
        warehouse: The warehouse.
        benchmark: The benchmark.
        systems: The systems.
        fingerprints: The stored fingerprints of the benchmark.
        with_failed: Whether calls count that got no answer.
    """
    if not systems:
        return []
    from systems.answering import prediction_of  # loads all kinds of systems

    found = fetch_answered(warehouse, benchmark, with_failed=with_failed)
    answers = []
    for name in systems:
        # Earlier versions wrote two words for the answers, and had a digest of their texts.
        words = fingerprints.get(answers_stage(name), "").split()[1:]
        known = words[0].encode() if len(words) == 1 else None
        calls = found.get(name, {})
        answers.append(SystemAnswers(name, calls, prediction_of, known_digest=known))
    return answers


def _current_answers(
    project: Project, warehouse: Warehouse, benchmark: str, *, stand_ins: bool
) -> list[SystemAnswers]:
    systems, repeats = project.benchmarks[benchmark].systems, project.benchmarks[benchmark].repeats
    marks = warehouse.fingerprints(benchmark)
    stored = stored_answers(warehouse, benchmark, systems, marks, with_failed=not stand_ins)
    for place, answers in enumerate(stored):
        system = project.systems[answers.system]
        expected = answers_fingerprint(system, marks.get(QUESTIONS), repeats)
        if marks.get(answers_stage(system.name), "").startswith(f"{expected} "):
            continue
        from systems.answering import SystemCalls

        questions = fetch_questions(warehouse, benchmark)
        jobs = SystemCalls(system, questions, repeats).jobs()
        current = {(job.question_id, job.repeat): job.call.digest for job in jobs}
        calls = {key: call for key, call in answers.calls.items() if current.get(key) == call}
        missing = [
            (question, repeat)
            for question, repeat in product(questions, range(repeats))
            if stand_ins and (str(question["question_id"]), repeat) not in calls
        ]
        made = make_stand_ins(warehouse, system.name, missing)
        stored[place] = replace(answers, calls=calls, stand_ins=made, known_digest=None)
    return stored
