"""The first stage: files become questions and predictions in the warehouse."""

import dagster as dg

from assets import reporting
from assets.freshness import files, question_bearing
from assets.keys import BACKFILL, BENCHMARKS, INPUTS, OWNERS, PREDICTIONS, QUESTIONS
from assets.project import Project
from warehouse.formats.paths import expand
from warehouse.ingest import Ingested, ingest_predictions, ingest_questions
from warehouse.store import Warehouse
from warehouse.systems import require_systems


class RunChoices(dg.Config):
    """What a run is narrowed to.

    Attributes:
        systems: The systems; empty: all.
        look_in: The benchmarks in one of which each of the systems must occur; null: those of the
            run. The command gives all its benchmarks to the last of several runs.
        force: Whether to do again what is up to date.
    """

    systems: list[str] = []  # noqa: RUF012 - Dagster copies the default for each run
    look_in: list[str] | None = None
    force: bool = False


@dg.asset(
    key=QUESTIONS,
    partitions_def=BENCHMARKS,
    backfill_policy=BACKFILL,
    group_name=INPUTS,
    kinds={"duckdb"},
    owners=OWNERS,
    code_version="1",
    description="Questions with all that is known to be right about them, and the documents that "
    "they are about. One row is one question of one benchmark.",
)
def questions(
    context: dg.AssetExecutionContext,
    config: RunChoices,
    warehouse: dg.ResourceParam[Warehouse],
    project: dg.ResourceParam[Project],
) -> dg.MaterializeResult[None]:
    """Ingest the question and document files of each benchmark."""
    results = {}
    for name in context.partition_keys:
        benchmark = project.benchmarks[name]
        results[name] = ingest_questions(
            warehouse,
            benchmark=name,
            format=benchmark.format,
            questions=files(benchmark.questions),
            documents=files(benchmark.documents),
            predictions=question_bearing(benchmark),
            max_reject_ratio=benchmark.max_reject_ratio,
            force=config.force,
        )
    return _report(context, results)


@dg.asset(
    key=PREDICTIONS,
    deps=[QUESTIONS],
    partitions_def=BENCHMARKS,
    backfill_policy=BACKFILL,
    group_name=INPUTS,
    kinds={"duckdb"},
    owners=OWNERS,
    code_version="1",
    description="What each system answered, retrieved and cited, question by question. One row is "
    "one system's answer to one question, or the failure to give one.",
)
def predictions(
    context: dg.AssetExecutionContext,
    config: RunChoices,
    warehouse: dg.ResourceParam[Warehouse],
    project: dg.ResourceParam[Project],
) -> dg.MaterializeResult[None]:
    """Ingest the prediction files of each benchmark."""
    results = {}
    for name in context.partition_keys:
        benchmark = project.benchmarks[name]
        results[name] = ingest_predictions(
            warehouse,
            benchmark=name,
            format=benchmark.format,
            files=expand(benchmark.predictions),
            max_reject_ratio=benchmark.max_reject_ratio,
            force=config.force,
        )
    look_in = context.partition_keys if config.look_in is None else config.look_in
    if config.systems and look_in:
        require_systems(warehouse, config.systems, look_in)
    return _report(context, results)


def _report(
    context: dg.AssetExecutionContext, results: dict[str, Ingested]
) -> dg.MaterializeResult[None]:
    for benchmark, result in results.items():
        told = [f"{benchmark}: {note}" for note in result.notes]
        context.add_asset_metadata(
            {
                "dagster/partition_row_count": result.rows,
                **reporting.counts(
                    {"rejected": result.rejected, "unchanged": int(result.unchanged)}
                ),
                **reporting.notes(told),
            },
            partition_key=benchmark,
        )
    return dg.MaterializeResult[None]()
