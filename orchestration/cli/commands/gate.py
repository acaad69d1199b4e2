"""`scoreline gate`: fail when a system is worse than a baseline, or misses a number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from orchestration.cli.options import (
    format_option,
    names_option,
    one_benchmark_option,
    require_benchmark,
    require_known,
    settings_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.gates.result import GateResult
    from assets.project import Benchmark
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings
    from warehouse.publish.snapshot import Snapshot

HELP_ORDER = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The options of the command.

    Attributes:
        benchmark: The benchmark; None where there is one.
        system: The system to check; None for all.
        baseline: The system that it is compared with; None with limits.
        metrics: The metrics to compare; empty for the primary ones.
        tolerance: How much worse than the baseline it may be.
        strict: Whether to fail when there is not enough data.
        least: The smallest mean that passes, by metric.
        most: The largest mean that passes, by metric.
        confident: Whether the end of the interval must reach the limit, too.
    """

    benchmark: str | None
    system: str | None
    baseline: str | None
    metrics: tuple[str, ...]
    tolerance: float
    strict: bool
    least: Mapping[str, float]
    most: Mapping[str, float]
    confident: bool

    @property
    def limits(self) -> list[tuple[Literal["min", "max"], str, float]]:
        """The kind, metric and number of each limit."""
        return [
            *(("min", metric, limit) for metric, limit in self.least.items()),
            *(("max", metric, limit) for metric, limit in self.most.items()),
        ]

    def check(self) -> None:
        """Check that the options belong to one kind of gate.

        Raises:
            click.UsageError: They do not.
        """
        if self.baseline is None:
            if not self.limits:
                raise click.UsageError("expected --baseline, --min or --max")
            if self.metrics or self.tolerance:
                raise click.UsageError("--metric and --tolerance need --baseline")
            for metric in self.least.keys() & self.most.keys():
                if self.least[metric] > self.most[metric]:
                    raise click.UsageError(f"{metric}: --min is more than --max")
        elif self.limits or self.confident:
            message = "--min, --max and --confident cannot be combined with --baseline"
            raise click.UsageError(message)
        elif self.system is None:
            raise click.UsageError("--baseline needs --system, the system to compare with it")


