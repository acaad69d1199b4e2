"""The dry run behind `scoreline plan`: samples, judge calls and cost of the next run."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Final

from assets.checks.constraints import validate_constraints
from assets.engines import NO_JUDGE, WarehouseLedger
from assets.inputs.ingest import ingest_inputs
from assets.project import is_judged
from assets.scoring.batches import TEXT_ROWS
from assets.scoring.stale_samples import stale_samples
from evaluators.engines.judge.dry_run import DryRunModel, sum_costs
from evaluators.flows.panel import PanelJudge
from evaluators.flows.protocols import Engines
from evaluators.flows.requests import JUDGE
from evaluators.kinds.flow import FlowEvaluator
from evaluators.sample import Sample
from evaluators.scoring import score
from systems.answering import SystemCalls
from warehouse.ledger.open import has_ledger, open_ledger
from warehouse.queries.answers import fetch_questions
from warehouse.queries.benchmarks import answers_per_question
from warehouse.storage.scratch import scratch_folder
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.engines import JudgeFactory, RunEngines
    from assets.project import Project
    from evaluators.engines.judge.dry_run import CostEstimate, DryRunJudge
    from systems.client import Request
    from systems.settings import SystemSettings
    from warehouse.storage.scratch import ScratchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorPlan:
    """What one evaluator would do on one benchmark.

    Attributes:
        benchmark: The benchmark.
        evaluator: The evaluator.
        samples: The samples that it would score.
        calls: The judge calls that it would make. The first call of each sample is counted
            exactly; the calls that depend on its reply are the evaluator's estimate. A call that
            an earlier evaluator shares counts there.
        held: The calls whose replies are in the ledger.
        cost: The estimated cost of the calls; None for evaluators without a judge.
    """

    benchmark: str
    evaluator: str
    samples: int
    calls: int = 0
    held: int = 0
    cost: CostEstimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersPlan:
    """What one system would be asked on one benchmark.

    Attributes:
        benchmark: The benchmark.
        system: The system.
        questions: The questions of the benchmark.
        missing: The answers that it would be asked for. One that an earlier benchmark of the plan
            shares counts there.
        calls: The calls that these take, which are more where a task asks in several orders.
        held: The answers in the ledger.
        usd: The most that the calls may cost in US dollars, at most what the budget leaves; None if
            unknown.
        is_limited: Whether the budget may end before all are answered.
        missing_key: Which environment variable is not set; None if none is missing.
    """

    benchmark: str
    system: str
    questions: int
    missing: int
    calls: int
    held: int
    usd: float | None
    is_limited: bool
    missing_key: str | None


@contextmanager
def ingested_copy(project: Project, benchmarks: Sequence[str]) -> Iterator[Warehouse]:
    """Yield a temporary copy of the warehouse that has ingested the current files.

    Answers that systems have not given yet have stand-ins; see `make_stand_ins`.

    Raises:
        WarehouseError: The files cannot be ingested.
    """
    with scratch_folder(Path(gettempdir())) as folder:
        path = folder / "warehouse.duckdb"
        copy = Warehouse(path, memory_limit=project.memory_limit)
        if project.open_warehouse().exists():
            project.open_warehouse().copy(path)
        kinds = ("questions", "predictions")
        ingest_inputs(
            project, copy, benchmarks, kinds, inspect=validate_constraints, stand_ins=True
        )
        yield copy


def plan_answers(
    project: Project,
    warehouse: Warehouse,
    benchmarks: Sequence[str],
    *,
    systems: Sequence[str] = (),
) -> Iterator[AnswersPlan]:
    """Yield what each system would be asked; see `plan_run`.

    Raises:
        SystemRefused: A request cannot be made from a question.
    """
    counted: set[str] = set()
    left: dict[str, float] = {}
    with open_ledger(project.open_warehouse(), "plan") as ledger:
        for name in benchmarks:
            asked = project.benchmarks[name].systems
            questions = fetch_questions(warehouse, name) if asked else []
            for system in asked:
                if systems and system not in systems:
                    continue
                repeats = project.benchmarks[name].repeats
                calls = SystemCalls(project.systems[system], questions, repeats)
                missing: list[Request] = []
                held = 0
                for job in calls.jobs():
                    digest = job.call.digest
                    found = ledger.find(digest)
                    if found is not None and found.reply is not None:
                        held += 1
                    elif digest not in counted:
                        counted.add(digest)
                        missing.append(job.request)
                costs = [calls.client.most_usd(each) for each in missing]
                most = sum(math.inf if usd is None else usd for usd in costs)
                if system not in left:
                    left[system] = _budget_left(project, project.systems[system])
                usd = min(most, left[system])
                if math.isfinite(usd):
                    left[system] = round(left[system] - usd, _DIGITS)
                yield AnswersPlan(
                    benchmark=name,
                    system=system,
                    questions=len(questions),
                    missing=len(missing),
                    calls=sum(each.calls for each in missing),
                    held=held,
                    usd=usd if math.isfinite(usd) else None,
                    is_limited=usd < most,
                    missing_key=calls.client.missing_key() if missing else None,
                )


def _budget_left(project: Project, system: SystemSettings) -> float:
    """Return the most that a run may spend on a system now, in US dollars."""
    left = math.inf if system.budget_usd is None else system.budget_usd
    if system.daily_budget_usd is not None:
        left = min(left, system.daily_budget_usd)
    if system.daily_budget_usd is not None and has_ledger(project.open_warehouse()):
        with open_ledger(project.open_warehouse(), "plan", f"plan/{system.name}") as ledger:
            spent = ledger.spent_last_day_usd()
        left = min(left, max(0.0, round(system.daily_budget_usd - spent, _DIGITS)))
    return left


_DIGITS: Final = 9
"""Sums of costs are exact to a billionth of a dollar."""


def plan_run(
    project: Project,
    warehouse: Warehouse,
    benchmarks: Sequence[str],
    *,
    evaluators: Sequence[str] = (),
    systems: Sequence[str] = (),
    judge: bool = True,
) -> Iterator[EvaluatorPlan]:
    """Yield the plan of each evaluator, in the order of a run.

    Args:
        project: The project.
        warehouse: Its warehouse, or a copy of it.
        benchmarks: The benchmarks.
        evaluators: The evaluators; empty for all.
        systems: The systems; empty for all.
        judge: Whether the run may call the judge.
    """
    counted: set[str] = set()  # a call that several evaluators share counts for the first
    factory = project.engines.judge_factory if judge else None
    if factory is not None and factory.skip_reason() is not None:
        factory = None
    with open_ledger(project.open_warehouse(), "plan") as ledger:
        for name in benchmarks:
            benchmark = project.benchmarks[name]
            several = bool(answers_per_question(warehouse, [name]))
            for evaluator in benchmark.evaluators:
                if evaluators and evaluator.name not in evaluators:
                    continue
                query = stale_samples([benchmark], evaluator, systems=systems, every_answer=several)
                with warehouse.fetch_to_disk(*query) as samples:
                    plan = EvaluatorPlan(
                        benchmark=name, evaluator=evaluator.name, samples=samples.rows
                    )
                    if factory and isinstance(evaluator, FlowEvaluator) and is_judged(evaluator):
                        judges = factory.dry_run(WarehouseLedger(ledger), counted)
                        engines = _dry_run_engines(project.engines, evaluator, factory, judges)
                        plan = _add_calls(plan, warehouse, evaluator, samples, engines, judges)
                yield plan


def _dry_run_engines(
    engines: RunEngines,
    evaluator: FlowEvaluator,
    factory: JudgeFactory,
    judges: Sequence[DryRunJudge],
) -> Engines:
    """Return engines that compute nothing: those that are configured, and no others."""
    configured = evaluator.engine_roles() & engines.models.keys()
    return Engines(
        judge=judges[0] if factory.panel is None else PanelJudge(judges, factory.identity),
        repeats=engines.repeats,
        panel=factory.panel,
        models=dict.fromkeys(configured, DryRunModel()),
        absent={JUDGE: NO_JUDGE, **engines.absent},
    )


def _add_calls(
    plan: EvaluatorPlan,
    warehouse: Warehouse,
    evaluator: FlowEvaluator,
    samples: ScratchResult,
    engines: Engines,
    judges: Sequence[DryRunJudge],
) -> EvaluatorPlan:
    """Add judge calls and their cost to a plan by a dry run of the flows.

    Without replies, the first members of a panel seem to disagree, so that with escalation the
    calls of all members are counted: the most that a run may make.
    """
    dependent = [0] * len(judges)
    for batch in samples.batches(TEXT_ROWS):
        score(evaluator, batch, engines)
        for row in batch.iter_rows(named=True):
            sample = Sample.of(row)
            origin = evaluator.origin_of(sample)
            for at, judge in enumerate(judges):
                if origin in judge.origins:
                    # The other calls of the sample depend on replies that are still missing.
                    expected = engines.repeats.count * evaluator.expected_calls(sample)
                    dependent[at] += max(0, expected - judge.origins[origin])
        for judge in judges:
            judge.origins.clear()
    calls = [len(judge.missing) + more for judge, more in zip(judges, dependent, strict=True)]
    mean_tokens_out = warehouse.fetch(
        "SELECT avg(tokens_out / greatest(attempts, 1)) FROM judgments "
        "WHERE digest IN (SELECT digest FROM asks WHERE evaluator = $evaluator)",
        {"evaluator": evaluator.name},
    ).item()
    costs = [judge.cost(count, mean_tokens_out) for judge, count in zip(judges, calls, strict=True)]
    held = sum(len(judge.held) for judge in judges)
    return replace(plan, calls=sum(calls), held=held, cost=sum_costs(costs))
