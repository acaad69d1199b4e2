"""The jobs: named selections of assets that are run together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dagster._core.definitions.unresolved_asset_job_definition import (
        UnresolvedAssetJobDefinition,
    )

EVALUATE = "evaluate"


def jobs(executor: dg.ExecutorDefinition) -> Sequence[UnresolvedAssetJobDefinition]:
    """All jobs of a project, whose steps an executor carries out."""
    return [
        dg.define_asset_job(
            EVALUATE,
            selection=dg.AssetSelection.all(),
            executor_def=executor,
            description="Ingest, check, score, fold and publish: what `scoreline run` does.",
        )
    ]
