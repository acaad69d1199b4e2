"""Checks what a run needs before anything heavy is loaded and before any lock is taken."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assets.fingerprints.input_files import KINDS, input_files
from assets.project import is_judged
from calls.file_system import why_unwritable
from calls.prices import Prices
from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.judge.prices import require_price
from evaluators.engines.judge.reachable import missing_key
from evaluators.evaluator import require_libraries as require_all
from orchestration.config.judge.factory import LlmJudgeFactory, PanelFactory
from orchestration.errors import OrchestrationError
from records.packages import require_extra
from systems.clients import make_client
from warehouse.errors import InputError
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Source
from warehouse.ingest.first_rows import find_problems
from warehouse.storage.location import Lake

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.fingerprints.input_files import Kind
    from assets.project import Benchmark, Project
    from evaluators.engines.judge.settings import JudgeSettings
    from orchestration.runs import RunOptions
    from warehouse.errors import Problem
    from warehouse.formats.columns import Target
    from warehouse.formats.query import InputFile

FIRST_ROWS: Final = 3
"""The rows of each file that every run reads twice."""

MORE_ROWS: Final = 10_000
"""The rows of each file in which problems are searched once there is one."""

PRICE_TABLE: Final = "model_prices_and_context_window_backup.json"
"""LiteLLM's table of prices, which takes a second to import otherwise."""

_LOCAL: Final = "openai/"
_LEAST_NAME: Final = 4


def require_inputs(project: Project, benchmarks: Sequence[str]) -> None:
    """Check that files match, and that their first rows are valid.

    Raises:
        InputError: Some are not; lists every problem of the first rows.
    """
    problems = list(dict.fromkeys(_find_problems(project, benchmarks, FIRST_ROWS)))
    if problems:
        more = dict.fromkeys(_find_problems(project, benchmarks, MORE_ROWS))
        raise InputError(list(more) or problems)


def _find_problems(project: Project, benchmarks: Sequence[str], rows: int) -> Iterator[Problem]:
    for name in benchmarks:
        benchmark = project.benchmarks[name]
        questions, documents, predictions = (_files(benchmark, kind) for kind in KINDS)
        for matched in (questions, documents, predictions):
            if isinstance(matched, InputError):
                yield from matched.problems
        input_format = format_named(benchmark.format)
        if not input_format.is_streamed:
            continue
        columns = benchmark.columns
        names: list[Mapping[str, Target] | None] = [columns.questions, columns.documents, None]
        if input_format.questions_from == "predictions":
            questions = documents = predictions
            names = [None] * 3
        for reader, files, fields in zip(
            (input_format.questions, input_format.documents, input_format.predictions),
            (questions, documents, predictions),
            names,
            strict=True,
        ):
            if reader is None or isinstance(files, InputError):
                continue
            for path, system in files:
                ratio = benchmark.max_reject_ratio
                named = columns.predictions_of(system) if fields is None else fields
                source = replace(Source.of(path, system), columns=named)
                yield from find_problems(reader, source, rows, max_reject_ratio=ratio)


def _files(benchmark: Benchmark, kind: Kind) -> Sequence[tuple[InputFile, str | None]] | InputError:
    try:
        return input_files(benchmark, kind)
    except InputError as error:
        return error


def require_folders(project: Project) -> None:
    """Check that the warehouse and the published copy can be written where they are configured.

    Raises:
        OrchestrationError: They cannot.
    """
    if project.publish.exists() and not project.publish.is_dir():
        raise OrchestrationError(
            f"cannot publish to {str(project.publish)!r}: it is a file, expected a folder"
        )
    _require_writable(project.publish)
    if isinstance(project.warehouse, Lake):
        return
    if project.warehouse.is_dir():
        raise OrchestrationError(
            f"the warehouse {str(project.warehouse)!r} is a folder, expected a file"
        )
    _require_writable(project.warehouse.parent)


