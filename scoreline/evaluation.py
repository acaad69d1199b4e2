"""`evaluate`: score answers in this process, by the same stages and statistics as a run."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard
from uuid import uuid4

from evaluators.flows.requests import JUDGE
from orchestration.config.load import build_settings
from orchestration.config.yaml_document import Document
from orchestration.doctor.config_lint import lint_benchmarks
from records.error_messages import found
from scoreline.errors import ScorelineError, converted_errors
from scoreline.inputs import InputFolder
from scoreline.results import Results
from scoreline.row_files import is_path
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.project import Project
    from evaluators.evaluator import Evaluator
    from scoreline.inputs import Rows
    from warehouse.store import Warehouse

Wanted: TypeAlias = "str | Mapping[str, Mapping[str, Any]] | Evaluator | type[Evaluator]"

NAME = "evaluation"
"""The name of the only benchmark."""

WAREHOUSE = "warehouse.duckdb"


def evaluate(  # noqa: PLR0913 - all but the first three by name
    questions: Rows | None,
    predictions: Rows | None = None,
    evaluators: Wanted | Sequence[Wanted] = (),
    *,
    documents: Rows | None = None,
    judge: str | Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    ledger: str | Path | None = None,
    slices: Sequence[str] = (),
    cluster: str | None = None,
    thresholds: Mapping[str, float | str] | str | None = None,
    rank_by: str | None = None,
    missing: str | Mapping[str, str] = "failed",
    columns: Mapping[str, Mapping[str, Any]] | None = None,
    tags: Sequence[str] | None = None,
) -> Results:
    """Score the answers of systems, rank the systems and compare them.

    Inputs have the fields of the guide to input, one question or one answer a row. Nothing is
    written but to temporary files, which go with the results, and to `ledger`.

    Args:
        questions: A Polars, pandas or Arrow frame, dicts, or a path. Without `predictions`, its
            rows hold answers, too. None: those of `predictions` hold the questions. Without ids,
            the texts of questions identify them.
        predictions: The same with a field `system`, or such rows or paths by system. Rows without
            the field are the answers of one system.
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
        missing: What a question means that a system did not answer: `failed`, a failed answer, or
            `not_asked`: the system was not asked, and systems are ranked by common questions only.
            Also by system, with the key `default` for all others.
        columns: Fields by the names of your columns, for `questions`, `predictions` and `documents`
            (`{"questions": {"query": "question"}}`), converted if they are in another unit
            (`{"predictions": {"ms": {"to": "latency_s", "scale": 0.001}}}`).
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
        inputs = InputFolder(folder)
        stack.enter_context(converted_errors(inputs, f"benchmarks.{NAME}."))
        _require_predictions(predictions)
        wanted = _listed(evaluators)
        content = _configuration(
            folder,
            evaluators=wanted,
            judge=judge,
            models=models,
            slices=slices,
            cluster=cluster,
            thresholds=thresholds,
            rank_by=rank_by,
            missing=_plain(missing),
            columns=_plain_columns(columns),
            tags=_plain(tags),
        )
        own = {each.name: each for each in wanted if _is_evaluator(each)}
        # Models and recorded replies are relative to the caller's working directory.
        document = Document(Path.cwd() / "evaluate", content, None)
        project = build_settings(document, own).project
        absent = dict(_absent_engines(project.engines.absent))
        project = replace(project, engines=replace(project.engines, absent=absent))
        if not (ledger is None or is_path(ledger)):
            raise ScorelineError(f"ledger: expected a path, found {found(ledger)}")
        own_ledger = None if ledger is None else Path(ledger)
        warehouse = replace(project.open_warehouse(), ledger=own_ledger)
        benchmark = project.benchmarks[NAME]
        files = inputs.files(NAME, questions, predictions, documents, benchmark)
        notes = inputs.name_notes(_run(project, warehouse, files))
        written = Snapshot(folder / WAREHOUSE)
        with written.open() as opened:
            notes += lint_benchmarks(opened, [benchmark])[NAME]
        results = Results(written, {NAME: benchmark}, notes)
        # The results read the warehouse when they are used.
        stack.pop_all()
        weakref.finalize(results, remove)
    return results


def _run(project: Project, warehouse: Warehouse, files: Any) -> list[str]:
    """Run the stages of the pipeline on one benchmark; return notes on the inputs."""
    from assets.analysis.findings import refresh_insights, refresh_problems
    from assets.checks.constraints import validate_constraints
    from assets.leaderboard.refresh import refresh_leaderboards
    from assets.project import is_judged, used_evaluators
    from assets.scoring.refresh import refresh_scores
    from evaluators.kinds.flow import FlowEvaluator
    from warehouse.ingest.ingest import ingest
    from warehouse.queries.benchmarks import answers_per_question

    benchmark = project.benchmarks[NAME]
    run_id = uuid4().hex
    ingested = ingest(warehouse, [files], inspect=validate_constraints)
    judged = [
        (benchmark, each)
        for each in benchmark.evaluators
        if isinstance(each, FlowEvaluator) and is_judged(each)
    ]
    if judged:
        from assets.judging.call_judge import call_judge  # imports SQLAlchemy

        call_judge(warehouse, project.engines, judged, run_id=run_id)
    with project.engines.replay(warehouse, run_id) as engines:
        find_repeats = cache(partial(answers_per_question, warehouse, [NAME]))
        for name in used_evaluators(project):
            evaluator = next(each for each in benchmark.evaluators if each.name == name)
            used = [(benchmark, evaluator)]
            refresh_scores(
                warehouse, used, run_id=run_id, engines=engines, find_repeats=find_repeats
            )
    refresh_leaderboards(warehouse, [benchmark])
    refresh_problems(warehouse, [benchmark])
    refresh_insights(warehouse, [benchmark])
    return [note for each in ingested.values() for note in each.notes]


