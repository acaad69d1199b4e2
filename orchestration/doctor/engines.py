"""The examination of the judge: whether it answers, what it costs, and what is odd about it."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from assets.project import is_judged
from evaluators.engines.judge.errors import JudgeFailure
from orchestration.config.engines import HUMAN, judge_settings
from orchestration.doctor.finding import Finding
from warehouse.errors import WarehouseError
from warehouse.formats.paths import expand
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Project
    from evaluators.engines.judge.settings import JudgeSettings
    from orchestration.config.engine_schema import Judge
    from orchestration.config.load import Settings

_PATIENCE_S = 2.0
_FAMILIES = (
    *("claude", "command", "deepseek", "gemini", "gemma", "glm", "gpt", "granite", "grok"),
    *("jamba", "kimi", "llama", "ministral", "mistral", "mixtral", "nova", "olmo", "phi", "qwen"),
)
_SAME = {"gemma": "gemini", "ministral": "mistral", "mixtral": "mistral"}
_FAMILY = re.compile(rf"(?<![a-z])({'|'.join(_FAMILIES)})(?![a-z])")


def _nobody(project: Project) -> Finding:
    """What it means that there is no judge."""
    names = dict.fromkeys(
        evaluator.name
        for benchmark in project.benchmarks.values()
        for evaluator in benchmark.evaluators
        if is_judged(evaluator)
    )
    if not names:
        return Finding("ok", "judge", "none configured, and no evaluator asks one")
    told = "none configured: give the section `judge`; not applicable until then: "
    return Finding("warn", "judge", told + ", ".join(names))


def judge_findings(found: Settings) -> Iterator[Finding]:
    """Looks at the judge; sends one small request to a model, and nothing to anybody else."""
    judge = found.judge
    if judge is None:
        yield _nobody(found.project)
    elif judge.model == HUMAN:
        yield _people(found.project)
    else:
        settings = judge_settings(judge, found.project.home)
        if settings.recording is not None:
            yield _recorded(settings)
        else:
            yield from _model(settings)
            yield from _relatives(judge, found.project)
        yield from _repeats(judge)


def family(name: str) -> str | None:
    """The family of a model, as far as its name tells: `gpt` of `openai/gpt-4o`."""
    known = _FAMILY.search(name.lower())
    return None if known is None else _SAME.get(known[1], known[1])


def _people(project: Project) -> Finding:
    ((count,),) = _fetched(project, "SELECT count(*) FROM labels") or [(0,)]
    if not count:
        told = "people judge, but there are no labels yet: import some, or name a model"
        return Finding("warn", "judge", told)
    return Finding("ok", "judge", f"people judge: {count:,} labels")


def _recorded(settings: JudgeSettings) -> Finding:
    from evaluators.engines.judge.ledger_judge import asker_for

    try:
        asyncio.run(asker_for(settings).open())
    except JudgeFailure as failure:
        return Finding("fail", "judge", f"{failure}: correct the file")
    return Finding("ok", "judge", f"{settings.recording}: recorded replies can be read")


def _model(settings: JudgeSettings) -> Iterator[Finding]:
    variable = settings.api_key_env
    if variable is not None and not os.environ.get(variable):
        message = f"the environment variable {variable} is not set: export {variable}=..."
        yield Finding("fail", "judge", message)
        return
    price = _price(settings)
    if price.state != "fail":  # else it would not be asked anything
        yield _probed(settings)
    yield price


def _probed(settings: JudgeSettings) -> Finding:
    from evaluators.engines.judge.llm_asker import probe

    try:
        return Finding("ok", "judge", probe(settings))
    except JudgeFailure as failure:
        advice = "see judge.model, judge.api_base and the key in judge.api_key_env"
        return Finding("fail", "judge", f"{failure}: {advice}")


def _price(settings: JudgeSettings) -> Finding:
    from evaluators.engines.judge.cost import Prices, require_price

    subject = "judge price"
    try:
        prices = Prices.of(settings)
        require_price(settings, prices)
    except JudgeFailure as failure:
        return Finding("fail", subject, str(failure))
    million = prices.usd(1_000_000, 0), prices.usd(0, 1_000_000)
    if not prices.known:
        told = "none known, so that no cost can be shown: give judge.usd_per_million_in and _out"
        return Finding("warn", subject, told)
    told = f"{million[0]:g} US dollars a million tokens sent, {million[1]:g} received"
    if any(million) and settings.budget_usd is None:
        return Finding("warn", subject, f"{told}; no limit: set judge.budget_usd")
    limit = "" if settings.budget_usd is None else f", at most {settings.budget_usd:g} a run"
    return Finding("ok", subject, told + limit)


def _repeats(judge: Judge) -> Iterator[Finding]:
    if max(judge.replicates, judge.escalate_to) > 1 and judge.temperature == 0:
        advice = (
            "equal questions at temperature 0 mostly get equal replies: "
            "leave judge.temperature out, or set 0.3 to 0.7"
        )
        yield Finding("warn", "judge repeats", advice)


def _relatives(judge: Judge, project: Project) -> Iterator[Finding]:
    own = family(judge.model)
    related = sorted(name for name in _systems(project) if own and family(name) == own)
    if related:
        advice = (
            f"{judge.model!r} judges {', '.join(map(repr, related))} of its own family, and models "
            "favour their kin: judge with a model of another family, or hold it against people"
        )
        yield Finding("warn", "judge family", advice)


def _systems(project: Project) -> set[str]:
    """The names of the systems, from the names of files and from what was read before."""
    systems = {
        str(row[0]) for row in _fetched(project, "SELECT DISTINCT system FROM predictions") or ()
    }
    for benchmark in project.benchmarks.values():
        try:
            systems |= {system for _, system in expand(benchmark.predictions) if system is not None}
        except WarehouseError:
            continue  # told where the files are looked at
    return systems


def _fetched(project: Project, sql: str) -> list[tuple[Any, ...]] | None:
    """The rows of a query, or None where the warehouse cannot be read."""
    try:
        if not Warehouse(project.warehouse).exists():
            return None
        return Warehouse(project.warehouse, patience_s=_PATIENCE_S).fetch(sql).rows()
    except WarehouseError:
        return None
