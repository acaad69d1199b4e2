"""The resources that assets ask for: the warehouse and the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.store import Warehouse

if TYPE_CHECKING:
    from assets.project import Project


def resources(project: Project) -> dict[str, object]:
    """The resources of one project by their keys.

    Both are plain values: nothing is opened before an asset asks, and no connection is held.
    """
    return {"warehouse": Warehouse(project.warehouse), "project": project}
