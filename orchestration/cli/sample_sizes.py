"""How many questions a difference takes, as a table and in sentences."""

from __future__ import annotations

from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from assets.analysis.sample_size import SampleSize, plan_sample_sizes
from assets.analysis.select_metrics import UnknownMetric, select_metrics
from orchestration import published
from orchestration.cli.output import say, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project
    from orchestration.cli.output import OutputFormat
    from orchestration.runs import RunOptions


def write_sample_sizes(
    project: Project,
    choices: RunOptions,
    metrics: Sequence[str],
    difference: float,
    output_format: OutputFormat,
) -> None:
    """Write how many questions a difference takes, from the published scores.

    Args:
        project: The project.
        choices: The benchmarks, systems and evaluators; empty for all.
        metrics: The metrics; empty for the primary ones.
        difference: The difference to detect.
        output_format: The output format. Only a table is followed by sentences.

    Raises:
        NotPublished: Nothing is published yet.
        UnknownMetric: No benchmark has such a metric.
    """
    copy = published.open_copy(project)
    found: list[SampleSize] = []
    unknown: UnknownMetric | None = None
    for name in choices.benchmarks or project.benchmarks:
        benchmark = project.benchmarks[name]
        try:
            selected = select_metrics(benchmark, metrics)
        except UnknownMetric as error:
            unknown = error
            continue
        if choices.evaluators:
            selected = [each for each in selected if each[0].name in choices.evaluators]
        found += plan_sample_sizes(copy, benchmark, selected, difference, choices.systems)
    if unknown is not None and not found:
        raise unknown
    columns = [field.name for field in fields(SampleSize)]
    if output_format == "table":
        # The sentences below say the rest.
        columns = ["benchmark", "metric", "questions", "detectable", "needed_median", "needed"]
        columns += ["needed_low", "needed_high", "more"]
        rows = [[getattr(each, name) for name in columns] for each in found]
        write(columns, rows, "table", keys=2)
        for each in found:
            say(describe_sample_size(each, difference))
            if each.worth is not None:
                say(_describe_worth(each))
        return
    write(columns, [astuple(each) for each in found], output_format)


def describe_sample_size(found: SampleSize, difference: float) -> str:
    """Describe how many questions a difference takes in a sentence."""
    metric = f"{found.benchmark}, {found.metric}"
    if found.needed is None:
        return f"{metric}: unknown. Missing: {found.missing}."
    pair = f"{found.system_a} and {found.system_b}"
    clusters = f" in {found.clusters:,} clusters" if found.clusters < found.questions else ""
    has = f"{found.questions:,} question{'' if found.questions == 1 else 's'}{clusters}"
    if not found.more:
        return f"{metric}: {has} detect a difference of {difference:g}."
    of_pairs = f", the pair of {found.pairs} that needs the most" if found.pairs > 1 else ""
    return (
        f"{metric}: a difference of {difference:g} takes {found.needed:,} questions for {pair}"
        f"{of_pairs}; there are {has}, so {found.more:,} more are needed.{_describe_range(found)}"
    )


def _describe_range(found: SampleSize) -> str:
    """Say how uncertain the number of questions is."""
    if found.needed_low is None:
        return ""
    high = "over a billion" if found.needed_high is None else f"{found.needed_high:,}"
    return (
        f" The spread is estimated from {found.questions:,} questions: it may take "
        f"{found.needed_low:,} to {high} (95 % interval)."
    )


def _describe_worth(found: SampleSize) -> str:
    """Say what one more answer to each question buys, compared with more questions."""
    by_questions = (found.worth or 0) * found.answers
    return (
        f"{found.benchmark}, {found.metric}: one more answer to each of {found.questions:,} "
        f"questions is worth {found.worth:,} more questions with {found.answers} answers each: "
        f"{found.questions:,} answers of a system against {by_questions:,}."
    )
