"""The warehouse and the judge of a project as Dagster resources, which the interface shows."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from assets.keys import JUDGE, WAREHOUSE
from evaluators.engines.judge.settings import JudgeSettings
from orchestration.config.judge.factory import LlmJudgeFactory
from warehouse.storage.location import POSTGRES, Lake
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.project import Project


PATIENCE_S = math.inf
"""A run waits for other processes as long as they write: what it computed must not be lost."""


class WarehouseResource(dg.ConfigurableResource[Warehouse]):
    """The warehouse: a DuckDB file, or a lake."""

    catalog: str = Field(description="The path of a DuckDB file, or the catalog of a lake.")
    data_path: str | None = Field(default=None, description="The Parquet files of a lake.")
    catalog_schema: str | None = Field(default=None, description="The schema of its catalog.")
    folder: str | None = Field(default=None, description="The folder for its scratch files.")
    password: str | None = Field(default=None, description="The password of its database.")
    password_env: str | None = Field(default=None, description="The variable with that password.")
    memory_limit: str | None = Field(default=None, description="DuckDB's, such as `4GB`.")

    def create_resource(self, context: dg.InitResourceContext) -> Warehouse:  # noqa: ARG002
        """Return the warehouse; no connection is open between the queries of an asset."""
        location: Path | Lake = Path(self.catalog)
        if self.data_path is not None and self.folder is not None:
            location = Lake(
                catalog=self.catalog.removeprefix(POSTGRES),
                data_path=self.data_path,
                folder=Path(self.folder),
                schema=self.catalog_schema or "public",
                password_env=self.password_env,
                given_password=self.password,
            )
        return Warehouse(location, patience_s=PATIENCE_S, memory_limit=self.memory_limit)


class JudgeResource(dg.ConfigurableResource[LlmJudgeFactory]):
    """The judge model. The fields are those of `judge` in the configuration."""

    model: str
    api_base: str | None
    api_key: str | None
    api_key_env: str | None
    concurrency: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    budget_usd: float | None
    daily_budget_usd: float | None
    temperature: float
    seed: int
    max_tokens: int
    timeout_s: float
    max_reply_mb: float
    max_attempts: int
    backoff_s: float
    patience_s: float
    usd_per_million_in: float | None
    usd_per_million_out: float | None
    usd_per_million_cache_read: float | None = None
    usd_per_million_cache_write: float | None = None
    structured_output: str
    optional: bool = False
    title: str = "the judge"

    def create_resource(self, context: dg.InitResourceContext) -> LlmJudgeFactory:  # noqa: ARG002
        """Return what creates the judge; it is not called before the first question."""
        given = {name: getattr(self, name) for name in JudgeSettings.model_fields}
        return LlmJudgeFactory(JudgeSettings(**given))


def build_resources(project: Project) -> Mapping[str, object]:
    """Return the resources of a project by their full names."""
    resources: dict[str, object] = {WAREHOUSE: _warehouse(project)}
    factory = project.engines.judge_factory
    if isinstance(factory, LlmJudgeFactory):
        given: dict[str, Any] = dict(factory.settings)
        given["api_key"] = _secret(factory.settings.api_key_env)
        resources[JUDGE] = JudgeResource(**given)
    elif factory is not None:
        resources[JUDGE] = factory
    return {project.namespace.name(name): resource for name, resource in resources.items()}


def _warehouse(project: Project) -> WarehouseResource:
    location = project.warehouse
    if not isinstance(location, Lake):
        return WarehouseResource(catalog=str(location), memory_limit=project.memory_limit)
    return WarehouseResource(
        catalog=str(location),
        data_path=location.data_path,
        catalog_schema=location.schema,
        folder=str(location.folder),
        password=_secret(location.password_env),
        password_env=location.password_env,
        memory_limit=project.memory_limit,
    )


def _secret(variable: str | None) -> dg.EnvVar | None:
    """Return the variable, which Dagster reads at the start of a step; None if it is not set.

    Dagster would refuse a run without it, even if the ledger has all replies. The judge reads it
    itself when it makes its first call.
    """
    return dg.EnvVar(variable) if variable is not None and variable in os.environ else None
