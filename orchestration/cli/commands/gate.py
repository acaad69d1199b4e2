"""`scoreline gate`: fails when a system is significantly worse than a baseline."""

from __future__ import annotations

from collections import Counter
from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import config_option, debug_option, format_option, known, load

if TYPE_CHECKING:
    from assets.analysis.regression_gate import GateResult
    from orchestration.cli.output import Form

COLUMNS = (
    *("metric", "verdict", "n_pairs", "difference", "ci_low", "ci_high"),
    *("p_value", "detectable_difference"),
)


@click.command(
    "gate",
    epilog="""\b
Examples:
  scoreline gate --benchmark support --system new --baseline old
  scoreline gate --benchmark support --system new --baseline old --metric citation.f1
  scoreline gate --benchmark support --system new --baseline old --tolerance 0.02 --strict""",
)
@click.option("--benchmark", required=True, metavar="NAME", help="The benchmark.")
@click.option("--system", required=True, metavar="NAME", help="The system that is to pass.")
@click.option("--baseline", required=True, metavar="NAME", help="What it is held against.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="`evaluator.metric`, an evaluator or a metric; may be repeated.  [default: primary ones]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="The loss that does not matter, on the metric's scale.",
)
@click.option("--strict", is_flag=True, help="Fail as well where there is not enough data.")
@format_option
@config_option
@debug_option
def command(
    benchmark: str,
    system: str,
    baseline: str,
    metrics: tuple[str, ...],
    tolerance: float,
    strict: bool,  # noqa: FBT001 - a flag
    form: Form,
    config: Path,
) -> None:
    """Fail when a system is significantly worse than a baseline.

    Both are compared question by question on the published copy, with McNemar's exact test or by
    flipping signs, adjusted for the number of metrics (Holm). A metric has `improved`, is
    `unchanged`, has `regressed`, or there is `not_enough_data`.

    The exit code is 0 when nothing regressed, 1 when something did, and 2 when the two cannot be
    compared: they were asked different questions, or scored or judged in different ways.
    """
    project = load(config).project

    from assets.analysis.metric_names import sample_metrics
    from assets.analysis.regression_gate import gate
    from orchestration import published
    from orchestration.cli.output import write
    from orchestration.errors import ChecksFailed

    (name,) = known("benchmark", (benchmark,), list(project.benchmarks))
    chosen = project.benchmarks[name]
    copy = published.copy(project)
    known("system", (system, baseline), published.systems(project, name))
    found = gate(copy, chosen, system, baseline, sample_metrics(chosen, metrics), tolerance)
    title = f"{system} beside {baseline} on {name}"
    write(COLUMNS, [_cells(each) for each in found], form, title)
    unsure = [each.address for each in found if each.verdict == "not_enough_data"]
    if unsure and not strict:
        told = ", ".join(unsure)
        click.echo(f"note: not enough data to decide on {told}: fails only with --strict", err=True)
    failing = ("regressed", "not_enough_data") if strict else ("regressed",)
    failed = [f"{each.address}: {each.verdict}" for each in found if each.verdict in failing]
    if tolerance == 0 and any(seems_certain(each) for each in found):
        click.echo(
            f"note: an interval is that of its metric alone; p-values are adjusted for all "
            f"{len(found)} metrics (Holm), and the verdicts follow them",
            err=True,
        )
    if failed:
        raise ChecksFailed(f"{system!r} does not pass: {', '.join(failed)}")
    verdicts = Counter(each.verdict.replace("_", " ") for each in found)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    click.echo(f"{system!r} passes: {counted}", err=True)


def seems_certain(found: GateResult) -> bool:
    """Whether an interval without 0 stands beside a verdict that finds no difference."""
    return found.verdict == "unchanged" and found.low * found.high > 0


def _cells(found: GateResult) -> list[object]:
    return [
        *(found.address, found.verdict, found.n_pairs, found.difference, found.low, found.high),
        *(found.p_value, found.detectable),
    ]
