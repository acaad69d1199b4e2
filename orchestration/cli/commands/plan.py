"""`scoreline plan`: show what a run would do and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    evaluator_option,
    format_option,
    names_option,
    no_judge_option,
    run_options,
    settings_option,
    system_option,
)
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.judging.dry_run import AnswersPlan, EvaluatorPlan
    from assets.project import Project
    from orchestration.cli.output import OutputFormat
    from orchestration.config.judge.schema import Judge
    from orchestration.config.load import Settings

PLAN_COLUMNS = ("benchmark", "evaluator", "samples", "calls", "held")
COST_COLUMNS = ("tokens_in", "tokens_out", "usd")

HELP_ORDER = 3


@click.command(
    "plan",
    epilog="""\b
Examples:
  scoreline plan
  scoreline plan --benchmark support --evaluator faithfulness
  scoreline plan --detect 0.02 --metric citation.f1
  scoreline plan --format json""",
)
@benchmark_option
@system_option
@evaluator_option
@no_judge_option
@click.option(
    "--detect",
    type=click.FloatRange(min=0, min_open=True),
    metavar="DIFFERENCE",
    help="Show instead how many questions it takes to detect this difference.",
)
@names_option("metric", "With --detect: this metric; may be repeated.  [default: primary metrics]")
@format_option
@settings_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    no_judge: bool,  # noqa: FBT001 - a flag
    detect: float | None,
    metrics: tuple[str, ...],
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Show what a run would score, and what its judge calls would cost.

    No judge or system is called and nothing is written. The files are read as they are now. Calls
    are those that the ledger does not hold: the first call of each sample exactly, the calls that
    follow from its reply as the evaluator estimates them. Output tokens are estimated from earlier
    replies of the evaluator, or 250 per call; retries and repairs are not included.

    Systems (`answers/<system>`) are asked the questions that they have not answered; their price is
    the highest possible one, up to their budget. Samples and judge calls of answers that are
    missing are estimated from earlier answers of the system, or else from the expected ones with
    five passages.

    With --detect, show how many questions it takes to detect a difference between two systems with
    a power of 80 %, from the published scores: for half of the pairs (needed_median) and for all
    pairs (needed), with the range that the estimated spread leaves open (needed_low, needed_high).
    Differences are on the scale of the metric. The number rests on the variance of the paired
    differences and on the level of Holm's adjustment for all pairs of systems.
    """
    project = settings.project
    if metrics and detect is None:
        raise click.UsageError("--metric needs --detect")
    if detect is not None:
        from orchestration.cli.sample_sizes import write_sample_sizes

        choices = run_options(project, benchmarks, systems, evaluators)
        write_sample_sizes(project, choices, metrics, detect, output_format)
        return

    from orchestration.runs.preflight import require_inputs, require_libraries

    choices = run_options(project, benchmarks, systems, evaluators, no_judge=no_judge)
    wanted = choices.benchmarks or tuple(project.benchmarks)
    settings.require_systems_exist(wanted)
    require_inputs(project, wanted)
    require_libraries(project, wanted, choices)

    from assets.judging.dry_run import ingested_copy, plan_answers, plan_run
    from orchestration.cli.output import say, write
    from orchestration.doctor.config_lint import unreported_names

    with ingested_copy(project, wanted) as warehouse:
        unreported = [
            f"{name}: {evaluator}: {said}"
            for name in wanted
            for evaluator, said in unreported_names(warehouse, project.benchmarks[name]).items()
        ]
        answers = list(plan_answers(project, warehouse, wanted, systems=choices.systems))
        planned = list(
            plan_run(
                project,
                warehouse,
                wanted,
                evaluators=choices.evaluators,
                systems=choices.systems,
                judge=choices.judge,
            )
        )
    rows: list[list[object]] = [
        [
            *(each.benchmark, f"answers/{each.system}"),
            *(each.questions, each.calls, each.held, None, None, each.usd),
        ]
        for each in answers
    ]
    rows += [
        [
            *(getattr(each, column) for column in PLAN_COLUMNS),
            *(getattr(each.cost, column, None) for column in COST_COLUMNS),
        ]
        for each in planned
    ]
    write((*PLAN_COLUMNS, *COST_COLUMNS), rows, output_format)
    for said in unreported:
        echo(f"note: {said}", err=True)
    _write_notes(settings, wanted, answers, planned, judge=choices.judge)
    if output_format == "table":
        say(_describe_total(planned))
        if any(each.missing for each in answers):
            say(_total_answers(answers))


