"""Executors: all steps in the process of their run, or each step in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import connection
from multiprocessing.util import register_after_fork
from typing import TYPE_CHECKING, Any

import dagster as dg

from orchestration import interrupts
from orchestration.instance import process_tags
from warehouse.foreign_text import show_hidden
from warehouse.storage.waiting import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.project import Project

IN_PROCESS = "in_process"
MULTIPROCESS = "multiprocess"

# Steps are forked from a process that has loaded these modules. None of them starts threads, which
# a fork would not copy.
PRELOADED = ["dagster._core.executor.multiprocess", f"{__package__}.definitions", __name__]


def build_executor(project: Project) -> dg.ExecutorDefinition:
    """Return the configured executor, which the config of a run may replace.

    In the launchpad, `execution: {config: {multiprocess: {max_concurrent: 2}}}` selects another
    executor for one run.
    """
    kinds = {IN_PROCESS: dg.in_process_executor, MULTIPROCESS: dg.multiprocess_executor}
    default: dict[str, Any] = {}
    if project.execution.executor == MULTIPROCESS:
        default = {"max_concurrent": project.execution.max_concurrent, **_start_method()}
    selector = dg.Selector(  # type: ignore[no-untyped-call]
        {kind: definition.config_schema.as_field() for kind, definition in kinds.items()}
    )

    @dg.executor(
        name="scoreline",
        config_schema=dg.Field(selector, default_value={project.execution.executor: default}),
        requirements=_requirements,
    )
    def selected_executor(context: dg.InitExecutorContext) -> dg.Executor:
        config: Any
        ((kind, config),) = context.executor_config.items()
        definition = kinds[kind]
        create = definition.executor_creation_fn
        if create is None:
            raise TypeError(f"Dagster's executor {kind!r} cannot be created")
        return TaggingExecutor(
            create(context._replace(executor_def=definition, executor_config=config))
        )

    return selected_executor


class TaggingExecutor(dg.Executor):
    """Tags a run with the process that executes it, then leaves the steps to another executor."""

    def __init__(self, executor: dg.Executor) -> None:
        self._executor = executor

    @property
    def retries(self) -> Any:
        """Return the retry mode of the other executor."""
        return self._executor.retries

    @property
    def step_dependency_config(self) -> Any:
        """Return the step dependencies of the other executor."""
        return self._executor.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Execute the steps of a plan."""
        plan_context.instance.add_run_tags(plan_context.run_id, process_tags())
        yield from self._executor.execute(plan_context, execution_plan)


def _start_method() -> dict[str, Any]:
    """Return the config that forks steps from a preloaded process, where the system can."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return {}
    return {"start_method": {"forkserver": {"preload_modules": PRELOADED}}}


def start_forkserver() -> None:
    """Start the process that steps are forked from.

    Of the standard error of the steps, only what they wait for is shown.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(PRELOADED)
    sys.stderr.flush()
    stderr = os.dup(2)
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    try:
        forkserver.ensure_running()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(writer)
    threading.Thread(target=_show_waiting, args=(reader,), daemon=True).start()


def _show_waiting(descriptor: int) -> None:
    with open(descriptor, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(PREFIX):
                sys.stderr.write(show_hidden(line))
                sys.stderr.flush()


def _requirements(config: Any) -> Sequence[dg.ExecutorRequirement]:
    return [] if IN_PROCESS in config else dg.multiple_process_executor_requirements()


def _end_with_run(_: object) -> None:
    # The process that requested this step, not the fork server, which outlives both.
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ctrl-C reaches only the process of the run, which ends its steps in order.
        os.setpgrp()
        interrupts.raise_dropped_interrupts()
        threading.Thread(target=_kill_after, args=(parent.sentinel,), daemon=True).start()


def _kill_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


# A step must end when the process of its run is killed: otherwise the next run and the old step
# would both call the judge, and you would pay twice.
register_after_fork(_end_with_run, _end_with_run)
