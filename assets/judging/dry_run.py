"""Planning: what a run would score and ask, and what that would cost; nothing is spent."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from assets.engines import NO_JUDGE, WarehouseLedger
from assets.ingest import benchmark_files, validate_constraints
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
from warehouse.ledger import ledger
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from assets.project import Project
    from evaluators.engines.judge.dry_run import CostEstimate
    from evaluators.evaluator import Evaluator
    from warehouse.ledger.ledger import Ledger
    from warehouse.queries.samples import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorPlan:
    """What one evaluator would do on one benchmark.

    Attributes:
        benchmark: The benchmark.
        evaluator: The evaluator.
        samples: Samples that it would score.
        calls: Questions that it would ask, those that follow from replies included: the first of
            each sample exactly, the later ones as many as the evaluator expects. Those that an
            evaluator before it asks as well count there.
        held: Questions that the ledger answers.
        cost: What the calls would cost; None for evaluators that ask no judge.
    """

    benchmark: str
    evaluator: str
    samples: int
    calls: int = 0
    held: int = 0
    cost: CostEstimate | None = None


@contextmanager
def ingested_copy(project: Project, benchmarks: Sequence[str]) -> Iterator[Warehouse]:
    """A copy of the warehouse with the files as they are now; the project's stays as it is.

    Raises:
        WarehouseError: The files cannot be used.
    """
    with TemporaryDirectory(prefix="scoreline-plan-") as folder:
        path = Path(folder) / "warehouse.duckdb"
        copy = Warehouse(path)
        if Warehouse(project.warehouse).exists():
            Warehouse(project.warehouse).copy(path)
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
    """What each evaluator would do, in the order of a run.

    Args:
        project: The project.
        warehouse: Its warehouse, or a copy of it.
        benchmarks: The benchmarks.
        evaluators: The evaluators; empty: all.
        systems: The systems; empty: all.
        judge: Whether the judge may be asked.
    """
    counted: set[str] = set()  # what several evaluators would ask is asked for the first of them
    with ledger.open_ledger(warehouse, "plan") as tables:
        for name in benchmarks:
            benchmark = project.benchmarks[name]
            for evaluator in benchmark.evaluators:
                if not evaluators or evaluator.name in evaluators:
                    asking = tables if judge and is_judged(evaluator) else None
                    query = stale_samples(benchmark, evaluator, systems=systems)
                    yield _planned(project, warehouse, asking, evaluator, query, name, counted)


def _planned(
    project: Project,
    warehouse: Warehouse,
    tables: Ledger | None,
    evaluator: Evaluator,
    query: Query,
    benchmark: str,
    counted: set[str],
) -> EvaluatorPlan:
    with warehouse.fetch_to_disk(query.sql, query.parameters) as samples:
        known = EvaluatorPlan(benchmark=benchmark, evaluator=evaluator.name, samples=samples.rows)
        maker = project.engines.judge_factory
        if tables is None or maker is None or not isinstance(evaluator, FlowEvaluator):
            return known
        planning = maker.dry_run(WarehouseLedger(tables), counted)
        nothing = dict.fromkeys(evaluator.engine_roles() - {JUDGE}, DryRunModel())
        engines = Engines(judge=planning, models=nothing, absent={JUDGE: NO_JUDGE})
        later = 0
        for batch in samples.batches(TEXT_ROWS):
            score(evaluator, batch, engines)
            later += _later(evaluator, batch, planning.origins)
            planning.origins.clear()
        calls = len(planning.missing) + later
        cost = planning.cost(calls, _tokens_out(warehouse, evaluator))
        return replace(known, calls=calls, held=len(planning.held), cost=cost)


def _later(evaluator: FlowEvaluator, batch: pl.DataFrame, waiting: Mapping[Origin, int]) -> int:
    """The questions that are likely to follow from replies that are not there yet."""
    later = 0
    for row in batch.iter_rows(named=True):
        sample = Sample.of(row)
        origin = Origin(sample.benchmark, sample.system, sample.question_id, evaluator.name, 0)
        if origin in waiting:
            later += max(0, evaluator.expected_calls(sample) - waiting[origin])
    return later


def _tokens_out(warehouse: Warehouse, evaluator: Evaluator) -> float | None:
    """The tokens of an evaluator's replies until now, on average."""
    told = warehouse.fetch(
        "SELECT avg(tokens_out / greatest(attempts, 1)) FROM judgments "
        "WHERE digest IN (SELECT digest FROM asks WHERE evaluator = $evaluator)",
        {"evaluator": evaluator.name},
    )
    value = told.item()
    return None if value is None else float(value)
