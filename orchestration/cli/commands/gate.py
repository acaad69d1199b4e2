"""`scoreline gate`: fail when a system is significantly worse than a baseline."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import format_option, names_option, require_known, settings_option

if TYPE_CHECKING:
    from assets.analysis.gates.result import GateResult
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings

COLUMNS = {
    "metric": "address",
    "verdict": "verdict",
    "n_pairs": "n_pairs",
    "difference": "value",
    "ci_low": "low",
    "ci_high": "high",
    "p_value": "p_value",
    "detectable_difference": "detectable",
}
"""The columns of the output, and the attributes of `GateResult` that they show."""

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
@names_option(
    "metric",
    "`evaluator.metric`, a metric's name or an evaluator; may be repeated.  "
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
@settings_option
def command(
    benchmark: str,
    system: str,
    baseline: str,
    metrics: tuple[str, ...],
    tolerance: float,
    strict: bool,  # noqa: FBT001 - a flag
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Fail when a system is significantly worse than a baseline.

    Compares the systems question by question on the published copy, with McNemar's exact test or
    a sign-flip permutation test, adjusted for the number of metrics (Holm). The verdict of a
    metric is `improved`, `unchanged`, `regressed` or `not_enough_data`.

    The exit code is 0 when no metric regressed, 1 when one did, and 2 when the systems are not
    comparable: they answered different questions, or were scored or judged differently.
    """
    project = settings.project

    from assets.analysis.gates.regression import evaluate_gate
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
    rows = [[getattr(each, name) for name in COLUMNS.values()] for each in results]
    write(tuple(COLUMNS), rows, output_format, title)
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
