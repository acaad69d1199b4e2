"""The assets `judgments/<evaluator>`: one for each evaluator that needs a judge."""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.engines import RunEngines
from assets.judging.budget import engines_within_budget, retry_request
from assets.judging.call_judge import JudgingResult, call_judge
from assets.judging.step_judge import judge_resources, with_judge_of
from assets.keys import (
    BACKFILL,
    JUDGE_POOL,
    PREDICTIONS,
    QUESTIONS,
    WAREHOUSE,
    StageConfig,
    judgments_key,
    partitions_of,
    warehouse_of,
)
from assets.metadata import add_partition_metadata
from assets.project import UNUSED, Project, find_evaluator, is_judged, used_evaluators
from calls.ledger.errors import LedgerLocked
from evaluators import catalog
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.evaluator import Evaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.sample import KEYS
from warehouse.errors import WarehouseLocked

STEP = "judge"


def build_judgments(project: Project) -> dg.AssetsDefinition | None:
    """Return the assets, of which a run may select a subset; None if no evaluator needs a judge."""
    used = used_evaluators(project)
    names = [name for name, group in used.items() if any(map(is_judged, group))]
    if not names:
        return None
    specs = [
        dg.AssetSpec(
            judgments_key(name),
            deps=[QUESTIONS, PREDICTIONS],
            group_name=catalog.family_of(used[name][0]),
            kinds={"duckdb", "litellm"},
            code_version="1",
            metadata=metadata.column_lineage(_sources(project, used[name])),
            description=f"The judge calls of `{name}` and their replies. A call with a reply is "
            "never repeated, even when the formula changes. One row of `asks` is one step in "
            "scoring one sample; `judgments` holds the reply.",
        )
        for name in names
    ]

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=specs,
        can_subset=True,
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        pool=JUDGE_POOL,
        required_resource_keys={project.namespace.name(WAREHOUSE), *judge_resources(project)},
    )
    def judge(
        context: dg.AssetExecutionContext, config: StageConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Make the judge calls that the selected evaluators need and the ledger lacks."""
        warehouse = warehouse_of(context, project)
        selected = {key.path[-1]: key for key in context.selected_asset_keys}
        asked = with_judge_of(context, project)
        engines, no_judge = engines_within_budget(asked, warehouse, context.run.tags)
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
            and is_judged(evaluator)
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
        except (JudgeUnreachable, LedgerLocked, WarehouseLocked) as error:
            retry = retry_request(context.run.tags, context.retry_number)
            if retry is None:
                raise
            raise retry from error
        note = {} if no_judge is None else {"note": no_judge}
        added: dict[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]] = {
            (selected[name], benchmark): UNUSED for name, benchmark in wanted
        }
        for (name, benchmark), result in zip(pairs, results, strict=True):
            added[selected[name], benchmark] = {
                **_partition_metadata(result),
                **_budget_metadata(engines),
                **note,
            }
        add_partition_metadata(context, added)
        for name in names:
            if name in selected:
                yield dg.MaterializeResult[None](asset_key=selected[name])

    return judge


def _sources(
    project: Project, group: Sequence[Evaluator]
) -> Mapping[str, Sequence[tuple[dg.AssetKey, str]]]:
    """Return where the columns of an evaluator's judge calls come from."""
    read = {column for each in group for column in each.columns} - set(KEYS)
    predictions = project.namespace.key(PREDICTIONS)
    keys = {name: [(predictions, name)] for name in KEYS}
    return {**keys, "digest": metadata.sample_sources(project, read)}


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
    if result.reason is not None:
        added["most frequent reason"] = result.reason
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