def _write_notes(
    settings: Settings,
    wanted: Sequence[str],
    answers: Sequence[AnswersPlan],
    planned: Sequence[EvaluatorPlan],
    *,
    judge: bool,
) -> None:
    """Write what a run would miss to standard error."""
    from orchestration.cli.output import say

    project = settings.project
    missing = _list_missing(project, wanted, {each.evaluator for each in planned})
    if missing:
        say(f"note: not configured, so not applicable: {', '.join(missing)}", err=True)
    factory = project.engines.judge_factory
    skipped = factory.skip_reason() if factory is not None and judge else None
    if skipped is not None:
        echo(f"note: {skipped}; a run calls no judge until then", err=True)
    elif settings.judge is not None and any(each.calls for each in planned):
        key = _missing_key(settings.judge, project)
        if key is not None:
            echo(f"note: a run would fail at the judge: {key}", err=True)
    for system, missing_key in {each.system: each.missing_key for each in answers}.items():
        if missing_key is not None:
            echo(f"note: a run would fail at the system {system!r}: {missing_key}", err=True)


def _list_missing(project: Project, benchmarks: Sequence[str], planned: set[str]) -> list[str]:
    """Return the evaluators without an engine, with the configuration keys they need."""
    from evaluators.flows.requests import config_key
    from evaluators.kinds.flow import NOT_CONFIGURED, FlowEvaluator

    found: dict[str, str] = {}
    for name in benchmarks:
        for evaluator in project.benchmarks[name].evaluators:
            if isinstance(evaluator, FlowEvaluator) and evaluator.name in planned:
                engines = evaluator.engine_identities
                keys = ", ".join(config_key(role) for role, who in engines if who == NOT_CONFIGURED)
                if keys:
                    found[evaluator.name] = f"{evaluator.name} ({keys})"
    return list(found.values())


def _missing_key(judge: Judge, project: Project) -> str | None:
    """Return which key the judge, or the first member of a panel, lacks; None if it lacks none."""
    from evaluators.engines.judge.reachable import missing_key
    from orchestration.config.judge.factory import judge_settings

    keys = (missing_key(each) for each in judge_settings(judge, project.home))
    return next(filter(None, keys), None)


def _total_answers(answers: Sequence[AnswersPlan]) -> str:
    """Return what systems are asked in a sentence."""
    from calls.budget import format_usd

    missing = sum(each.missing for each in answers)
    calls = sum(each.calls for each in answers)
    total = f"{missing:,} answers to ask systems for" + (
        f", in {calls:,} calls" * (calls > missing)
    )
    total += "; what these add above is an estimate"
    costs = [each.usd for each in answers if each.missing]
    if any(usd is None for usd in costs):
        return f"{total}. What they cost is unknown."
    limited = ", and may reach a budget before" * any(each.is_limited for each in answers)
    return f"{total}. They cost at most {format_usd(sum(filter(None, costs)))} US dollars{limited}."


def _describe_total(planned: Sequence[EvaluatorPlan]) -> str:
    """Return the totals in a sentence."""
    from calls.budget import format_usd

    samples = sum(each.samples for each in planned)
    calls = sum(each.calls for each in planned)
    costs = [each.cost for each in planned if each.cost is not None]
    total = f"{samples:,} samples to score, {calls:,} judge calls"
    if not calls:
        return f"{total}."
    tokens = sum(cost.tokens_in + cost.tokens_out for cost in costs)
    prices = [cost.usd for cost in costs]
    if any(price is None for price in prices):
        return (
            f"{total}, about {tokens:,} tokens; the price is unknown: set "
            "judge.usd_per_million_in and judge.usd_per_million_out."
        )
    usd = format_usd(sum(filter(None, prices)))
    return f"{total}, about {tokens:,} tokens and {usd} US dollars."
