"""What a run tells while it goes on: its steps, its checks, and what its assets report."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import dagster as dg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dagster import DagsterEvent

LOGGER = "scoreline"


class Progress(Protocol):
    """Whoever shows how far a run has come."""

    def begin(self, steps: int) -> None:
        """A run of so many steps begins."""

    def step(self, name: str) -> None:
        """A step begins."""

    def done(self) -> None:
        """A step has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The outcome of one check of one asset.

    Attributes:
        asset: The asset's key, such as `scores/citation`.
        name: The check's name.
        passed: Whether it holds.
        serious: Whether a failure makes the run a failed one, or is only a warning.
        description: What was found.
    """

    asset: str
    name: str
    passed: bool
    serious: bool
    description: str | None


@dataclass(slots=True)
class Record:
    """What was heard of a run.

    Attributes:
        checks: The checks that were carried out, in order.
        metadata: What each asset reported about each benchmark, by asset key and partition (null
            for assets without), and then by name.
    """

    checks: list[Check] = field(default_factory=list)
    metadata: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)


def hear(event: DagsterEvent, record: Record, progress: Progress) -> None:
    """Take note of what an event tells.

    Args:
        event: The event.
        record: Receives checks and metadata.
        progress: Is told when steps begin and end.
    """
    kind = event.event_type
    if kind is dg.DagsterEventType.STEP_START:
        progress.step(str(event.step_key))
    elif kind in (dg.DagsterEventType.STEP_SUCCESS, dg.DagsterEventType.STEP_SKIPPED):
        progress.done()
    elif kind is dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key is not None:
        reported = event.step_materialization_data.materialization.metadata
        record.metadata[event.asset_key.to_user_string(), event.partition] = {
            name: value.value for name, value in reported.items()
        }
    elif kind is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
        found = event.asset_check_evaluation_data
        record.checks.append(
            Check(
                asset=found.asset_key.to_user_string(),
                name=found.check_name,
                passed=found.passed,
                serious=found.severity is dg.AssetCheckSeverity.ERROR,
                description=found.description,
            )
        )


class _Listener(logging.Handler):
    """Receives Dagster's log records of one run, in the process of the run."""

    def __init__(self, record: Record, progress: Progress) -> None:
        super().__init__()
        self.record = record
        self.progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        meta: Mapping[str, Any] = getattr(record, "dagster_meta", {})
        event: DagsterEvent | None = meta.get("dagster_event")
        if event is not None:
            hear(event, self.record, self.progress)


def listener(record: Record, progress: Progress, *, aloud: bool) -> dg.LoggerDefinition:
    """A logger that keeps Dagster's log off the terminal and listens to the run's events.

    Args:
        record: Receives checks and metadata.
        progress: Is told when steps begin and end.
        aloud: Whether the log is also written to standard error, for `--debug`.
    """

    def follow(_: dg.InitLoggerContext) -> logging.Logger:
        # Not registered by name: a second run in this process has its own.
        logger = logging.Logger(LOGGER, level=logging.DEBUG)  # noqa: LOG001
        logger.addHandler(_Listener(record, progress))
        if aloud:
            logger.addHandler(logging.StreamHandler())
        return logger

    return dg.LoggerDefinition(follow, description="Follows the run.")
