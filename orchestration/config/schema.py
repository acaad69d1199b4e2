"""The schema of `scoreline.yaml`: its keys and the types of their values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from assets.config_types import (
    BenchmarkName,
    ConfigModel,
    EnvVariable,
    Number,
    PathPattern,
    Text,
)
from assets.project import Alerts, Automation, Drift, Execution, Gate
from orchestration.config.engine_schema import Judge, Models


class ExpectationKeys(ConfigModel):
    """An expectation of the rows of a table, in addition to those that every table has.

    Attributes:
        name: An expectation of Great Expectations that Scoreline evaluates in DuckDB.
        kwargs: Its arguments.
        severity: `error` stops the run, `warn` only prints a warning.
        meaning: An explanation for those who read that the expectation failed.
    """

    name: Text
    kwargs: dict[str, Any] = Field(default_factory=dict)
    severity: Literal["error", "warn"] = "error"
    meaning: str = ""


class BenchmarkKeys(ConfigModel):
    """One benchmark: its files, and what to compute on them.

    Attributes:
        format: The input format of the files; see the formats.
        questions: The question files, a path or a pattern such as `data/*.jsonl`. Required, unless
            the format has the questions in the prediction files.
        documents: The document files, if there are any.
        predictions: The prediction files. `{system}` in the path stands for the name of the system.
        evaluators: Names of evaluators or families, or `all`.
        parameters: Parameters of evaluators that differ from the defaults, by evaluator.
        slices: Tags, or `noise_ratio`, `scenario`, `perturbation`, `doc_id`, `cluster`,
            `expected_label`: there is a leaderboard for each of their values.
        cluster: The question field that marks dependent questions, for intervals and tests.
        thresholds: The mean from which on a system passes, by metric such as `citation.f1`.
        intervals: The method for confidence intervals of means: `bootstrap`, or `t` (Student's).
        gates: Systems that must not be worse than others; the run fails when they are.
        max_reject_ratio: The largest share of unusable rows in a file with which a run continues.
        expectations: Additional expectations by table: `questions`, `documents`, `predictions`,
            `scores/<evaluator>`, `leaderboard`, `system_scores`.
    """

    format: Text = "canonical"
    questions: Text | None = None
    documents: Text | None = None
    predictions: PathPattern
    evaluators: Annotated[list[Text], Field(min_length=1)]
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    slices: list[Text] = Field(default_factory=list)
    cluster: Text | None = None
    thresholds: dict[str, Number] = Field(default_factory=dict)
    intervals: Literal["bootstrap", "t"] = "bootstrap"
    gates: list[Gate] = Field(default_factory=list)
    max_reject_ratio: Annotated[Number, Field(ge=0, le=1)] = 0.0
    expectations: dict[str, list[ExpectationKeys]] = Field(default_factory=dict)


class WarehouseKeys(ConfigModel):
    """The location of the warehouse; instead of the mapping you may give its `catalog` alone.

    Attributes:
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and the connection string of a
            lake's database; see the guide to scale-out.
        data_path: The folder or object store of a lake's Parquet files; `.scoreline/lake` unless
            given.
        catalog_schema: The database schema of the lake's catalogue; `public` unless given. With a
            schema each, many projects share a database.
        password_env: The environment variable that holds the PostgreSQL password.
    """

    catalog: Text
    data_path: Text | None = None
    catalog_schema: Text | None = None
    password_env: EnvVariable | None = None


def _expand_catalog(warehouse: object) -> object:
    return {"catalog": warehouse} if isinstance(warehouse, str) else warehouse


class ProjectKeys(ConfigModel):
    """The whole configuration file.

    Attributes:
        warehouse: The location of the warehouse, a DuckDB file or a lake;
            `.scoreline/warehouse.duckdb` unless given.
        publish: The folder for the published copy and the report.
        judge: The judge model. Without one, evaluators that need a judge are not applicable.
        models: The models of the other engines.
        expectations: `sql` disables Great Expectations; the checks of keys, columns and grids
            remain.
        drift: How far numbers may change between two publications without a warning.
        automation: Automated runs.
        alerts: Where messages about failed runs go.
        execution: Where the steps of a run are executed.
        benchmarks: The benchmarks by name (1 to 100 letters, digits, dots, dashes or underscores).
    """

    warehouse: Annotated[
        WarehouseKeys, BeforeValidator(_expand_catalog, json_schema_input_type=str | WarehouseKeys)
    ] = WarehouseKeys(catalog=".scoreline/warehouse.duckdb")
    publish: Text = "published"
    judge: Judge | None = None
    models: Models = Models()
    expectations: Literal["full", "sql"] = "full"
    drift: Drift = Drift()
    automation: Automation = Automation()
    alerts: Alerts = Alerts()
    execution: Execution = Execution()
    benchmarks: Annotated[
        dict[BenchmarkName, BenchmarkKeys],
        Field(min_length=1),
    ]
