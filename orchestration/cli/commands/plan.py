"""`scoreline plan`: what a run would do and cost."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.filters import evaluator_option, narrowed, no_judge_option, system_option
from orchestration.cli.options import (
    benchmark_option,
    config_option,
    debug_option,
    format_option,
    load,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.judging.dry_run import Planned
    from assets.project import Project
    from orchestration.cli.output import Form

COLUMNS = (
    *("benchmark", "evaluator", "samples", "calls", "held"),
    *("tokens_in", "tokens_out", "usd"),
)


@click.command(
    "plan",
    epilog="""\b
Examples:
  scoreline plan
  scoreline plan --benchmark support --evaluator faithfulness
  scoreline plan --format json""",
)
@benchmark_option
@system_option
@evaluator_option
@no_judge_option
@format_option
@config_option
@debug_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    no_judge: bool,  # noqa: FBT001 - a flag
    form: Form,
    config: Path,
) -> None:
    """Say what a run would score and ask, and what that would cost.

    Nothing is asked, spent or written. The files are read as they are now. Calls count what the
    ledger does not hold: the first question of each sample exactly, those that follow from its
    reply as many as the evaluator expects. Tokens of replies are those that the evaluator's replies
    had until now, or 250 each; retries and repairs come on top.
    """
    project = load(config).project

    from assets.judging.dry_run import ingested, plan
    from orchestration.cli.output import write

    choices = narrowed(project, benchmarks, systems, evaluators, judge=not no_judge)
    wanted = choices.benchmarks or tuple(project.benchmarks)
    with ingested(project, wanted) as warehouse:
        planned = list(
            plan(
                project,
                warehouse,
                wanted,
                evaluators=choices.evaluators,
                systems=choices.systems,
                judge=choices.judge,
            )
        )
    write(COLUMNS, [_row(each) for each in planned], form)
    missing = _missing(project, wanted, {each.evaluator for each in planned})
    if missing:
        click.echo(f"note: not configured, so not applicable: {', '.join(missing)}", err=True)
    if form == "table":
        click.echo(_total(planned))


def _missing(project: Project, benchmarks: Sequence[str], planned: set[str]) -> list[str]:
    """The evaluators that have nobody to ask, with the keys of the configuration that say whom."""
    from evaluators.flows.requests import setting_of
    from evaluators.kinds.flow import NOBODY, FlowEvaluator

    found: dict[str, str] = {}
    for name in benchmarks:
        for evaluator in project.benchmarks[name].evaluators:
            if isinstance(evaluator, FlowEvaluator) and evaluator.name in planned:
                nobody = [role for role, who in evaluator.answered_by if who == NOBODY]
                keys = ", ".join(setting_of(role) for role in nobody)
                if keys:
                    found[evaluator.name] = f"{evaluator.name} ({keys})"
    return list(found.values())


def _row(planned: Planned) -> Sequence[object]:
    cost = planned.cost
    return (
        planned.benchmark,
        planned.evaluator,
        planned.samples,
        planned.calls,
        planned.held,
        *((None, None, None) if cost is None else (cost.tokens_in, cost.tokens_out, cost.usd)),
    )


def _total(planned: Sequence[Planned]) -> str:
    """What all of it comes to, in a sentence."""
    samples = sum(each.samples for each in planned)
    calls = sum(each.calls for each in planned)
    costs = [each.cost for each in planned if each.cost is not None]
    told = f"{samples:,} samples to score, {calls:,} calls of the judge"
    if not calls:
        return f"{told}."
    tokens = sum(cost.tokens_in + cost.tokens_out for cost in costs)
    prices = [cost.usd for cost in costs]
    if any(price is None for price in prices):
        return (
            f"{told}, about {tokens:,} tokens; the price is not known: give "
            "judge.usd_per_million_in and judge.usd_per_million_out."
        )
    return f"{told}, about {tokens:,} tokens and {sum(filter(None, prices)):.2f} US dollars."
