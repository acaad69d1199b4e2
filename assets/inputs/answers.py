"""The assets `answers/<system>`: one for each system that is asked."""

from collections.abc import Iterator, Mapping

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.inputs.ask import AskingResult, ask_systems
from assets.judging.budget import retry_request
from assets.judging.step_judge import check_of_judge, judge_resources
from assets.keys import (
    BACKFILL,
    INPUTS,
    QUESTIONS,
    SYSTEMS_POOL,
    WAREHOUSE,
    StageConfig,
    answers_key,
    partitions_of,
    warehouse_of,
)
from assets.metadata import add_partition_metadata
from assets.project import NOT_ASKED_HERE, Project, asked_systems
from evaluators.engines.judge.errors import JudgeUnreachable

STEP = "ask"


def build_answers(project: Project) -> dg.AssetsDefinition | None:
    """Return the assets, of which a run may select a subset; None if no system is asked."""
    names = asked_systems(project)
    if not names:
        return None
    specs = [
        dg.AssetSpec(
            answers_key(name),
            deps=[QUESTIONS],
            group_name=INPUTS,
            kinds={"duckdb", project.systems[name].kind},
            code_version=project.systems[name].digest,
            description=f"What the system `{name}` answers when it is asked. An answer is asked "
            "for once, until the question or the version of the system changes. One row is one "
            "answer to one question, or the reason why there is none.",
        )
        for name in names
    ]

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=specs,
        can_subset=True,
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        pool=SYSTEMS_POOL,
        required_resource_keys={project.namespace.name(WAREHOUSE), *judge_resources(project)},
    )
    def ask(
        context: dg.AssetExecutionContext, config: StageConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Ask the selected systems the questions whose answers the ledger lacks."""
        selected = {key.path[-1]: key for key in context.selected_asset_keys}
        wanted = [
            (name, benchmark)
            for name in names
            if name in selected and (not config.systems or name in config.systems)
            for benchmark in context.partition_keys
        ]
        pairs = [pair for pair in wanted if pair[0] in project.benchmarks[pair[1]].systems]
        try:
            results = ask_systems(
                warehouse_of(context, project),
                [(benchmark, project.systems[name]) for name, benchmark in pairs],
                {name: benchmark.repeats for name, benchmark in project.benchmarks.items()},
                run_id=context.run.run_id,
                force=config.force,
                limit=config.limit,
                progress=project.show_answers,
                before=check_of_judge(context, project, [benchmark for _, benchmark in pairs]),
            )
        except JudgeUnreachable as error:
            retry = retry_request(context.run.tags, context.retry_number)
            if retry is None:
                raise
            raise retry from error
        added: dict[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]] = {
            (selected[name], benchmark): NOT_ASKED_HERE for name, benchmark in wanted
        }
        for (name, benchmark), result in zip(pairs, results, strict=True):
            added[selected[name], benchmark] = _partition_metadata(result)
        add_partition_metadata(context, added)
        for key in selected.values():
            yield dg.MaterializeResult[None](asset_key=key)

    return ask


def _partition_metadata(result: AskingResult) -> Mapping[str, RawMetadataValue]:
    added: dict[str, RawMetadataValue] = metadata.counts(
        {
            "questions asked": result.asked,
            "answers from the ledger": result.held,
            "errors of the system": result.errors,
            "questions without an answer": result.failed,
            "questions over budget": result.over_budget,
            "dagster/partition_row_count": result.asked + result.held,
        }
    )
    if result.cost_usd is not None:
        added["cost of answers in US dollars"] = result.cost_usd
    if result.reason is not None:
        added["most frequent reason"] = result.reason
    return added
