"""The keys of `scoreline.yaml`: what each may hold, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from orchestration.config.engine_schema import Judge, Models
from orchestration.config.types import (
    Address,
    BenchmarkName,
    Count,
    Cron,
    Keys,
    Number,
    Pattern,
    Price,
    Text,
    Timezone,
    Variable,
)


class GateKeys(Keys):
    """A system that must not fall behind a baseline; the run fails when it does.

    Attributes:
        system: The system that must not fall behind.
        baseline: The system that it is held against.
        metrics: Addresses such as `citation.f1`; the primary metrics unless given.
        tolerance: How much worse it may be, on the scale of the metric.
    """

    system: Text
    baseline: Text
    metrics: list[Text] = Field(default_factory=list)
    tolerance: Annotated[Number, Field(ge=0)] = 0.0


class ExpectationKeys(Keys):
    """One thing that a user expects of the rows of a table.

    Attributes:
        name: An expectation of Great Expectations that DuckDB carries out itself.
        kwargs: Its arguments.
        severity: `error` stops what follows, `warn` is only told.
        meaning: What it means, for whoever reads that it does not hold.
    """

    name: Text
    kwargs: dict[str, Any] = Field(default_factory=dict)
    severity: Literal["error", "warn"] = "error"
    meaning: str = ""


class DriftKeys(Keys):
    """How far numbers may move between two publications before a warning says so.

    Attributes:
        failure_rate: By how much the share of failed answers and lost scores may rise.
        coverage: By how much a coverage may fall.
        cost: By what share the mean cost of an answer or a judgment may rise.
    """

    failure_rate: Annotated[Number, Field(ge=0, le=1)] = 0.05
    coverage: Annotated[Number, Field(ge=0, le=1)] = 0.05
    cost: Annotated[Number, Field(ge=0)] = 0.5


class AutomationKeys(Keys):
    """Runs that nobody starts; all of them are off until they are switched on.

    Attributes:
        cron: When the schedule `nightly` runs all benchmarks.
        timezone: The time zone of that time.
        settle_s: For how many seconds files must not have changed before the sensor runs their
            benchmark.
        interval_s: The seconds between two looks of the sensor.
        fresh_for_hours: The age in hours from which on the interface shows a leaderboard as
            overdue.
        daily_budget_usd: The most US dollars that runs which nobody started may spend in 24 hours,
            together; `judge.budget_usd` unless given.
    """

    cron: Cron = "0 2 * * *"
    timezone: Timezone = "UTC"
    settle_s: Annotated[Number, Field(ge=1)] = 20.0
    interval_s: Annotated[int, Field(strict=True, ge=1)] = 30
    fresh_for_hours: Annotated[Number, Field(gt=0)] = 26.0
    daily_budget_usd: Price | None = None


class AlertsKeys(Keys):
    """Who is told of runs that failed.

    Attributes:
        webhook: The address that gets a message for each run that failed.
        webhook_env: The environment variable that holds that address.
    """

    webhook: Address | None = None
    webhook_env: Variable | None = None


class ExecutionKeys(Keys):
    """Where the steps of runs are carried out; see the guide to scale-out.

    Attributes:
        executor: In the process of the run, each in a process of its own, or by Celery workers.
        max_concurrent: The processes of `multiprocess` at a time; one for each core unless given.
    """

    executor: Literal["in_process", "multiprocess", "celery"] = "in_process"
    max_concurrent: Count | None = None


class BenchmarkKeys(Keys):
    """One benchmark: where its files are and what is computed on them.

    Attributes:
        format: What the files look like; see the formats.
        questions: The files of questions, a path or a pattern such as `data/*.jsonl`. Required,
            unless the format has the questions in the files of predictions.
        documents: The files of documents, where questions have some.
        predictions: The files of predictions. `{system}` in the path stands for the name of the
            system.
        evaluators: Names of evaluators or families, or `all`.
        parameters: The parameters of evaluators that are to differ from their defaults, by
            evaluator.
        slices: Tags, or `noise_ratio`, `scenario`, `perturbation`, `doc_id`, `cluster`,
            `expected_label`: a leaderboard for each of their values.
        cluster: The field of the questions that says which of them belong together, for intervals
            and tests.
        thresholds: From which mean on a system passes, by address such as `citation.f1`.
        intervals: How intervals of means come about: `bootstrap`, or `t` (Student's).
        gates: Systems that must not fall behind others; the run fails when they do.
        max_reject_ratio: The share of unusable rows of a file up to which a run goes on.
        expectations: What is expected of rows beyond what always is, by table: `questions`,
            `documents`, `predictions`, `scores/<evaluator>`, `leaderboard`, `system_scores`.
    """

    format: Text = "canonical"
    questions: Text | None = None
    documents: Text | None = None
    predictions: Pattern
    evaluators: Annotated[list[Text], Field(min_length=1)]
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    slices: list[Text] = Field(default_factory=list)
    cluster: Text | None = None
    thresholds: dict[str, Number] = Field(default_factory=dict)
    intervals: Literal["bootstrap", "t"] = "bootstrap"
    gates: list[GateKeys] = Field(default_factory=list)
    max_reject_ratio: Annotated[Number, Field(ge=0, le=1)] = 0.0
    expectations: dict[str, list[ExpectationKeys]] = Field(default_factory=dict)


class WarehouseKeys(Keys):
    """Where the warehouse is; its catalog alone may stand in place of the mapping.

    Attributes:
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and how the database of a lake
            is reached; see the guide to scale-out.
        data_path: The folder or object store that holds a lake's Parquet files; `.scoreline/lake`
            unless given.
        catalog_schema: The schema of the catalogue's tables in that database; `public` unless
            given. With one for each, many projects share a database.
        password_env: The environment variable that holds PostgreSQL's password.
    """

    catalog: Text
    data_path: Text | None = None
    catalog_schema: Text | None = None
    password_env: Variable | None = None


def _mapped(place: object) -> object:
    return {"catalog": place} if isinstance(place, str) else place


class ProjectKeys(Keys):
    """The whole configuration file.

    Attributes:
        warehouse: Where everything is kept: a DuckDB file, or a lake. Unless given it is
            `.scoreline/warehouse.duckdb`.
        publish: The folder for the copy to query, and for the report.
        judge: The judge model. Absent: evaluators that ask one are not applicable, with that
            reason.
        models: The models of the other engines.
        expectations: `sql` leaves Great Expectations out; the checks of keys, columns and grids
            remain.
        drift: How far numbers may move between two publications before a warning says so.
        automation: Runs that nobody starts.
        alerts: Who is told of runs that failed.
        execution: Where the steps of runs are carried out.
        benchmarks: What is evaluated, by name (1 to 100 letters, digits, dots, dashes or
            underscores).
    """

    warehouse: Annotated[
        WarehouseKeys, BeforeValidator(_mapped, json_schema_input_type=str | WarehouseKeys)
    ] = WarehouseKeys(catalog=".scoreline/warehouse.duckdb")
    publish: Text = "published"
    judge: Judge | None = None
    models: Models = Models()
    expectations: Literal["full", "sql"] = "full"
    drift: DriftKeys = DriftKeys()
    automation: AutomationKeys = AutomationKeys()
    alerts: AlertsKeys = AlertsKeys()
    execution: ExecutionKeys = ExecutionKeys()
    benchmarks: Annotated[
        dict[BenchmarkName, BenchmarkKeys],
        Field(min_length=1),
    ]
