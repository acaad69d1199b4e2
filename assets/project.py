"""What a project consists of: the values that the configuration file is turned into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from assets.engines.run_engines import Answering
from evaluators import catalog
from evaluators.flows.requests import JUDGE
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dagster._core.definitions.metadata import RawMetadataValue

    from evaluators.evaluator import Evaluator
    from warehouse.storage.location import Place
    from warehouse.validation.expectation import Expectation


UNUSED: Mapping[str, RawMetadataValue] = {
    "dagster/partition_row_count": 0,
    "note": "this benchmark does not use the evaluator",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A system that must not fall behind a baseline.

    Attributes:
        system: The system that is to pass.
        baseline: The system that it is held against.
        metrics: `evaluator.metric`, evaluators or metrics; empty: the primary ones.
        tolerance: The loss that does not matter, on the metric's scale.
    """

    system: str
    baseline: str
    metrics: tuple[str, ...] = ()
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A named set of questions and where its files are.

    Attributes:
        name: The benchmark's name, which is also the Dagster partition key.
        format: The name of the input format of its files.
        questions: Absolute path or glob pattern of the question files; null for formats whose
            questions stand in the predictions.
        predictions: Absolute path or glob pattern of the prediction files; `{system}` in it
            stands for the system's name. Patterns are expanded when the benchmark is ingested,
            so that a new file is found without a new configuration.
        documents: Absolute path or glob pattern of the document files, if there are any.
        evaluators: The evaluators to run, with their parameters.
        slices: Tags (or question fields) that the leaderboard is also broken down by.
        cluster: The question field whose equal values mark questions that are not independent.
        thresholds: Thresholds by `evaluator.metric` that override those of the metrics.
        intervals: How the intervals of numbers that are not passes and failures are found.
        gates: The systems that must not fall behind others; a run fails when one does.
        max_reject_ratio: The share of unreadable rows in a file up to which ingestion goes on.
        expectations: What is expected of its rows beyond what every benchmark's must hold, by
            table; `scores/<evaluator>` for those of an evaluator.
    """

    name: str
    format: str = "canonical"
    questions: Path | None
    predictions: Path
    documents: Path | None = None
    evaluators: tuple[Evaluator, ...]
    slices: tuple[str, ...] = ()
    cluster: str | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    intervals: Literal["bootstrap", "t"] = "bootstrap"
    gates: tuple[Gate, ...] = ()
    max_reject_ratio: float = 0.0
    expectations: Mapping[str, tuple[Expectation, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far numbers may move between two publications before somebody is told.

    Attributes:
        failure_rate: By how much the share of failed samples may rise.
        coverage: By how much the share of scored samples may fall.
        cost: By which share of itself the mean cost of an answer may rise.
    """

    failure_rate: float = 0.05
    coverage: float = 0.05
    cost: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Automation:
    """How runs are started that nobody starts; all of it is off until it is switched on.

    Attributes:
        cron: When the nightly run begins, as cron says it.
        timezone: Where that time is meant, such as `Europe/Berlin`.
        settle_s: The seconds for which files must not have changed before they are read.
        interval_s: The seconds between two looks at the files.
        fresh_for_hours: How old a leaderboard may become.
        daily_budget_usd: What such runs may spend on judges in 24 hours together; None: nothing.
    """

    cron: str = "0 2 * * *"
    timezone: str = "UTC"
    settle_s: float = 20.0
    interval_s: int = 30
    fresh_for_hours: float = 26.0
    daily_budget_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """Who is told of runs that failed.

    Attributes:
        webhook: The address that a message is posted to; None: nobody is told.
        webhook_env: The environment variable that holds the address, where that is a secret.
    """

    webhook: str | None = None
    webhook_env: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where the steps of runs are carried out.

    Attributes:
        executor: In the process of the run, each in a process of its own, or by Celery workers.
        max_concurrent: The processes at a time; None: one for each core.
    """

    executor: Literal["in_process", "multiprocess", "celery"] = "in_process"
    max_concurrent: int | None = None

    @property
    def together(self) -> bool:
        """Whether all steps of a run share one process."""
        return self.executor == "in_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Everything that one configuration file says.

    Attributes:
        home: The folder of the configuration file.
        warehouse: The warehouse: the path of a DuckDB file, or a lake.
        publish: The folder that receives the published copy.
        benchmarks: The benchmarks by name, in the order of the configuration.
        answering: Who answers evaluators that ask engines.
        validation: Whether expectations are carried out (`full`), or only the checks in SQL that
            stand between the stages in any case.
        automation: How runs are started that nobody starts.
        alerts: Who is told of runs that failed.
        execution: Where the steps of runs are carried out.
        drift: How far failures, coverage and costs may move between publications unremarked.
    """

    home: Path
    warehouse: Place
    publish: Path
    benchmarks: Mapping[str, Benchmark]
    answering: Answering = field(default_factory=Answering)
    validation: Literal["full", "sql"] = "sql"
    automation: Automation = field(default_factory=Automation)
    alerts: Alerts = field(default_factory=Alerts)
    execution: Execution = field(default_factory=Execution)
    drift: Drift = field(default_factory=Drift)


def used(project: Project) -> Mapping[str, Sequence[Evaluator]]:
    """The evaluators that some benchmark uses, by name, each as every benchmark configures it."""
    found: dict[str, list[Evaluator]] = {}
    for benchmark in project.benchmarks.values():
        for evaluator in benchmark.evaluators:
            found.setdefault(evaluator.name, []).append(evaluator)
    names = [name for name in catalog.catalogue() if name in found]
    # What is made of others comes after them.
    names.sort(key=lambda name: isinstance(found[name][0], CompositeEvaluator))
    return {name: found[name] for name in names}


def configured(project: Project, benchmark: str, evaluator: str) -> Evaluator | None:
    """An evaluator with the parameters of one benchmark; None where that does not use it."""
    for candidate in project.benchmarks[benchmark].evaluators:
        if candidate.name == evaluator:
            return candidate
    return None


def is_judged(evaluator: Evaluator) -> bool:
    """Whether an evaluator asks a judge."""
    return isinstance(evaluator, FlowEvaluator) and JUDGE in evaluator.asked()
