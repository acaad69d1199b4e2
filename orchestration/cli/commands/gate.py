"""`scoreline gate`: fail when a system is significantly worse than a baseline."""

from __future__ import annotations

from collections import Counter
from pathlib import Path  # noqa: TC003 - click reads the annotation
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    config_option,
    debug_option,
    format_option,
    load_settings,
    require_known,
)

if TYPE_CHECKING:
    from assets.analysis.regression_gate import GateResult
    from orchestration.cli.output import OutputFormat

COLUMNS = (
    *("metric", "verdict", "n_pairs", "difference", "ci_low", "ci_high"),
    *("p_value", "detectable_difference"),
)

HELP_ORDER = 6


@click.command(
    "gate",
    epilog="""\b
Examples:
  scoreline gate --benchmark support --system new --baseline old
  scoreline gate --benchmark support --system new --baseline old --metric citation.f1
  scoreline gate --benchmark support --system new --baseline old --tolerance 0.02 --strict""",
)
@click.option("--benchmark", required=True, metavar="NAME", help="The benchmark.")
@click.option("--system", required=True, metavar="NAME", help="The system to check.")
@click.option("--baseline", required=True, metavar="NAME", help="The system it is compared with.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="`evaluator.metric`, a metric's name or an evaluator; may be repeated.  "
    "[default: primary metrics]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="How much worse it may be, on the metric's scale.",
)
@click.option("--strict", is_flag=True, help="Also fail when there is not enough data.")
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
    output_format: OutputFormat,
    config: Path,
) -> None:
    """Fail when a system is significantly worse than a baseline.

    Compares the systems question by question on the published copy, with McNemar's exact test or
    a sign-flip permutation test, adjusted for the number of metrics (Holm). The verdict of a
    metric is `improved`, `unchanged`, `regressed` or `not_enough_data`.

    The exit code is 0 when no metric regressed, 1 when one did, and 2 when the systems are not
    comparable: they answered different questions, or were scored or judged differently.
    """
    project = load_settings(config).project

    from assets.analysis.regression_gate import evaluate_gate
    from assets.project import select_metrics
    from orchestration import published
    from orchestration.cli.output import write
    from orchestration.errors import ChecksFailed

    (name,) = require_known("benchmark", (benchmark,), list(project.benchmarks))
    chosen = project.benchmarks[name]
    copy = published.open_copy(project)
    require_known("system", (system, baseline), published.load_systems(project, name))
    results = evaluate_gate(
        copy, chosen, system, baseline, select_metrics(chosen, metrics), tolerance
    )
    title = f"{system} and {baseline} on {name}"
    write(COLUMNS, [_cells(each) for each in results], output_format, title)
    undecided = ", ".join(each.address for each in results if each.verdict == "not_enough_data")
    if undecided and not strict:
        message = f"note: not enough data to decide on {undecided}: fails only with --strict"
        click.echo(message, err=True)
    failing = ("regressed", "not_enough_data") if strict else ("regressed",)
    failed = [f"{each.address}: {each.verdict}" for each in results if each.verdict in failing]
    if tolerance == 0 and any(has_decisive_interval(each) for each in results):
        click.echo(
            "note: intervals are not adjusted for the number of metrics; p-values are, for all "
            f"{len(results)} metrics (Holm), and verdicts follow the p-values",
            err=True,
        )
    if failed:
        raise ChecksFailed(f"{system!r} does not pass: {', '.join(failed)}")
    verdicts = Counter(each.verdict.replace("_", " ") for each in results)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    click.echo(f"{system!r} passes: {counted}", err=True)


def has_decisive_interval(result: GateResult) -> bool:
    """Return whether the interval excludes 0 although the verdict is `unchanged`."""
    return result.verdict == "unchanged" and result.low * result.high > 0


def _cells(result: GateResult) -> list[object]:
    return [
        *(
            result.address,
            result.verdict,
            result.n_pairs,
            result.difference,
            result.low,
            result.high,
        ),
        *(result.p_value, result.detectable),
    ]
