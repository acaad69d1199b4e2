"""The assets `questions` and `predictions`: ingest input files into the warehouse."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.checks import expectations
from assets.checks.constraints import validate_constraints
from assets.fingerprints.input_files import benchmark_files
from assets.keys import BACKFILL, BENCHMARKS, INPUTS, PREDICTIONS, QUESTIONS, StageConfig
from assets.metadata import add_partition_metadata
from assets.project import Project
from warehouse.ingest.ingest import ingest
from warehouse.ingest.result import Ingested
from warehouse.queries.samples import require_systems
from warehouse.store import Warehouse

STEP = "ingest"

_SPEC = partial(dg.AssetSpec, group_name=INPUTS, kinds={"duckdb"}, code_version="1")


@dg.multi_asset(
    name=STEP,
    specs=[
        _SPEC(
            QUESTIONS,
            description="Questions with their expected answers and evidence, and the documents "
            "that they refer to. One row is one question of one benchmark.",
        ),
        _SPEC(
            PREDICTIONS,
            deps=[QUESTIONS],
            description="What each system answered, retrieved and cited. One row is one system's "
            "answer to one question, or the error in its place.",
        ),
    ],
    can_subset=True,
    partitions_def=BENCHMARKS,
    backfill_policy=BACKFILL,
)
def inputs(
    context: dg.AssetExecutionContext,
    config: StageConfig,
    warehouse: dg.ResourceParam[Warehouse],
    project: dg.ResourceParam[Project],
) -> Iterator[dg.MaterializeResult[None]]:
    """Ingest the files of all benchmarks of the run; when one of them fails, ingest none."""
    expectations.start_validator(project)
    benchmarks = context.partition_keys
    selected = [key for key in (QUESTIONS, PREDICTIONS) if key in context.selected_asset_keys]
    results = ingest(
        warehouse,
        [benchmark_files(project.benchmarks[name]) for name in benchmarks],
        kinds=[key.path[-1] for key in selected],
        inspect=validate_constraints,
        force=config.force,
    )
    required_in = config.require_systems_in
    if required_in is None:
        required_in = list(benchmarks)
    if config.systems and required_in:
        require_systems(warehouse, config.systems, required_in)
    add_partition_metadata(
        context,
        {
            (key, name): _partition_metadata(name, results[name, key.path[-1]])
            for key in selected
            for name in benchmarks
        },
    )
    for key in selected:
        yield dg.MaterializeResult[None](asset_key=key)


def _partition_metadata(benchmark: str, result: Ingested) -> dict[str, RawMetadataValue]:
    return {
        "dagster/partition_row_count": result.rows,
        **metadata.counts({"rejected": result.rejected, "unchanged": int(result.unchanged)}),
        **metadata.notes([f"{benchmark}: {note}" for note in result.notes]),
    }
