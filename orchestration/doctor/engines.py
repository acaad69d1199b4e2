"""Diagnose the engines: the judge with its price and settings, and the other models."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assets.fingerprints.input_files import named_systems
from assets.project import is_judged
from evaluators.engines.judge.errors import JudgeFailure
from evaluators.flows.requests import JUDGE, Ask
from evaluators.kinds.flow import FlowEvaluator
from orchestration.config.engines import model_settings
from orchestration.config.judge.factory import HUMAN, judge_settings
from orchestration.doctor import Diagnosis
from records.packages import MissingPackage, require_extra
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from assets.project import Project
    from evaluators.engines.judge.settings import JudgeSettings
    from orchestration.config.judge.schema import Judge
    from orchestration.config.load import Settings

_LOCK_TIMEOUT_S = 2.0
_FAMILIES = (
    *("claude", "command", "deepseek", "gemini", "gemma", "glm", "gpt", "granite", "grok"),
    *("jamba", "kimi", "llama", "ministral", "mistral", "mixtral", "nova", "olmo", "phi", "qwen"),
)
_FAMILY_ALIASES = {"gemma": "gemini", "ministral": "mistral", "mixtral": "mistral"}
_FAMILY = re.compile(rf"(?<![a-z])({'|'.join(_FAMILIES)})(?![a-z])")


def _judged_evaluators(project: Project) -> list[str]:
    names = dict.fromkeys(
        evaluator.name
        for benchmark in project.benchmarks.values()
        for evaluator in benchmark.evaluators
        if is_judged(evaluator)
    )
    return list(names)


def _no_judge(project: Project) -> Diagnosis:
    names = _judged_evaluators(project)
    if not names:
        return Diagnosis("ok", "judge", "none configured, and no evaluator needs one")
    message = "none configured: add the section `judge`; not applicable until then: "
    return Diagnosis("warn", "judge", message + ", ".join(names))


def diagnose_judge(settings: Settings) -> Iterator[Diagnosis]:
    """Diagnose the judge; send one small request to a judge model, and nothing else."""
    judge, project = settings.judge, settings.project
    if judge is None:
        yield _no_judge(project)
    elif judge.model == HUMAN:
        yield _human_labels(project)
    else:
        for settings_of_one in judge_settings(judge, project.home):
            found = _diagnose_model(settings_of_one, project)
            if judge.panel is None:
                yield from found
            else:
                yield from (
                    replace(each, subject=f"{each.subject} {settings_of_one.name}")
                    for each in found
                )
        yield from _repeats(judge)


def _diagnose_model(settings: JudgeSettings, project: Project) -> Iterator[Diagnosis]:
    if settings.recording is not None:
        yield _recording(settings.recording)
    else:
        yield from _judge_model(settings, project)
        yield from _same_family(settings.model, project)


def model_family(name: str) -> str | None:
    """Return the family in the name of a model, such as `gpt` for `openai/gpt-4o`."""
    match = _FAMILY.search(name.lower())
    return None if match is None else _FAMILY_ALIASES.get(match[1], match[1])


def _human_labels(project: Project) -> Diagnosis:
    ((count,),) = _fetch(project, "SELECT count(*) FROM labels") or [(0,)]
    if not count:
        advice = "run `scoreline labels import`, or configure a judge model"
        return Diagnosis("warn", "judge", f"human labels, but there are none yet: {advice}")
    return Diagnosis("ok", "judge", f"human labels: {count:,}")


def _recording(recording: Path) -> Diagnosis:
    from evaluators.engines.judge.recorded import RecordedAsker

    try:
        asyncio.run(RecordedAsker(recording).open())
    except JudgeFailure as failure:
        return Diagnosis("fail", "judge", f"{failure}: correct the file")
    return Diagnosis("ok", "judge", f"{recording}: the recorded replies are readable")


def _judge_model(settings: JudgeSettings, project: Project) -> Iterator[Diagnosis]:
    from evaluators.engines.judge.reachable import missing_key

    try:
        require_extra("judge", settings.title)
    except MissingPackage as missing:
        yield Diagnosis("fail", "judge", str(missing))
        return
    key = missing_key(settings)
    if key is not None and settings.optional:
        names = ", ".join(_judged_evaluators(project)) or "none"
        message = f"skipped, because it is optional: {key}; evaluators that need it: {names}"
        yield Diagnosis("warn", "judge", message)
        return
    if key is not None:
        yield Diagnosis("fail", "judge", key)
        return
    # Automated runs also have the daily budget.
    daily = {"daily_budget_usd": project.automation.daily_budget_usd}
    price = _price(settings.model_copy(update=daily))
    if price.state != "fail":  # a run would not call the model either
        yield _replies(settings, project)
    yield price


def _replies(settings: JudgeSettings, project: Project) -> Diagnosis:
    """Return whether the judge answers, and gives verdicts in the form that evaluators need."""
    from assets.engines import WarehouseLedger
    from evaluators.components.claims import extract_statements
    from evaluators.engines.judge.check import check_judge
    from warehouse.ledger.open import open_ledger

    request = next(extract_statements("Where is the office?", "It is at the quay, and closed."))
    if not isinstance(request, Ask):
        raise TypeError(f"no judge call: {request!r}")
    try:
        with open_ledger(project.open_warehouse(), "doctor") as ledger:
            found = check_judge(settings, request, WarehouseLedger(ledger))
    except JudgeFailure as failure:
        advice = "check judge.model, judge.api_base and the key in judge.api_key_env"
        return Diagnosis("fail", "judge", f"{failure}: {advice}")
    if found.fault is None:
        return Diagnosis("ok", "judge", f"{found.message}; its reply to an evaluator is usable")
    if found.is_usable:
        message = "its first reply to an evaluator was not usable, only the repaired one was"
        return Diagnosis(
            "warn", "judge", f"{found.message}; {message}: {found.fault}; such repairs cost a call"
        )
    advice = "use a model that replies with JSON as the prompt asks"
    return Diagnosis(
        "fail",
        "judge",
        f"{found.message}, but its reply to an evaluator is not usable: {found.fault}: {advice}",
    )


def _price(settings: JudgeSettings) -> Diagnosis:
    from evaluators.engines.judge.prices import prices_of, require_price

    subject = "judge price"
    try:
        prices = prices_of(settings)
        require_price(settings, prices)
    except JudgeFailure as failure:
        return Diagnosis("fail", subject, str(failure))
    million = prices.usd(1_000_000, 0), prices.usd(0, 1_000_000)
    if not prices.known:
        advice = "set judge.usd_per_million_in and judge.usd_per_million_out to see costs"
        return Diagnosis("warn", subject, f"unknown: {advice}")
    message = f"{million[0]:g} US dollars per million input tokens, {million[1]:g} output"
    if any(million) and settings.budget_usd is None:
        return Diagnosis("warn", subject, f"{message}; no limit: set judge.budget_usd")
    limit = "" if settings.budget_usd is None else f", at most {settings.budget_usd:g} per run"
    return Diagnosis("ok", subject, message + limit)


def _repeats(judge: Judge) -> Iterator[Diagnosis]:
    if max(judge.replicates, judge.escalate_to) > 1 and judge.temperature == 0:
        advice = (
            "at temperature 0 repeated calls mostly get equal replies: "
            "remove judge.temperature, or set 0.3 to 0.7"
        )
        yield Diagnosis("warn", "judge repeats", advice)


def _same_family(model: str, project: Project) -> Iterator[Diagnosis]:
    family = model_family(model)
    related = sorted(name for name in _systems(project) if family and model_family(name) == family)
    if related:
        advice = (
            f"{model!r} judges {', '.join(map(repr, related))} of its own family, and models "
            "prefer their own family: use a judge of another family, or check it with human labels"
        )
        yield Diagnosis("warn", "judge family", advice)


def _systems(project: Project) -> set[str]:
    """Return the names of the systems, from file names and from the warehouse."""
    systems = {
        str(row[0]) for row in _fetch(project, "SELECT DISTINCT system FROM predictions") or ()
    }
    for benchmark in project.benchmarks.values():
        try:
            systems |= set(named_systems(benchmark) or ())
        except WarehouseError:
            continue  # the diagnosis of the files reports it
    return systems


def _fetch(project: Project, sql: str) -> list[tuple[Any, ...]] | None:
    """Return the rows of a query, or None when the warehouse is missing or unreadable."""
    try:
        if not project.open_warehouse().exists():
            return None
        return project.open_warehouse(_LOCK_TIMEOUT_S).fetch(sql).rows()
    except WarehouseError:
        return None


def diagnose_models(settings: Settings) -> Iterator[Diagnosis]:
    """Diagnose every model that evaluators need; download and load nothing."""
    users = _evaluators_by_role(settings.project)
    if not users:
        return
    from evaluators.engines.local.engine import LocalModel
    from evaluators.engines.models import build_models
    from evaluators.engines.remote_lm import RemoteLanguageModel

    project = settings.project
    available, absent = build_models(
        model_settings(settings.models, project.home, project.warehouse)
    )
    for role, names in users.items():
        model = available.get(role)
        if isinstance(model, LocalModel | RemoteLanguageModel):
            is_usable, message = model.readiness()
        else:
            is_usable, message = False, absent.get(role, f"no model has the role {role!r}")
        effect = "" if is_usable else f"; not applicable until then: {', '.join(names)}"
        yield Diagnosis("ok" if is_usable else "warn", f"model: {role}", message + effect)


def _evaluators_by_role(project: Project) -> Mapping[str, Iterable[str]]:
    """Return the evaluators that use each model role."""
    users: dict[str, dict[str, None]] = {}
    for benchmark in project.benchmarks.values():
        for evaluator in benchmark.evaluators:
            if isinstance(evaluator, FlowEvaluator):
                for role in sorted(evaluator.engine_roles() - {JUDGE}):
                    users.setdefault(role, {})[evaluator.name] = None
    return users
