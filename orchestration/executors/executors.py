"""Executors: steps in the process of their run, in processes of their own, or with workers."""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.executor_definition import (
    ExecutorRequirement,
    multiple_process_executor_requirements,
)
from dagster._core.executor.base import Executor

from orchestration.executors.orphans import name_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dagster._core.execution.retries import RetryMode
    from dagster._core.execution.step_dependency_config import StepDependencyConfig

    from assets.project import Project

IN_PROCESS = "in_process"
MULTIPROCESS = "multiprocess"
CELERY = "celery"

PRELOADED = (
    "dagster._core.executor.multiprocess",
    "orchestration.definitions",
    "orchestration.executors.step_process",
)
"""What steps share of what they load: nothing that has threads, which a fork would leave behind."""


def executor(project: Project) -> dg.ExecutorDefinition:
    """The executor of a project's jobs: the configured one, unless a run's config says another.

    In the launchpad, `execution: {config: {multiprocess: {max_concurrent: 2}}}` has one run done
    otherwise, and likewise `in_process` and `celery`.
    """
    execution = project.execution
    kinds: dict[str, Any] = {
        IN_PROCESS: dg.in_process_executor.config_schema.as_field(),
        MULTIPROCESS: dg.multiprocess_executor.config_schema.as_field(),
        CELERY: dg.Field({}, description="Give each step to a worker; see `scoreline worker`."),
    }
    chosen: dict[str, Any] = {execution.executor: {}}
    if execution.executor == MULTIPROCESS:
        chosen[MULTIPROCESS] = {"max_concurrent": execution.max_concurrent, **_start_method()}

    selector = dg.Selector(kinds)  # type: ignore[no-untyped-call]

    @dg.executor(
        name="scoreline",
        config_schema=dg.Field(selector, default_value=chosen),
        requirements=_requirements,
    )
    def chosen_executor(context: dg.InitExecutorContext) -> Executor:
        from assets.checks import expectations

        kind, config = _chosen(context.executor_config)
        if kind == CELERY:
            from orchestration.executors.celery_executor import StepsForWorkers, queue_of

            return StepsForWorkers(queue_of(project.warehouse))
        if kind == MULTIPROCESS:
            # Before the first step, for all of them.
            expectations.begin(project, shared=True)
        definition = dg.in_process_executor if kind == IN_PROCESS else dg.multiprocess_executor
        create = definition.executor_creation_fn
        if create is None:
            raise TypeError(f"Dagster's executor {kind!r} cannot be made")
        made = create(context._replace(executor_def=definition, executor_config=config))
        return Named(made)

    return chosen_executor


class Named(Executor):
    """One of Dagster's own executors, which says first in which process a run is carried out."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def retries(self) -> RetryMode:
        """As the other one has them."""
        return self._executor.retries

    @property
    def step_dependency_config(self) -> StepDependencyConfig:
        """As the other one has it."""
        return self._executor.step_dependency_config

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Carry out the steps of a plan."""
        name_process(plan_context.instance, plan_context.run_id)
        yield from self._executor.execute(plan_context, execution_plan)


def _start_method() -> dict[str, Any]:
    """Processes that are forked from one that has Dagster loaded, where the system has that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return {}
    return {"start_method": {"forkserver": {"preload_modules": list(PRELOADED)}}}


def start_quietly() -> None:
    """Start the process from which steps are forked so that they write nothing to this terminal."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return
    from multiprocessing import forkserver

    forkserver.set_forkserver_preload(list(PRELOADED))
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        forkserver.ensure_running()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _chosen(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    ((kind, own),) = config.items()
    return kind, own


def _requirements(config: Any) -> Sequence[ExecutorRequirement]:
    return [] if IN_PROCESS in config else multiple_process_executor_requirements()
