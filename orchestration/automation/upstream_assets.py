"""Finds the benchmarks whose upstream assets were materialized since their last run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assets.keys import upstream_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    import dagster as dg

    from assets.project import Project


def latest_materializations(instance: dg.DagsterInstance, project: Project) -> Mapping[str, int]:
    """Return the number of the latest materialization of each upstream asset that has one."""
    records = instance.get_asset_records(upstream_keys(project))
    entries = [record.asset_entry for record in records]
    return {
        entry.asset_key.to_user_string(): entry.last_materialization_storage_id
        for entry in entries
        if entry.last_materialization_storage_id is not None
    }


def benchmarks_to_run(project: Project, latest: Mapping[str, int], cursor: str | None) -> list[str]:
    """Return the benchmarks of which an upstream asset is newer than in the cursor.

    Args:
        project: The project.
        latest: The number of the latest materialization, by asset.
        cursor: The same when the sensor last requested runs, as JSON; None if it never has.
    """
    handled = json.loads(cursor) if cursor else {}
    updated = {name for name, number in latest.items() if number > handled.get(name, -1)}
    return [
        name
        for name, benchmark in project.benchmarks.items()
        if not updated.isdisjoint(benchmark.deps)
    ]