def _parse_limits(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    """Parse `METRIC=NUMBER`."""
    limits: dict[str, float] = {}
    for value in values:
        metric, _, number = value.rpartition("=")
        try:
            limit = float(number)
        except ValueError:
            limit = math.nan
        if not metric or not math.isfinite(limit):
            message = f"expected METRIC=NUMBER such as citation.f1=0.6, found {value!r}"
            raise click.BadParameter(message, context, parameter)
        if metric in limits:
            raise click.BadParameter(f"{metric!r} is given twice", context, parameter)
        limits[metric] = limit
    return limits


@click.command(
    "gate",
    epilog="""\b
Examples:
  scoreline gate --benchmark support --system new --baseline old
  scoreline gate --benchmark support --system new --baseline old --metric citation.f1
  scoreline gate --benchmark support --system new --baseline old --tolerance 0.02 --strict
  scoreline gate --benchmark support --min citation.f1=0.6 --max pii_leakage.leaks=0
  scoreline gate --min citation.f1=0.6 --junit gate.xml --format md""",
)
@one_benchmark_option
@click.option(
    "--system",
    metavar="NAME",
    help="The system to check.  [default: all systems, with --min and --max]",
)
@click.option("--baseline", metavar="NAME", help="The system it is compared with.")
@names_option(
    "metric",
    "With --baseline: `evaluator.metric`, a metric's name or an evaluator; may be repeated.  "
    "[default: primary metrics]",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="How much worse than the baseline it may be, on the metric's scale.",
)
@click.option("--strict", is_flag=True, help="Also fail when there is not enough data.")
@click.option(
    "--min",
    "least",
    multiple=True,
    metavar="METRIC=NUMBER",
    callback=_parse_limits,
    help="The mean of this metric must be at least this number; may be repeated.",
)
@click.option(
    "--max",
    "most",
    multiple=True,
    metavar="METRIC=NUMBER",
    callback=_parse_limits,
    help="The mean of this metric must be at most this number; may be repeated.",
)
@click.option(
    "--confident",
    is_flag=True,
    help="With --min and --max: the end of the 95 % interval must reach the number, too.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the verdicts to this JUnit file.",
)
@format_option
@settings_option
def command(
    junit: Path | None, output_format: OutputFormat, settings: Settings, **given: Any
) -> None:
    """Fail when a system is worse than a baseline, or misses a number.

    With --baseline: compares the systems question by question on the published copy, adjusted for
    the number of metrics (Holm). The verdict of a metric is `improved`, `unchanged`, `regressed` or
    `not_enough_data`. With --tolerance, `unchanged` means that a larger loss is ruled out; without,
    that no significant change is seen.

    In a step of GitHub Actions the verdicts are also part of the summary of the step, and what does
    not pass is an annotation.

    With --min and --max: the published means must reach these numbers. The verdict is `met`,
    `missed` or, for a metric without a mean, `not_enough_data`, which fails.

    The exit code is 0 when the gate passes, 1 when it fails, and 2 when the systems are not
    comparable: they answered different questions, or were scored or judged differently.
    """
    from orchestration import published
    from orchestration.cli.closed_pipes import outlive_reader
    from orchestration.cli.gate_output import show_gate
    from orchestration.errors import ChecksFailed

    outlive_reader()
    options = GateOptions(**given)
    options.check()
    project = settings.project
    name = require_benchmark(project, options.benchmark)
    copy = published.open_copy(project)
    systems = published.load_systems(project, name)
    named = tuple(each for each in (options.system, options.baseline) if each is not None)
    require_known("system", named, systems)
    benchmark = project.benchmarks[name]
    if options.baseline is None:
        chosen = systems if options.system is None else [options.system]
        results = _check_limits(copy, benchmark, chosen, options)
    else:
        results = _compare(copy, benchmark, options)
    if not results:
        raise ChecksFailed(f"{name!r} has nothing that the gate can check: no system or no metric")
    show_gate(results, output_format, junit, strict=options.strict)
    _decide(results, options, settings.file)


def _decide(results: Sequence[GateResult], options: GateOptions, file: Path) -> None:
    """Say how many results pass; annotate the configuration file where it is undecided.

    Raises:
        ChecksFailed: Some do not.
    """
    from orchestration.cli.continuous_integration import Place, annotate
    from orchestration.cli.output import say
    from orchestration.errors import ChecksFailed

    undecided = [each for each in results if each.verdict == "not_enough_data" and each.passed]
    if undecided and not options.strict:
        names = ", ".join(each.address for each in undecided)
        say(f"note: not enough data to decide on {names}: fails only with --strict", err=True)
        annotate("warning", [Place(each.message, file) for each in undecided])
    failed = [each for each in results if not each.passed]
    failed += undecided if options.strict else []
    system = options.system
    if failed:
        failures = [each.message for each in failed]
        lines = "".join(f"\n  {message}" for message in failures)
        if system is None:
            raise ChecksFailed(f"a system does not pass:{lines}", failures)
        verdicts = ", ".join(f"{each.address}: {each.verdict}" for each in failed)
        raise ChecksFailed(f"{system!r} does not pass: {verdicts}{lines}", failures)
    counts = Counter(each.verdict.replace("_", " ") for each in results)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    subject = "every system" if system is None else repr(system)
    say(f"{subject} passes: {counted}", err=True)


def _compare(copy: Snapshot, benchmark: Benchmark, options: GateOptions) -> list[GateResult]:
    from assets.analysis.select_metrics import select_metrics
    from assets.gates.regression import evaluate_gate
    from assets.gates.sequential import report_sequential_gate
    from orchestration.cli.gate_output import has_decisive_interval
    from orchestration.cli.output import say

    names = str(options.system), str(options.baseline)
    for gate in benchmark.gates:
        if gate.sequential and (gate.system, gate.baseline) == names:
            selected = select_metrics(benchmark, options.metrics or gate.metrics)
            results = report_sequential_gate(
                *(copy, benchmark, *names, selected, options.tolerance),
                statements=benchmark.statements,
            )
            looks = max((each.look or 0 for each in results), default=0)
            say(
                f"note: the configured gate is sequential; these are its verdicts after {looks} "
                f"{'look' if looks == 1 else 'looks'}",
                err=True,
            )
            return results
    selected = select_metrics(benchmark, options.metrics)
    results = evaluate_gate(copy, benchmark, *names, selected, options.tolerance)
    if options.tolerance == 0 and any(each.verdict == "unchanged" for each in results):
        say(
            "note: without --tolerance, `unchanged` means that no significant change is seen; the "
            "intervals show what is not ruled out",
            err=True,
        )
    if options.tolerance == 0 and any(has_decisive_interval(each) for each in results):
        say(
            "note: intervals are not adjusted for the number of metrics; p-values are, for all "
            f"{len(results)} metrics (Holm), and verdicts follow the p-values",
            err=True,
        )
    return results


def _check_limits(
    copy: Snapshot, benchmark: Benchmark, systems: Sequence[str], options: GateOptions
) -> list[GateResult]:
    """Return the results of all systems and limits.

    Raises:
        click.UsageError: A limit lies outside the bounds of its metric.
    """
    from assets.analysis.select_metrics import select_metrics
    from assets.gates.limit_verdict import evaluate_limit
    from orchestration.config.gates import limits_out_of_bounds

    results = []
    for kind, metric, limit in options.limits:
        selected = select_metrics(benchmark, [metric], with_system_metrics=True)
        for message in limits_out_of_bounds(f"--{kind}", limit, selected):
            raise click.UsageError(message)
        for system in systems:
            results += evaluate_limit(
                copy, benchmark, system, kind, limit, selected, confident=options.confident
            )
    return sorted(results, key=lambda each: (each.system, each.address, each.kind))
