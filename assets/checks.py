"""Checks of the tables, run before anything that follows from them is."""

from collections.abc import Sequence

import dagster as dg

from assets.keys import LEADERBOARD, PREDICTIONS, QUESTIONS
from assets.project import Project
from warehouse.errors import DuplicateKey
from warehouse.store import Warehouse

CHECKED = {QUESTIONS: "questions", PREDICTIONS: "predictions", LEADERBOARD: "leaderboard"}


def checks(_: Project) -> Sequence[dg.AssetChecksDefinition]:
    """For each table: its columns are those described, and its keys are unique."""
    return [_check(key, table) for key, table in CHECKED.items()]


def _check(key: dg.AssetKey, table: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=key,
        name="as_described",
        blocking=True,
        description=f"The table `{table}` has the columns and the unique key that the schema page "
        "promises.",
    )
    def as_described(warehouse: dg.ResourceParam[Warehouse]) -> dg.AssetCheckResult:
        found = [each for each in warehouse.differences() if each.startswith(table)]
        try:
            warehouse.require_unique(table)
        except DuplicateKey as error:
            found.append(str(error))
        return dg.AssetCheckResult(
            passed=not found,
            severity=dg.AssetCheckSeverity.ERROR,
            description="; ".join(found) or None,
        )

    return as_described
