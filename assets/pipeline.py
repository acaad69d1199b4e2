"""The pipeline: every asset and check of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets import checks as table_checks
from assets.automation import automated
from assets.findings import findings
from assets.gate_checks import gate_checks
from assets.ingest import inputs
from assets.judgments import judgments
from assets.keys import LEADERBOARD, PREDICTIONS, QUESTIONS
from assets.leaderboard import leaderboard
from assets.publish import published
from assets.reporting import table_metadata
from assets.scores import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project

TABLES = {QUESTIONS: "questions", PREDICTIONS: "predictions", LEADERBOARD: "leaderboard"}
"""The tables that assets fill; all others but `published` fill that of their stage."""

TABLES_BY_STAGE = {"scores": "scores", "judgments": "asks"}


def assets(project: Project) -> Sequence[dg.AssetsDefinition]:
    """The stages in the order in which they run."""
    judging = judgments(project)
    asking = [] if judging is None else [judging]
    filling = [inputs, *asking, scores(project), leaderboard(project), findings]

    def described(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = TABLES.get(spec.key, TABLES_BY_STAGE.get(spec.key.path[0], spec.key.path[0]))
        with_table = spec.merge_attributes(metadata=table_metadata(table, project.warehouse))
        return automated(with_table, project)

    last = dg.map_asset_specs(lambda spec: automated(spec, project), [published])
    return [*dg.map_asset_specs(described, filling), *last]


def checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """The checks that hold every table against its description, and systems against baselines."""
    return [*table_checks.checks(project), *gate_checks(project)]
