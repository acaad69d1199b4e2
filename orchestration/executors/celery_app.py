"""Workers: the Celery app that `scoreline worker` runs; it carries out steps of runs."""

from __future__ import annotations

import multiprocessing.process
import os
import signal
import sys
from typing import Any

from billiard.util import set_pdeathsig
from celery.signals import worker_init, worker_process_init
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_task

from orchestration.executors.celery_executor import (
    QUEUE_VARIABLE,
    VALIDATES_VARIABLE,
    StepsForWorkers,
    listen,
)
from warehouse.validation.client import VALIDATOR

MAIN = multiprocessing.process.current_process()
"""What Python takes this process for, and processes that are forked from it."""

steps = StepsForWorkers(os.environ[QUEUE_VARIABLE])
app = make_app(steps.app_args())  # type: ignore[no-untyped-call]
listen(app, steps.queue)
create_task(app)


@worker_init.connect  # type: ignore[untyped-decorator]
def _begin(**_: Any) -> None:
    """Load Great Expectations for all steps that this worker will carry out."""
    if os.environ.get(VALIDATES_VARIABLE):
        VALIDATOR.begin(shared=True)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _begin_process(**_: Any) -> None:
    """Make a process of a worker fit for steps."""
    # Python's own processes refuse to start from those of Celery, which are daemons.
    multiprocessing.process._current_process = MAIN  # type: ignore[attr-defined] # noqa: SLF001
    if sys.platform == "linux":
        # A step must not go on, unseen, when its worker was killed and the run is begun again.
        set_pdeathsig(signal.SIGKILL)
