"""`scoreline worker`: a process that carries out steps of runs for this project."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path  # noqa: TC003 - click gives it

import click

from orchestration.cli.options import config_option, debug_option, debugging, load


@click.command(
    "worker",
    epilog="""\b
Examples:
  SCORELINE_BROKER=redis://127.0.0.1:6379/0 scoreline worker
  scoreline worker --concurrency 4 --config /project/scoreline.yaml""",
)
@click.option(
    "--concurrency",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="The steps at a time, each in a process of its own.",
)
@config_option
@debug_option
def command(concurrency: int, config: Path) -> None:
    """Carry out steps of runs, until Ctrl-C: a Celery worker for projects whose executor is celery.

    SCORELINE_BROKER names the Redis through which steps come; SCORELINE_RESULTS another one for
    what comes of them. Every worker needs the configuration, files and warehouse of those who start
    runs, and what they have in the environment: keys of judges, PostgreSQL's password.
    """
    settings = load(config)

    from assets.checks.expectations import FULL
    from orchestration.definitions import CONFIG_VARIABLE
    from orchestration.errors import OrchestrationError

    if settings.project.execution.executor != "celery":
        raise OrchestrationError(
            f"{settings.file}: a worker would get nothing to do: "
            "set execution: {executor: celery}"
        )

    from orchestration.executors.celery_executor import (
        QUEUE_VARIABLE,
        VALIDATES_VARIABLE,
        broker,
        queue_of,
    )

    broker()
    queue = queue_of(settings.project.warehouse)
    arguments = [
        *("--app", "orchestration.executors.celery_app", "worker", "--queues", queue),
        *("--concurrency", str(concurrency), "--loglevel", "DEBUG" if debugging() else "INFO"),
        *("--hostname", f"scoreline-{os.getpid()}@{socket.gethostname()}"),
        # Other workers are nobody's business here, and gossip costs traffic.
        *("--without-gossip", "--without-mingle"),
    ]
    environment = {
        **os.environ,
        CONFIG_VARIABLE: str(settings.file),
        QUEUE_VARIABLE: queue,
        VALIDATES_VARIABLE: "yes" if settings.project.validation == FULL else "",
    }
    sys.stderr.flush()
    # Takes the place of this process, so that signals reach Celery as they are.
    os.execve(sys.executable, [sys.executable, "-m", "celery", *arguments], environment)  # noqa: S606
