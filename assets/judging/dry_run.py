"""The dry run behind `scoreline plan`: samples, judge calls and cost of the next run."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from assets.checks.constraints import validate_constraints
from assets.engines import NO_JUDGE, WarehouseLedger
from assets.fingerprints.input_files import benchmark_files
from assets.project import is_judged
from assets.scoring.batches import TEXT_ROWS
from assets.scoring.refresh import stale_samples
from evaluators.engines.judge.dry_run import DryRunModel
from evaluators.flows.protocols import Engines, Origin
from evaluators.flows.requests import JUDGE
from evaluators.kinds.flow import FlowEvaluator
from evaluators.sample import Sample
from evaluators.scoring import score
from warehouse.ingest.ingest import ingest
from warehouse.ledger.ledger import open_ledger
from warehouse.storage.scratch import scratch_folder
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.engines import RunEngines
    from assets.project import Project
    from evaluators.engines.judge.dry_run import CostEstimate, DryRunJudge
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


@contextmanager
def ingested_copy(project: Project, benchmarks: Sequence[str]) -> Iterator[Warehouse]:
    """Yield a temporary copy of the warehouse that has ingested the current files.

    Raises:
        WarehouseError: The files cannot be ingested.
    """
    with scratch_folder(Path(gettempdir())) as folder:
        path = folder / "warehouse.duckdb"
        copy = Warehouse(path, memory_limit=project.memory_limit)
        if project.open_warehouse().exists():
            project.open_warehouse().copy(path)
        files = [benchmark_files(project.benchmarks[name]) for name in benchmarks]
        ingest(copy, files, kinds=("questions", "predictions"), inspect=validate_constraints)
        yield copy


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
    with open_ledger(project.open_warehouse(), "plan") as ledger:
        for name in benchmarks:
            benchmark = project.benchmarks[name]
            for evaluator in benchmark.evaluators:
                if evaluators and evaluator.name not in evaluators:
                    continue
                query = stale_samples([benchmark], evaluator, systems=systems)
                with warehouse.fetch_to_disk(*query) as samples:
                    plan = EvaluatorPlan(
                        benchmark=name, evaluator=evaluator.name, samples=samples.rows
                    )
                    if factory and isinstance(evaluator, FlowEvaluator) and is_judged(evaluator):
                        dry_run_judge = factory.dry_run(WarehouseLedger(ledger), counted)
                        engines = _dry_run_engines(project.engines, evaluator, dry_run_judge)
                        plan = _add_calls(
                            plan, warehouse, evaluator, samples, engines, dry_run_judge
                        )
                yield plan


def _dry_run_engines(engines: RunEngines, evaluator: FlowEvaluator, judge: DryRunJudge) -> Engines:
    """Return engines that compute nothing: those that are configured, and no others."""
    configured = evaluator.engine_roles() & engines.models.keys()
    return Engines(
        judge=judge,
        repeats=engines.repeats,
        models=dict.fromkeys(configured, DryRunModel()),
        absent={JUDGE: NO_JUDGE, **engines.absent},
    )


def _add_calls(
    plan: EvaluatorPlan,
    warehouse: Warehouse,
    evaluator: FlowEvaluator,
    samples: ScratchResult,
    engines: Engines,
    judge: DryRunJudge,
) -> EvaluatorPlan:
    """Add judge calls and their cost to a plan by a dry run of the flows."""
    dependent = 0
    for batch in samples.batches(TEXT_ROWS):
        score(evaluator, batch, engines)
        for row in batch.iter_rows(named=True):
            sample = Sample.of(row)
            origin = Origin(sample.benchmark, sample.system, sample.question_id, evaluator.name, 0)
            if origin in judge.origins:
                # The other calls of the sample depend on replies that are still missing.
                expected = engines.repeats.count * evaluator.expected_calls(sample)
                dependent += max(0, expected - judge.origins[origin])
        judge.origins.clear()
    calls = len(judge.missing) + dependent
    mean_tokens_out = warehouse.fetch(
        "SELECT avg(tokens_out / greatest(attempts, 1)) FROM judgments "
        "WHERE digest IN (SELECT digest FROM asks WHERE evaluator = $evaluator)",
        {"evaluator": evaluator.name},
    ).item()
    cost = judge.cost(calls, mean_tokens_out)
    return replace(plan, calls=calls, held=len(judge.held), cost=cost)
