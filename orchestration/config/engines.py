"""Build engine settings from the configuration; no model loads and no server is contacted."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evaluators.engines.roles import Options
from evaluators.flows.requests import JUDGE
from orchestration.config.judge.factory import HUMAN, build_judge, judge_repeats
from orchestration.runs.progress import show_model_progress

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from assets.engines import RunEngines
    from evaluators.engines.models import ModelSettings
    from orchestration.config.judge.schema import Judge
    from orchestration.config.schema import Models
    from warehouse.storage.location import Location


def model_settings(models: Models, home: Path, warehouse: Location) -> ModelSettings:
    """Convert the keys of the other models to engine settings."""
    from evaluators.engines.models import ROLES, ModelSettings

    named = {role: getattr(models, role, None) for role in ROLES}
    return ModelSettings(
        names={role: name for role, name in named.items() if name is not None},
        home=home,
        options=replace(model_options(models), progress=show_model_progress),
        store=warehouse.parent / "encodings",
        store_bytes=models.store_mb * 1_000_000,
        api_base=models.api_base,
        api_key=None if models.api_key_env is None else os.environ.get(models.api_key_env),
    )


def model_options(models: Models) -> Options:
    """Return how models on this machine are run."""
    return Options(
        device=models.device,
        dtype=models.dtype,
        batch_size=models.batch_size,
        offline=models.offline,
    )


@dataclass(frozen=True, slots=True)
class EngineIdentities:
    """The identities of the configured engines, which are a part of evaluator signatures.

    Attributes:
        judge: The judge, if one is configured.
        home: The folder of the configuration file.
        engines: The engines of the project.
    """

    judge: Judge | None
    home: Path
    engines: RunEngines

    def by_role(self, roles: frozenset[str]) -> Mapping[str, str]:
        """Return the identity of each configured engine among `roles`.

        Raises:
            EvaluatorError: The judge replays a file that does not exist.
        """
        models = self.engines.models
        identities = {role: models[role].identity for role in roles & models.keys()}
        if JUDGE in roles and self.judge is not None:
            identities[JUDGE] = self._judge_identity(self.judge)
        return identities

    def _judge_identity(self, judge: Judge) -> str:
        if judge.model == HUMAN:
            return HUMAN
        repeats = judge_repeats(judge)
        suffix = "" if repeats.count == repeats.escalated == 1 else f" {repeats}"
        return build_judge(judge, self.home).identity + suffix


def build_engines(
    judge: Judge | None, models: Models, home: Path, warehouse: Location
) -> RunEngines:
    """Build the engines of a project."""
    from assets.engines import RunEngines
    from evaluators.engines.models import build_models

    built, absent = build_models(model_settings(models, home, warehouse))
    is_human = judge is not None and judge.model == HUMAN
    factory = None if judge is None or is_human else build_judge(judge, home)
    return RunEngines(
        judge_factory=factory,
        uses_human_labels=is_human,
        repeats=judge_repeats(judge),
        models=built,
        absent=absent,
    )
