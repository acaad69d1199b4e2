"""Handing out: the steps of a run go to Celery workers, and are missed when a worker is gone.

The broker's address may hold a password, so that it comes from the environment, never from a file
or from a run's config.
"""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any

from celery.exceptions import DuplicateTaskNameWarning
from dagster._core.execution.retries import RetryMode
from dagster_celery.core_execution_loop import core_celery_execution_loop
from dagster_celery.executor import CeleryExecutor, _submit_task
from kombu.entity import Queue

from assets.fingerprints.digests import digest_of
from orchestration.errors import OrchestrationError
from orchestration.executors.orphans import name_process
from warehouse.storage.location import Lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dagster import DagsterEvent

    from warehouse.storage.location import Place

BROKER_VARIABLE = "SCORELINE_BROKER"
"""The address of the Redis (or other broker) through which steps are handed out."""

RESULTS_VARIABLE = "SCORELINE_RESULTS"
"""The address at which what came of them is left; the broker's where it is not set."""

QUEUE_VARIABLE = "SCORELINE_QUEUE"
"""The queue that a worker listens to; `scoreline worker` sets it to that of its project."""

VALIDATES_VARIABLE = "SCORELINE_VALIDATES"
"""Set for workers of a project whose tables Great Expectations looks at."""

LOOK_EVERY_S = 10.0
PING_S = 5.0
SILENT_PINGS = 3
"""How often, and how patiently, a worker that has begun a step is asked whether it lives."""

SETTINGS: dict[str, Any] = {
    # So that the run knows which worker to ask after.
    "task_track_started": True,
    # A step waits in the queue, not in a worker that is busy with another.
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,
    # Each step has a process of its own, which reads the configuration as it is now.
    "worker_max_tasks_per_child": 1,
    "broker_connection_retry_on_startup": True,
}


class NoBroker(OrchestrationError):  # noqa: N818 - the name says what it is
    """Nothing says where the broker is."""


class WorkerLost(OrchestrationError):  # noqa: N818 - the name says what it is
    """A worker that had begun a step does not answer any more."""


def broker() -> str:
    """The broker's address.

    Raises:
        NoBroker: The environment variable is not set.
    """
    address = os.environ.get(BROKER_VARIABLE)
    if not address:
        raise NoBroker(
            f"{BROKER_VARIABLE} is not set: expected the address of a Redis such as "
            "redis://127.0.0.1:6379/0, for those who start runs and for every worker"
        )
    return address


class StepsForWorkers(CeleryExecutor):
    """Hands the steps of a run to workers, and fails those whose worker is gone."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        address = broker()
        super().__init__(  # type: ignore[no-untyped-call]
            retries=RetryMode.ENABLED,
            broker=address,
            backend=os.environ.get(RESULTS_VARIABLE) or address,
            config_source=SETTINGS,
        )

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[DagsterEvent]:
        """Carry out the steps of a plan."""
        name_process(plan_context.instance, plan_context.run_id)
        events: Iterator[DagsterEvent] = core_celery_execution_loop(
            plan_context, execution_plan, step_execution_fn=self._handed_out
        )
        return events

    def _handed_out(
        self, app: Any, plan: Any, step: Any, _: str, priority: int, known_state: Any
    ) -> Outcome:
        listen(app, self.queue)
        with warnings.catch_warnings():
            # Dagster tells the app of its task again for every step.
            warnings.simplefilter("ignore", DuplicateTaskNameWarning)
            result = _submit_task(app, plan, step, self.queue, priority, known_state)
        return Outcome(app, result)


def queue_of(warehouse: Place) -> str:
    """The queue of all that work on one warehouse.

    Where projects share a Redis, a worker must not get another project's steps: it would carry
    them out with its own configuration.
    """
    named = warehouse.catalog if isinstance(warehouse, Lake) else str(warehouse)
    return f"scoreline-{digest_of(named)[:12]}"


def listen(app: Any, queue: str) -> None:
    """Let an app know a queue, and no other."""
    arguments = {"x-max-priority": 10}
    app.conf.task_queues = [Queue(queue, routing_key=f"{queue}.#", queue_arguments=arguments)]


class Outcome:
    """What will come of a step that was handed out; as much of a Celery result as Dagster uses.

    A worker that is killed, or whose machine goes down, cannot say so: Celery's own result would
    never be ready, and the run would be under way for ever.
    """

    def __init__(self, app: Any, result: Any) -> None:
        self._app = app
        self._result = result
        self._looked = time.monotonic()
        self._silent = 0

    def ready(self) -> bool:
        """Whether the step has ended, or will not end any more."""
        return bool(self._result.ready()) or self._is_lost()

    def get(self) -> Any:
        """The step's events.

        Raises:
            WorkerLost: The worker that had begun it is gone.
        """
        if not self._result.ready():
            raise WorkerLost(
                f"the worker {self._worker()} does not answer any more: it, or its machine, was "
                "ended in the middle of the step; run again, what was paid for is kept"
            )
        return self._result.get()

    def revoke(self) -> None:
        """Take the step back, and end it where it has begun."""
        self._result.revoke(terminate=True)

    def _worker(self) -> str | None:
        info = self._result.info if self._result.state == "STARTED" else None
        return info.get("hostname") if isinstance(info, dict) else None

    def _is_lost(self) -> bool:
        now = time.monotonic()
        if self._silent >= SILENT_PINGS:
            return True
        if now - self._looked < LOOK_EVERY_S:
            return False
        self._looked = now
        worker = self._worker()
        if worker is not None:
            answers = self._app.control.ping(destination=[worker], timeout=PING_S)
            self._silent = 0 if answers else self._silent + 1
        return self._silent >= SILENT_PINGS
