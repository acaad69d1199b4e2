"""The assets `questions` and `predictions`: ingest input files into the warehouse."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.checks import expectations
from assets.checks.constraints import validate_constraints
from assets.inputs.ingest import ingest_inputs
from assets.keys import (
    BACKFILL,
    INPUTS,
    PREDICTIONS,
    QUESTIONS,
    WAREHOUSE,
    StageConfig,
    answers_key,
    partitions_of,
    warehouse_of,
)
from assets.metadata import add_partition_metadata
from assets.project import Project, asked_systems
from warehouse.ingest.result import Ingested
from warehouse.queries.samples import require_systems

STEP = "ingest"

_SPEC = partial(dg.AssetSpec, group_name=INPUTS, kinds={"duckdb"}, code_version="1")


def build_inputs(project: Project) -> dg.AssetsDefinition:
    """Return the assets, of which a run may select a subset."""

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=[
            _SPEC(
                QUESTIONS,
                description="Questions with their expected answers and evidence, and the documents "
                "that they refer to. One row is one question of one benchmark.",
            ),
            _SPEC(
                PREDICTIONS,
                deps=[QUESTIONS, *map(answers_key, asked_systems(project))],
                description="What each system answered, retrieved and cited. One row is one "
                "system's answer to one question, or the error in its place.",
            ),
        ],
        can_subset=True,
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def inputs(
        context: dg.AssetExecutionContext, config: StageConfig
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Ingest the files of all benchmarks of the run; when one of them fails, ingest none."""
        warehouse = warehouse_of(context, project)
        expectations.start_validator(project)
        benchmarks = context.partition_keys
        selected = {key.path[-1]: key for key in sorted(context.selected_asset_keys, reverse=True)}
        results = ingest_inputs(
            project,
            warehouse,
            benchmarks,
            list(selected),
            inspect=validate_constraints,
            force=config.force,
        )
        required_in = config.require_systems_in
        if required_in is None:
            required_in = list(benchmarks)
        # The questions come in a step of their own if systems are asked.
        if config.systems and required_in and PREDICTIONS in selected.values():
            require_systems(warehouse, config.systems, required_in)
        add_partition_metadata(
            context,
            {
                (key, name): _partition_metadata(name, results[name, kind])
                for kind, key in selected.items()
                for name in benchmarks
            },
        )
        for key in selected.values():
            yield dg.MaterializeResult[None](asset_key=key)

    return inputs


def _partition_metadata(benchmark: str, result: Ingested) -> dict[str, RawMetadataValue]:
    return {
        "dagster/partition_row_count": result.rows,
        **metadata.counts({"rejected": result.rejected, "unchanged": int(result.unchanged)}),
        **metadata.notes([f"{benchmark}: {note}" for note in result.notes]),
    }
