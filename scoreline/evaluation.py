"""`evaluate`: score answers in this process, by the same stages and statistics as a run."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard
from uuid import uuid4

from orchestration.config.load import build_settings
from orchestration.config.yaml_document import Document
from scoreline.errors import converted_errors
from scoreline.inputs import InputFolder
from scoreline.results import Results
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.project import Project
    from evaluators.evaluator import Evaluator
    from scoreline.inputs import Rows
    from warehouse.store import Warehouse

Wanted: TypeAlias = "str | Mapping[str, Mapping[str, Any]] | Evaluator | type[Evaluator]"

NAME = "evaluation"
"""The name of the only benchmark."""

WAREHOUSE = "warehouse.duckdb"


def evaluate(  # noqa: PLR0913 - all but the first three by name
    questions: Rows,
    predictions: Rows,
    evaluators: str | Sequence[Wanted],
    *,
    documents: Rows | None = None,
    judge: str | Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    slices: Sequence[str] = (),
    cluster: str | None = None,
    thresholds: Mapping[str, float | str] | str | None = None,
    rank_by: str | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
    tags: Sequence[str] = (),
) -> Results:
    """Score the answers of systems, rank the systems and compare them.

    Inputs have the fields of the guide to input, one question or one answer a row. Nothing is
    written but to temporary files, which go with the results, and to `ledger`.

    Args:
        questions: A Polars, pandas or Arrow frame, a list of dicts, or a path.
        predictions: The same with a field `system`, or such rows or paths by system.
        evaluators: Names of evaluators or families, parameters by name
            (`{"rouge": {"words": "stemmed"}}`), evaluators under other names
            (`{"polite": {"byop": {...}}}`), or evaluators of your own.
        documents: The documents that questions refer to, given like questions.
        judge: The judge's model, or the keys of `judge` in the configuration.
        models: The keys of `models` in the configuration.
        ledger: The file that keeps the replies of the judge, so that no call is paid twice; without
            one they are forgotten.
        slices: Fields or tags: there is a leaderboard for each of their values.
        cluster: The field of a question that marks dependent questions.
        thresholds: The mean from which on a system passes, by metric, or `source`.
        rank_by: The metric, such as `citation.f1`, that orders systems.
        columns: Fields by the names of your columns, for `questions`, `predictions` and `documents`
            (`{"questions": {"query": "question"}}`).
        tags: Columns of questions that become tags.

    Returns:
        The results.

    Raises:
        ScorelineError: An input, a name or a parameter is not valid, or the judge cannot be called;
            the message lists every problem.
    """
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="scoreline-"))
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(remove)
        inputs = InputFolder(folder, columns or {}, tags)
        stack.enter_context(converted_errors(inputs))
        content = _configuration(
            evaluators=evaluators,
            judge=judge,
            models=models,
            slices=slices,
            cluster=cluster,
            thresholds=thresholds,
            rank_by=rank_by,
        )
        own = {each.name: each for each in evaluators if _is_evaluator(each)}
        document = Document(folder / "evaluate", content, None)
        project = build_settings(document, own).project
        own_ledger = None if ledger is None else Path(ledger)
        warehouse = replace(project.open_warehouse(), ledger=own_ledger)
        _run(project, warehouse, inputs.files(NAME, questions, predictions, documents))
        results = Results(Snapshot(folder / WAREHOUSE), {NAME: project.benchmarks[NAME]})
        # The results read the warehouse when they are used.
        stack.pop_all()
        weakref.finalize(results, remove)
    return results


def _run(project: Project, warehouse: Warehouse, files: Any) -> None:
    """Run the stages of the pipeline on one benchmark, one after the other."""
    from assets.analysis.findings import refresh_insights, refresh_problems
    from assets.checks.constraints import validate_constraints
    from assets.leaderboard.refresh import refresh_leaderboards
    from assets.project import is_judged, used_evaluators
    from assets.scoring.refresh import refresh_scores
    from evaluators.kinds.flow import FlowEvaluator
    from warehouse.ingest.ingest import ingest

    benchmark = project.benchmarks[NAME]
    run_id = uuid4().hex
    ingest(warehouse, [files], inspect=validate_constraints)
    judged = [
        (benchmark, each)
        for each in benchmark.evaluators
        if isinstance(each, FlowEvaluator) and is_judged(each)
    ]
    if judged:
        from assets.judging.call_judge import call_judge  # imports SQLAlchemy

        call_judge(warehouse, project.engines, judged, run_id=run_id)
    with project.engines.replay(warehouse, run_id) as engines:
        for name in used_evaluators(project):
            evaluator = next(each for each in benchmark.evaluators if each.name == name)
            used = [(benchmark, evaluator)]
            refresh_scores(warehouse, used, run_id=run_id, engines=engines)
    refresh_leaderboards(warehouse, [benchmark])
    refresh_problems(warehouse, [benchmark])
    refresh_insights(warehouse, [benchmark])


def _is_evaluator(given: object) -> TypeGuard[Evaluator | type[Evaluator]]:
    """Return whether something is an evaluator or the class of one."""
    from evaluators.evaluator import Evaluator

    cls = given if isinstance(given, type) else type(given)
    return issubclass(cls, Evaluator)


def _named_instance(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the evaluator behind a name, and its parameters; see `evaluate`."""
    from evaluators.catalog import catalogue

    if name not in catalogue() and len(given) == 1:
        ((kind, parameters),) = given.items()
        if kind in catalogue():
            return kind, dict(parameters)
    return name, dict(given)


def _configuration(
    *,
    evaluators: Sequence[Any],
    judge: str | Mapping[str, Any] | None,
    models: Mapping[str, Any] | None,
    **keys: Any,
) -> dict[str, Any]:
    """Return the content of a configuration file with one benchmark."""
    names: list[str | dict[str, str]] = []
    parameters: dict[str, Any] = {}
    for each in [evaluators] if isinstance(evaluators, str) else evaluators:
        if isinstance(each, str):
            names.append(each)
        elif _is_evaluator(each):
            names.append(each.name)
        else:
            for name, given in each.items():
                kind, own = _named_instance(name, given)
                names.append(name if kind == name else {name: kind})
                parameters[name] = own
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "predictions.jsonl",
        "evaluators": names,
        "parameters": parameters,
        **{key: value for key, value in keys.items() if value not in (None, ())},
    }
    content: dict[str, Any] = {"warehouse": WAREHOUSE, "benchmarks": {NAME: benchmark}}
    if judge is not None:
        content["judge"] = {"model": judge} if isinstance(judge, str) else dict(judge)
    if models is not None:
        content["models"] = dict(models)
    return content
