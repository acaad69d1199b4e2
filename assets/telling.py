"""What a run tells Dagster of each of its benchmarks, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dagster._core.execution.context.metadata_logging import (
    AssetMetadataHandle,
    OutputMetadataAccumulator,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import dagster as dg
    from dagster._core.definitions.metadata import RawMetadataValue


def tell_dagster(
    context: dg.AssetExecutionContext,
    told: Mapping[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]],
) -> None:
    """Add metadata to the materialisations of partitions; each of them is told of once.

    Dagster's own `add_asset_metadata` reads all partitions from its storage and copies all that
    was added before, for every call: time that grows with the square of the partitions.

    Args:
        context: The context of the asset.
        told: The metadata by asset and partition.
    """
    step = context.get_step_execution_context()
    # Its own way of keeping them; there is no other that takes many.
    kept: dict[Any, Any] = dict(step._metadata_accumulator.per_output_metadata)  # noqa: SLF001
    for (key, partition), metadata in told.items():
        kept[AssetMetadataHandle(asset_key=key, partition_key=partition)] = metadata
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=kept)  # noqa: SLF001
