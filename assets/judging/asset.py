"""The assets `judgments/<evaluator>`: one for each evaluator that needs a judge."""

from collections.abc import Iterator, Mapping

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.engines import RunEngines
from assets.judging.budget import engines_within_budget, retry_request
from assets.judging.call_judge import JudgingResult, call_judge
from assets.keys import (
    BACKFILL,
    BENCHMARKS,
    JUDGE_POOL,
    PREDICTIONS,
    QUESTIONS,
    StageConfig,
    judgments_key,
)
from assets.metadata import add_partition_metadata
from assets.project import UNUSED, Project, find_evaluator, is_judged, used_evaluators
from evaluators import catalog
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.kinds.flow import FlowEvaluator
from warehouse.errors import WarehouseLocked
from warehouse.store import Warehouse

STEP = "judge"


def build_judgments(project: Project) -> dg.AssetsDefinition | None:
    """Return the assets, of which a run may select a subset; None if no evaluator needs a judge."""
    used = used_evaluators(project)
    names = [name for name, group in used.items() if is_judged(group[0])]
    if not names:
        return None
    specs = [
        dg.AssetSpec(
            judgments_key(name),
            deps=[QUESTIONS, PREDICTIONS],
            group_name=catalog.family_of(used[name][0]),
            kinds={"duckdb", "litellm"},
            code_version="1",
            description=f"The judge calls of `{name}` and their replies. A call with a reply is "
            "never repeated, even when the formula changes. One row of `asks` is one step in "
            "scoring one sample; `judgments` holds the reply.",
        )
        for name in names
    ]

    @dg.multi_asset(
        name=STEP,
        specs=specs,
        can_subset=True,
        partitions_def=BENCHMARKS,
        backfill_policy=BACKFILL,
        pool=JUDGE_POOL,
    )
    def judge(
        context: dg.AssetExecutionContext,
        config: StageConfig,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Make the judge calls that the selected evaluators need and the ledger lacks."""
        selected = {key.path[-1] for key in context.selected_asset_keys}
        engines, no_judge = engines_within_budget(project, warehouse, context.run.tags)
        if no_judge is not None:
            context.log.warning(no_judge)
        wanted = [
            (name, benchmark)
            for name in names
            if name in selected
            for benchmark in context.partition_keys
        ]
        pairs = {
            (name, benchmark): (project.benchmarks[benchmark], evaluator)
            for name, benchmark in wanted
            if isinstance(evaluator := find_evaluator(project, benchmark, name), FlowEvaluator)
        }
        try:
            results = call_judge(
                warehouse,
                engines,
                list(pairs.values()),
                run_id=context.run.run_id,
                systems=config.systems,
                force=config.force,
            )
        except (JudgeUnreachable, WarehouseLocked) as error:
            retry = retry_request(context.run.tags, context.retry_number)
            if retry is None:
                raise
            raise retry from error
        note = {} if no_judge is None else {"note": no_judge}
        added: dict[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]] = {
            (judgments_key(name), benchmark): UNUSED for name, benchmark in wanted
        }
        for (name, benchmark), result in zip(pairs, results, strict=True):
            added[judgments_key(name), benchmark] = {
                **_partition_metadata(result),
                **_budget_metadata(engines),
                **note,
            }
        add_partition_metadata(context, added)
        for name in names:
            if name in selected:
                yield dg.MaterializeResult[None](asset_key=judgments_key(name))

    return judge


def _partition_metadata(result: JudgingResult) -> Mapping[str, RawMetadataValue]:
    added: dict[str, RawMetadataValue] = metadata.counts(
        {
            "judge calls": result.calls,
            "calls over budget": result.over_budget,
            "replies from the ledger": result.cached,
            "parse failures": result.parse_failures,
            "judge errors": result.judge_errors,
            "dagster/partition_row_count": result.calls + result.over_budget + result.cached,
        }
    )
    if result.tokens is not None:
        added["tokens"] = result.tokens
    if result.cost_usd is not None:
        added["cost in US dollars"] = result.cost_usd
    return added


def _budget_metadata(engines: RunEngines) -> Mapping[str, RawMetadataValue]:
    """Return what the run has done with the judge's budget, in US dollars."""
    budget = None if engines.judge_factory is None else engines.judge_factory.budget
    if budget is None:
        return {}
    added = {"budget": budget.total_usd, "spent of the budget": budget.spent_usd}
    if budget.refused_usd is not None:
        added["set aside for the next call"] = budget.refused_usd
    return {name: dg.MetadataValue.float(value) for name, value in added.items()}