def _is_evaluator(given: object) -> TypeGuard[Evaluator | type[Evaluator]]:
    """Return whether something is an evaluator or the class of one."""
    from evaluators.evaluator import Evaluator

    cls = given if isinstance(given, type) else type(given)
    return issubclass(cls, Evaluator)


def _require_predictions(given: Any) -> None:
    """Check that evaluators were not passed as predictions.

    Raises:
        ScorelineError: They were.
    """
    from evaluators.catalog import catalogue, families

    known = {*catalogue(), *families(), "all"}
    if isinstance(given, str):
        parts = [given] if given in known and not Path(given).exists() else []
    elif isinstance(given, list | tuple | set | frozenset):
        parts = [each for each in given if not (isinstance(each, str) and Path(each).exists())]
        parts = parts if len(parts) == len(given) else []
    elif isinstance(given, Mapping):
        parts = list(given) if known.issuperset(given) else []
        # Answers of a system that is called like an evaluator are not parameters.
        parts = parts if all(isinstance(each, Mapping) for each in given.values()) else []
    else:
        parts = [given]
    if parts and all(isinstance(each, str) or _is_evaluator(each) for each in parts):
        shown = repr(dict(given)) if isinstance(given, Mapping) else _shown(parts)
        message = (
            "predictions: the second argument is the answers, and these look like evaluators: "
        )
        raise ScorelineError(f"{message}pass evaluators={shown}")


def _shown(parts: Sequence[Any]) -> str:
    """Return evaluators as they are written in a list."""
    named = [
        repr(each)
        if isinstance(each, str)
        else (each.__name__ if isinstance(each, type) else type(each).__name__)
        for each in parts
    ]
    return f"[{', '.join(named)}]"


def _listed(evaluators: Any) -> list[Any]:
    """Return the wanted evaluators as a list.

    Raises:
        ScorelineError: One is nothing that `evaluate` understands.
    """
    is_one = isinstance(evaluators, str | Mapping) or not isinstance(evaluators, Iterable)
    wanted = [evaluators] if is_one or _is_evaluator(evaluators) else list(evaluators)
    if not wanted:
        raise ScorelineError("evaluators: expected at least one, such as evaluators=['rouge']")
    for each in wanted:
        if isinstance(each, str) or _is_evaluator(each):
            continue
        if isinstance(each, Mapping):
            for name, given in each.items():
                if not isinstance(given, Mapping):
                    shown = f"expected parameters of {name!r} by name, found {found(given)}"
                    raise ScorelineError(f"evaluators: {shown}")
        elif isfunction(each):
            raise ScorelineError(
                f"evaluators: {each.__name__!r} is a plain function: "
                "decorate it with `@scoreline.metric`"
            )
        else:
            raise ScorelineError(
                "evaluators: expected names, parameters by name, or evaluators of your own, "
                f"found {each!r}"
            )
    return wanted


def _plain(given: Any) -> Any:
    """Return a mapping as a dict, a list as one; anything else is checked with the other keys."""
    if isinstance(given, Mapping):
        return dict(given)
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    return list(given) or None if is_list else given


def _plain_columns(columns: Any) -> dict[str, Any] | None:
    """Return `columns` as dicts.

    Raises:
        ScorelineError: They are not by kind of input.
    """
    if columns is None:
        return None
    if not isinstance(columns, Mapping) or not all(
        isinstance(each, Mapping) for each in columns.values()
    ):
        expected = '{"questions": {"column": "field"}, "predictions": {...}}'
        raise ScorelineError(f"columns: expected fields by column, such as {expected}")
    return {kind: dict(each) for kind, each in columns.items()}


def _named_instance(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the evaluator behind a name, and its parameters; see `evaluate`."""
    from evaluators.catalog import catalogue

    if name not in catalogue() and len(given) == 1:
        ((kind, parameters),) = given.items()
        if kind in catalogue():
            return kind, dict(parameters)
    return name, dict(given)


def _absent_engines(roles: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what a caller passes for each engine that an evaluator may miss, by role."""
    yield JUDGE, 'there is no judge: pass `judge`, such as judge="openai/gpt-4o-mini"'
    for role in roles:
        name = f'models={{"{role}": ...}}'
        yield role, f"there is no {role} model: pass {name}, a folder or a name on the hub"


def _configuration(
    folder: Path,
    *,
    evaluators: Sequence[Any],
    judge: str | Mapping[str, Any] | None,
    models: Mapping[str, Any] | None,
    **keys: Any,
) -> dict[str, Any]:
    """Return the content of a configuration file with one benchmark, which writes into a folder."""
    names: list[str | dict[str, str]] = []
    parameters: dict[str, Any] = {}
    for each in evaluators:
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
    content: dict[str, Any] = {
        "warehouse": str(folder / WAREHOUSE),
        "publish": str(folder / "published"),
        "benchmarks": {NAME: benchmark},
    }
    # Nothing is published, so no statement about changes shares the level.
    content["history"] = {"publications": 0}
    if judge is not None:
        content["judge"] = {"model": judge} if isinstance(judge, str) else _plain(judge)
    if models is not None:
        content["models"] = _plain(models)
    return content