def _require_writable(folder: Path) -> None:
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not existing.is_dir():
        raise OrchestrationError(
            f"cannot create the folder {str(folder)!r}: {str(existing)!r} is a file"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise OrchestrationError(
            f"cannot write to the folder {str(existing)!r}: {why_unwritable(existing)}"
        )


def require_judge(project: Project, benchmarks: Sequence[str], options: RunOptions) -> None:
    """Check the key and the price of a judge that the run certainly calls.

    If there are replies of this judge from earlier runs, the run may need no other, and the judge
    itself checks before its first call.

    Raises:
        BadJudgeSettings: The key is not set, or there is a budget but no price.
    """
    factory = project.engines.judge_factory
    if not options.judge or not isinstance(factory, LlmJudgeFactory | PanelFactory):
        return
    certain = factory.settings_of_members
    if factory.panel is not None and factory.panel.escalate:
        certain = certain[:2]  # the others may not be called
    called = [each for each in certain if each.recording is None]
    if not called:
        return
    if called[0].optional and factory.skip_reason() is not None:
        return
    if not any(_uses_judge(project.benchmarks[name], options) for name in benchmarks):
        return
    is_first = not _may_hold_replies(project)
    for settings in called:
        try:
            _require_key_and_price(settings, ask_library=is_first)
        except BadJudgeSettings:
            if is_first or not _holds_replies_of(project, settings.name):
                raise


def _require_key_and_price(settings: JudgeSettings, *, ask_library: bool) -> None:
    """Check key and price of a judge; LiteLLM, which knows other variables, takes a second."""
    if ask_library:
        require_extra("judge", settings.title)
    if settings.api_key_env is not None and not os.environ.get(settings.api_key_env):
        raise BadJudgeSettings(
            f"the judge's key: the environment variable {settings.api_key_env!r} is not set"
        )
    if ask_library and settings.api_key_env is None and settings.api_base is None:
        key = missing_key(settings)
        if key is not None:
            raise BadJudgeSettings(f"{settings.title}'s key: {key}")
    if settings.budget_usd is not None and _has_no_price(settings):
        require_price(settings, Prices(settings.model, None, None, own=False))


def require_libraries(project: Project, benchmarks: Sequence[str], options: RunOptions) -> None:
    """Check that the libraries of the evaluators are installed.

    Raises:
        MissingPackage: Some are not.
    """
    if options.answers_only:
        return
    require_all(
        each
        for name in benchmarks
        for each in project.benchmarks[name].evaluators
        if not options.evaluators or each.name in options.evaluators
    )


def require_askable(project: Project, benchmarks: Sequence[str]) -> None:
    """Check that the systems of benchmarks can be asked, as far as their configuration shows it.

    Raises:
        SystemRefused: One cannot.
    """
    asked = dict.fromkeys(each for name in benchmarks for each in project.benchmarks[name].systems)
    for name in asked:
        make_client(project.systems[name], [])


def _may_hold_replies(project: Project) -> bool:
    from warehouse.ledger.open import ledger_file

    location = project.warehouse
    return isinstance(location, Lake) or location.exists() or ledger_file(location).exists()


def _holds_replies_of(project: Project, model: str) -> bool:
    from warehouse.ledger.open import has_ledger, open_ledger

    warehouse = project.open_warehouse()
    if not has_ledger(warehouse):
        return warehouse.exists()
    with open_ledger(warehouse, "check") as ledger:
        return ledger.has_replies_of(model)


def _uses_judge(benchmark: Benchmark, options: RunOptions) -> bool:
    return any(
        is_judged(each)
        for each in benchmark.evaluators
        if not options.evaluators or each.name in options.evaluators
    )


def _has_no_price(settings: JudgeSettings) -> bool:
    """Return whether LiteLLM certainly knows no price, which is the case for own servers' models.

    Its rules for names are many, so that a name that contains a known one may have a price.
    """
    if settings.usd_per_million_in is not None or settings.usd_per_million_out is not None:
        return False
    library = find_spec("litellm")
    if settings.api_base is None or not settings.model.startswith(_LOCAL):
        return False
    if library is None or library.origin is None:
        return False
    try:
        table = json.loads(Path(library.origin).with_name(PRICE_TABLE).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    name = settings.model.lower()
    known = {key.rpartition("/")[2].lower() for key in table}
    return not any(len(each) >= _LEAST_NAME and each in name for each in known)
