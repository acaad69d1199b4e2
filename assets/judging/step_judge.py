"""The judge of a step: that of its resources, which may differ from the configured one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assets.judging.budget import engines_within_budget
from assets.keys import JUDGE, judgments_key, warehouse_of
from assets.project import is_judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import dagster as dg

    from assets.engines import JudgeFactory
    from assets.project import Project


def judge_resources(project: Project) -> set[str]:
    """Return the key of the resource that `with_judge_of` reads; empty without a judge."""
    return set() if project.engines.judge_factory is None else {project.namespace.name(JUDGE)}


def with_judge_of(context: dg.AssetExecutionContext, project: Project) -> Project:
    """Return the project with the judge of the step's resources.

    Raises:
        ValueError: The scores, which rest on the judge of the project, would not find its replies.
    """
    configured = project.engines.judge_factory
    if configured is None:
        return project
    judge: JudgeFactory = getattr(context.resources, project.namespace.name(JUDGE))
    if judge.identity != configured.identity:
        raise ValueError(
            "the resource `judge` has another model or other parameters than scoreline.yaml, which "
            "signatures of scores contain: change them there"
        )
    return replace(project, engines=replace(project.engines, judge_factory=judge))


def check_of_judge(
    context: dg.AssetExecutionContext, project: Project, benchmarks: Iterable[str]
) -> Callable[[], None] | None:
    """Return the check of the judge whose verdicts on new answers this run needs, if any.

    It is made before a system is asked, so that no answers are paid for that cannot be judged.
    """
    judged = {
        judgments_key(each.name)
        for name in benchmarks
        for each in project.benchmarks[name].evaluators
        if is_judged(each)
    }
    names = {tuple(key.path) for key in judged}
    selected = context.job_def.asset_layer.selected_asset_keys
    if not any(tuple(key.path[-2:]) in names for key in selected):
        return None
    engines, _ = engines_within_budget(
        with_judge_of(context, project), warehouse_of(context, project), context.run.tags
    )
    return None if engines.judge_factory is None else engines.judge_factory.require_reachable
