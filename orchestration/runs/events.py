"""Collects the events of a run: the progress of its steps, its checks and its metadata."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration.runs.log_lines import VisibleFormatter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dagster import DagsterEvent

    from orchestration.runs.progress import Progress

LOGGER = "scoreline"

SCORES = "scores"
"""The first part of the keys of the assets with scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The outcome of one asset check.

    Attributes:
        asset: The asset's key, such as `scores/citation`.
        name: The check's name.
        passed: Whether the check passed.
        is_error: Whether a failure has severity error, not warning.
        description: The description of the outcome.
    """

    asset: str
    name: str
    passed: bool
    is_error: bool
    description: str | None


@dataclass(slots=True)
class RunRecord:
    """The events of a run.

    Attributes:
        checks: The evaluated checks, in order.
        metadata: The metadata of each materialization by asset key and partition (null for assets
            without partitions), and then by name.
    """

    checks: list[Check] = field(default_factory=list)
    metadata: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)


def record_event(event: DagsterEvent, record: RunRecord, progress: Progress) -> None:
    """Add an event to the record, and show the progress that it reports."""
    kind = event.event_type
    if kind is dg.DagsterEventType.STEP_START:
        progress.step(str(event.step_key))
    elif kind is dg.DagsterEventType.STEP_SUCCESS or kind is dg.DagsterEventType.STEP_SKIPPED:
        progress.done()
    elif kind is dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key is not None:
        metadata = event.step_materialization_data.materialization.metadata
        record.metadata[event.asset_key.to_user_string(), event.partition] = {
            name: value.value for name, value in metadata.items()
        }
        if event.asset_key.path[0] == SCORES:
            progress.scored(event.asset_key.path[-1])
    elif kind is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
        check = event.asset_check_evaluation_data
        record.checks.append(
            Check(
                asset=check.asset_key.to_user_string(),
                name=check.check_name,
                passed=check.passed,
                is_error=check.severity is dg.AssetCheckSeverity.ERROR,
                description=check.description,
            )
        )


class _EventHandler(logging.Handler):
    """Receives Dagster's log records of one run, in the process of the run."""

    def __init__(self, receive: Callable[[DagsterEvent, str], None]) -> None:
        super().__init__()
        self.receive = receive

    def emit(self, record: logging.LogRecord) -> None:
        meta: Mapping[str, Any] = getattr(record, "dagster_meta", {})
        event: DagsterEvent | None = meta.get("dagster_event")
        if event is not None:
            self.receive(event, str(meta["run_id"]))


def event_logger(
    receive: Callable[[DagsterEvent, str], None], *, verbose: bool
) -> dg.LoggerDefinition:
    """Return a logger that passes the run's events on instead of writing to the terminal.

    Args:
        receive: Called with each event and the id of its run.
        verbose: Whether the log also goes to standard error, for `--debug`.
    """

    def create(_: dg.InitLoggerContext) -> logging.Logger:
        # Not registered by name, because each run in this process has its own logger.
        logger = logging.Logger(LOGGER, level=logging.DEBUG)  # noqa: LOG001
        logger.addHandler(_EventHandler(receive))
        if verbose:
            handler = logging.StreamHandler()
            handler.setFormatter(VisibleFormatter())
            logger.addHandler(handler)
        return logger

    return dg.LoggerDefinition(create, description="Records the events of the run.")
