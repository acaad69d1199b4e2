"""A project as the configuration file describes it: benchmarks, engines and policies."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from assets.config_types import BenchmarkName, Cron, Executor, History, Timezone
from assets.engines import RunEngines
from evaluators import catalog
from evaluators.flows.requests import JUDGE
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from records.settings import ConfigModel, Count, EnvVariable, Number, Text, Url, UsDollars
from warehouse.formats.columns import Columns
from warehouse.formats.missing_answers import MissingAnswers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import dagster as dg
    from dagster._core.definitions.metadata import RawMetadataValue

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from systems.settings import SystemSettings
    from warehouse.formats.expansion import Expansion
    from warehouse.formats.query import InputFile
    from warehouse.publish.snapshot import Snapshot
    from warehouse.storage.location import Location
    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Expectation


DefaultThreshold: TypeAlias = Literal["none", "source"]

CLUSTERS = "clusters of "
"""The prefix of the names in `meta` under which the fields of clusters are published."""

REPORT_FILE = "index.html"
"""The first page of the report, in the publish folder."""

UNUSED: Mapping[str, RawMetadataValue] = {
    "dagster/partition_row_count": 0,
    "note": "this benchmark does not use the evaluator",
}

NOT_ASKED_HERE: Mapping[str, RawMetadataValue] = {
    "dagster/partition_row_count": 0,
    "note": "this benchmark does not ask the system",
}


class Gate(ConfigModel):
    """A system that must not be worse than a baseline, or must reach a number.

    A run publishes its results even if a gate fails, and then ends with exit code 1. A gate has
    either a `baseline`, or `min`, `max` or both.

    Attributes:
        system: The system to check. Gates with `min` or `max` check all systems unless given.
        baseline: The system that it must not be significantly worse than.
        metrics: Metrics such as `citation.f1`. The primary metrics unless given; `min` and `max`
            need a list.
        tolerance: How much worse than the baseline it may be, on the scale of the metric.
        sequential: Whether the verdict stays valid when the same baseline is compared again and
            again, as in nightly runs.
        min: The mean must be at least this number.
        max: The mean must be at most this number.
        confident: Whether the end of the 95 % interval must reach the number too: the lower end
            `min`, the upper end `max`.
    """

    system: Text | None = None
    baseline: Text | None = None
    metrics: tuple[Text, ...] = ()
    tolerance: Annotated[Number, Field(ge=0)] = 0.0
    sequential: Annotated[bool, Field(strict=True)] = False
    min: Number | None = None
    max: Number | None = None
    confident: Annotated[bool, Field(strict=True)] = False

    @property
    def limits(self) -> Mapping[Literal["min", "max"], float]:
        """The numbers that the metrics must reach, by kind; none for a gate with a baseline."""
        every: dict[Literal["min", "max"], float | None] = {"min": self.min, "max": self.max}
        return {kind: limit for kind, limit in every.items() if limit is not None}


class BenchmarkGate(Gate):
    """A system that must not be worse than a baseline, or must reach a number, on one benchmark.

    Attributes:
        benchmark: The benchmark.
    """

    benchmark: BenchmarkName


class Drift(ConfigModel):
    """How far numbers may change between two publications without a warning.

    Attributes:
        failure_rate: How much the share of failed answers and missing scores may rise.
        coverage: How much the coverage may fall.
        cost: By what share the mean cost of an answer or a judgment may rise.
    """

    failure_rate: Annotated[Number, Field(ge=0, le=1)] = 0.05
    coverage: Annotated[Number, Field(ge=0, le=1)] = 0.05
    cost: Annotated[Number, Field(ge=0)] = 0.5


class Automation(ConfigModel):
    """Automated runs: the schedule and the sensors, all of them off until you switch them on.

    Attributes:
        cron: When the schedule `nightly` runs all benchmarks.
        timezone: The time zone of `cron`.
        settle_s: How many seconds files must stay unchanged before the sensor runs their benchmark.
        interval_s: The seconds between two evaluations of the sensor.
        fresh_for_hours: The age in hours at which the interface shows a leaderboard as overdue.
        daily_budget_usd: The most US dollars that all automated runs together may spend in 24
            hours; `judge.budget_usd` unless given.
    """

    cron: Cron = "0 2 * * *"
    timezone: Timezone = "UTC"
    settle_s: Annotated[Number, Field(ge=1)] = 20.0
    interval_s: Count = 30
    fresh_for_hours: Annotated[Number, Field(gt=0)] = 26.0
    daily_budget_usd: UsDollars | None = None


class Alerts(ConfigModel):
    """Where messages about failed runs go.

    Attributes:
        webhook: The URL that receives a message for each failed run.
        webhook_env: The environment variable that holds that URL.
    """

    webhook: Url | None = None
    webhook_env: EnvVariable | None = None


class Execution(ConfigModel):
    """Where the steps of a run are executed; see the guide to scale-out.

    Attributes:
        executor: In the process of the run, or each step in a process of its own.
        max_concurrent: The most processes of `multiprocess` at a time; one per core unless given.
        run_per_benchmark: Whether schedules, sensors and backfills start one run per benchmark, for
            a run launcher that spreads runs over a cluster. Otherwise all benchmarks share a run.
    """

    executor: Executor = "in_process"
    max_concurrent: Count | None = None
    run_per_benchmark: bool = False

    @property
    def is_in_process(self) -> bool:
        """Whether all steps of a run share one process."""
        return self.executor == "in_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """How the Dagster definitions of a project are named.

    Attributes:
        key_prefix: The first parts of all asset keys. Jobs, schedules, sensors, resources and steps
            begin with them, too.
        group_prefix: The beginning of the names of all asset groups.
        is_shared: Whether the definitions are a part of a team's own code location. Then the
            Dagster instance has runs of other assets, and the benchmarks are static partitions,
            which need no preparation of the instance.
    """

    key_prefix: tuple[str, ...] = ()
    group_prefix: str | None = None
    is_shared: bool = False

    def name(self, name: str) -> str:
        """Return the full name of a definition; Dagster allows letters, digits and `_`."""
        return re.sub(r"\W", "_", "_".join([*self.key_prefix, name]), flags=re.ASCII)

    def key(self, key: dg.AssetKey) -> dg.AssetKey:
        """Return the full key of an asset."""
        return key.with_prefix(self.key_prefix)

    def group(self, name: str) -> str:
        """Return the full name of an asset group."""
        return name if self.group_prefix is None else f"{self.group_prefix}_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark: a named set of questions with its files and evaluators.

    The attributes have the meanings of the configuration keys, except:

    Attributes:
        name: The benchmark's name, which is also the Dagster partition key.
        questions: Absolute path or glob pattern of the question files, or a query; None for formats
            with the questions in the prediction files.
        predictions: Absolute path or glob pattern of the prediction files; `{system}` in it stands
            for the system's name. Patterns are expanded at ingestion, so that new files are found
            without a change of the configuration.
        documents: Absolute path or glob pattern of the document files, if there are any.
        columns: The fields by column, and the columns that become tags.
        missing: What missing answers mean.
        systems: The systems that are asked, beside those of `predictions`.
        repeats: How often each of them is asked each question.
        expansion: Makes several questions of each in the files, for systems with such a task.
        evaluators: The evaluators with their parameters, in the order of the configuration.
        thresholds: The thresholds that the configuration sets by name, by metric address such as
            `citation.f1`; None where it sets that there is none.
        default_threshold: The threshold of all other metrics: none, or that of the metric's source.
        rank_by: The address of the headline metric, by whose rank systems are ordered; None for the
            primary metric of the first evaluator.
        intervals: The method for confidence intervals of means that are not pass rates.
        statements: How many statements share the 5 % of errors; see `count_statements`.
    """

    name: str
    format: str = "canonical"
    questions: InputFile | None
    predictions: InputFile | None
    documents: InputFile | None = None
    split: str | None = None
    columns: Columns = field(default_factory=Columns)
    missing: MissingAnswers = field(default_factory=MissingAnswers)
    systems: tuple[str, ...] = ()
    repeats: int = 1
    expansion: Expansion | None = None
    evaluators: tuple[Evaluator, ...]
    slices: tuple[str, ...] = ()
    cluster: str | None = None
    thresholds: Mapping[str, float | None] = field(default_factory=dict)
    default_threshold: DefaultThreshold = "none"
    rank_by: str | None = None
    intervals: Literal["skew_adjusted_t", "t"] = "skew_adjusted_t"
    gates: tuple[Gate, ...] = ()
    statements: int = 1
    max_reject_ratio: float = 0.0
    expectations: Mapping[str, tuple[Expectation, ...]] = field(default_factory=dict)
    deps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project: what the pipeline needs of one configuration file.

    Attributes:
        home: The folder of the configuration file.
        warehouse: The location of the warehouse: the path of a DuckDB file, or a lake.
        publish: The folder for the published copy and the report.
        report_url: The address of the report for links to it; None without a host.
        benchmarks: The benchmarks by name, in the order of the configuration.
        default_benchmarks: Those that commands take unless told others; empty for all.
        systems: The systems that can be asked, by name.
        members: The systems that each entry of the configuration stands for, by its name.
        engines: The engines of the evaluators.
        namespace: How its Dagster definitions are named.
        validation: `full` evaluates all expectations, `sql` only the SQL checks between stages.
        memory_limit: The memory that each DuckDB database uses before it spills to disk, such as
            `4GB`; None for half of the memory of the machine or container.
        show_answers: Shows the progress of asking systems; called with the new answers.
    """

    home: Path
    warehouse: Location
    publish: Path
    benchmarks: Mapping[str, Benchmark]
    default_benchmarks: tuple[str, ...] = ()
    systems: Mapping[str, SystemSettings] = field(default_factory=dict)
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    engines: RunEngines = field(default_factory=RunEngines)
    namespace: Namespace = field(default_factory=Namespace)
    validation: Literal["full", "sql"] = "sql"
    automation: Automation = field(default_factory=Automation)
    alerts: Alerts = field(default_factory=Alerts)
    execution: Execution = field(default_factory=Execution)
    drift: Drift = field(default_factory=Drift)
    history: History = field(default_factory=History)
    memory_limit: str | None = None
    report_url: str | None = None
    show_answers: Callable[[int], None] | None = field(default=None, compare=False)

    def open_warehouse(self, patience_s: float = 30.0) -> Warehouse:
        """Return the warehouse; it waits up to `patience_s` seconds for other processes."""
        from warehouse.store import Warehouse  # DuckDB, which the configuration does not need

        return Warehouse(self.warehouse, patience_s=patience_s, memory_limit=self.memory_limit)

    def open_copy(self) -> Snapshot:
        """Return the published copy, which may not exist."""
        from warehouse.publish.snapshot import FILE_NAME, Snapshot

        return Snapshot(self.publish / FILE_NAME, memory_limit=self.memory_limit)


def expand_systems(
    names: Iterable[str], members: Mapping[str, Sequence[str]], asked: Collection[str]
) -> tuple[str, ...]:
    """Return the systems that names stand for: that of a matrix for those of it that are asked.

    Args:
        names: Names of systems and of entries of the configuration.
        members: As in `Project`.
        asked: The systems that are asked.
    """
    found: dict[str, None] = {}
    for name in names:
        own = [each for each in members.get(name, ()) if each in asked]
        found.update(dict.fromkeys(own or [name]))
    return tuple(found)


def asked_systems(project: Project) -> list[str]:
    """Return the systems that some benchmark asks, in the order of the configuration."""
    used = {name for benchmark in project.benchmarks.values() for name in benchmark.systems}
    return [name for name in project.systems if name in used]


def used_evaluators(project: Project) -> Mapping[str, Sequence[Evaluator]]:
    """Return the evaluators of all benchmarks by name, composites last.

    Each name has one evaluator per benchmark that uses it, with that benchmark's parameters.
    """
    used: dict[str, list[Evaluator]] = {}
    for benchmark in project.benchmarks.values():
        for evaluator in benchmark.evaluators:
            used.setdefault(evaluator.name, []).append(evaluator)
    names = [name for name in catalog.catalogue() if name in used]
    names += [name for name in used if name not in names]
    names.sort(key=lambda name: isinstance(used[name][0], CompositeEvaluator))
    return {name: used[name] for name in names}


def find_evaluator(project: Project, benchmark: str, name: str) -> Evaluator | None:
    """Return an evaluator with the parameters of a benchmark; None if it is not used there."""
    evaluators = project.benchmarks[benchmark].evaluators
    return next((each for each in evaluators if each.name == name), None)


def threshold_of(benchmark: Benchmark, evaluator: Evaluator, metric: Metric) -> float | None:
    """Return the threshold of a metric in a benchmark; None if it has none."""
    address = f"{evaluator.name}.{metric.name}"
    if address in benchmark.thresholds or benchmark.default_threshold == "none":
        return benchmark.thresholds.get(address)
    return source_threshold(metric)


def source_threshold(metric: Metric) -> float | None:
    """Return the threshold that the source of a metric states; None if none or infinite."""
    threshold = metric.threshold
    return threshold if threshold is not None and math.isfinite(threshold) else None


def is_judged(evaluator: Evaluator) -> bool:
    """Return whether an evaluator needs a judge."""
    return isinstance(evaluator, FlowEvaluator) and JUDGE in evaluator.engine_roles()
