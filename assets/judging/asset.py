"""The judging stage: one asset for each evaluator that asks a judge."""

from collections.abc import Iterator, Mapping

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.judging.budget import engines_within_budget, retry_request
from assets.judging.call_judge import Judging, JudgingResult
from assets.keys import (
    BACKFILL,
    BENCHMARKS,
    JUDGE_POOL,
    OWNERS,
    PREDICTIONS,
    QUESTIONS,
    StageConfig,
    judgments_key,
)
from assets.metadata import add_partition_metadata
from assets.project import UNUSED, Project, configured, is_judged, used
from evaluators import catalog
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.kinds.flow import FlowEvaluator
from warehouse.errors import WarehouseLocked
from warehouse.store import Warehouse

STEP = "judge"


def build_judgments(project: Project) -> dg.AssetsDefinition | None:
    """The assets `judgments/<evaluator>`, of which a run may select any; None without any."""
    names = [name for name, group in used(project).items() if is_judged(group[0])]
    if not names:
        return None
    specs = [
        dg.AssetSpec(
            judgments_key(name),
            deps=[QUESTIONS, PREDICTIONS],
            group_name=catalog.family(name),
            kinds={"duckdb", "litellm"},
            owners=OWNERS,
            code_version="1",
            description=f"What the judge was asked for `{name}` and what it replied. What was "
            "once answered is not asked again, whatever becomes of the formula. One row of "
            "`asks` is one step of one sample's grading; `judgments` holds the reply.",
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
        """Ask the judge what it has not been asked for the selected evaluators."""
        selected = {key.path[-1] for key in context.selected_asset_keys}
        answering, why_not = engines_within_budget(project, warehouse, context.run.tags)
        if why_not is not None:
            context.log.warning(why_not)
        wanted = [
            (name, benchmark)
            for name in names
            if name in selected
            for benchmark in context.partition_keys
        ]
        pairs = {
            (name, benchmark): (project.benchmarks[benchmark], evaluator)
            for name, benchmark in wanted
            if isinstance(evaluator := configured(project, benchmark, name), FlowEvaluator)
        }
        judging = Judging(
            warehouse=warehouse,
            engines=answering,
            run_id=context.run.run_id,
            systems=config.systems,
            force=config.force,
        )
        try:
            judged = dict(zip(pairs, judging.judge(list(pairs.values())), strict=True))
        except (JudgeUnreachable, WarehouseLocked) as error:
            later = retry_request(context.run.tags, context.retry_number)
            if later is None:
                raise
            raise later from error
        note = {} if why_not is None else {"note": why_not}
        told: dict[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]] = {}
        for name, benchmark in wanted:
            done = judged.get((name, benchmark))
            report = UNUSED if done is None else {**_report(done), **note}
            told[judgments_key(name), benchmark] = report
        add_partition_metadata(context, told)
        for name in names:
            if name in selected:
                yield dg.MaterializeResult[None](asset_key=judgments_key(name))

    return judge


def _report(judged: JudgingResult) -> Mapping[str, RawMetadataValue]:
    told: dict[str, RawMetadataValue] = metadata.counts(
        {
            "asked": judged.asked,
            "held in the ledger": judged.held,
            "parse failures": judged.parse_failures,
            "judge errors": judged.judge_errors,
        }
    )
    told["dagster/partition_row_count"] = judged.asked + judged.held
    if judged.tokens is not None:
        told["tokens"] = judged.tokens
    if judged.cost_usd is not None:
        told["cost in US dollars"] = judged.cost_usd
    return told
