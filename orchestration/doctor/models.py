"""The examination of a project's models: which are there, and which evaluators go without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.flows.requests import JUDGE
from evaluators.kinds.flow import FlowEvaluator
from orchestration.config.engines import model_choices
from orchestration.doctor.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assets.project import Project
    from orchestration.config.load import Settings


def model_findings(found: Settings) -> Iterator[Finding]:
    """Looks at every model that some evaluator of the project needs; fetches and loads nothing."""
    users = _users(found.project)
    if not users:
        return
    from evaluators.engines.local.engine import LocalModel
    from evaluators.engines.models import models
    from evaluators.engines.remote_lm import RemoteLanguageModel

    project = found.project
    choices = model_choices(found.models, project.home, project.warehouse)
    there, absent = models(choices)
    for role, names in users.items():
        model = there.get(role)
        if isinstance(model, LocalModel | RemoteLanguageModel):
            usable, message = model.look()
        else:
            usable, message = False, absent.get(role, f"no model has the role {role!r}")
        without = "" if usable else f"; not applicable until then: {', '.join(names)}"
        yield Finding("ok" if usable else "warn", f"model: {role}", message + without)


def _users(project: Project) -> Mapping[str, list[str]]:
    """The evaluators that ask each model, by its role."""
    users: dict[str, list[str]] = {}
    for benchmark in project.benchmarks.values():
        for evaluator in benchmark.evaluators:
            if isinstance(evaluator, FlowEvaluator):
                for role in sorted(evaluator.asked() - {JUDGE}):
                    names = users.setdefault(role, [])
                    if evaluator.name not in names:
                        names.append(evaluator.name)
    return users
