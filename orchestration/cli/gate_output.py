"""What `scoreline gate` shows: a table of verdicts, a JUnit file and the summary of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestration.cli.continuous_integration import has_step_summary, step_summary, write_junit
from orchestration.cli.output import echo, say, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assets.gates.result import GateResult
    from orchestration.cli.output import OutputFormat

REGRESSION_COLUMNS = {
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

LIMIT_COLUMNS = {
    "system": "system",
    "metric": "address",
    "verdict": "verdict",
    "kind": "kind",
    "limit": "limit",
    "mean": "value",
    "ci_low": "low",
    "ci_high": "high",
    "n_scored": "n_pairs",
}

OPTIONAL_COLUMNS = ("detectable_difference", "n_pairs", "n_scored")
"""The columns that a narrow terminal does without, the first of them first."""


def show_gate(
    results: Sequence[GateResult],
    output_format: OutputFormat,
    junit: Path | None,
    *,
    strict: bool,
) -> None:
    """Show the results of one gate: on standard output, and where continuous integration looks.

    Args:
        results: The results, at least one, all of the same kind.
        output_format: The format of standard output.
        junit: The JUnit file to write; None for none.
        strict: Whether a gate fails where there is not enough data.
    """
    first = results[0]
    if first.baseline is None:
        columns, title, keys = LIMIT_COLUMNS, first.benchmark, 2
    else:
        names = f"{first.system} and {first.baseline}"
        columns, title, keys = REGRESSION_COLUMNS, f"{names} on {first.benchmark}", 1
    rows = [[getattr(each, attribute) for attribute in columns.values()] for each in results]
    interval = describe_interval(results)
    if junit is not None:
        write_junit(junit, results, strict=strict)
    if has_step_summary():
        with step_summary("Gate"):
            write(tuple(columns), rows, "md", title)
            echo(f"\n{interval}")
    write(tuple(columns), rows, output_format, title, optional=OPTIONAL_COLUMNS, keys=keys)
    if output_format == "table":
        say(interval)
    elif output_format == "md":
        echo(f"\n{interval}")


def describe_interval(results: Sequence[GateResult]) -> str:
    """Describe the interval and the p-value in the table of one gate; see `GateResult`."""
    first = results[0]
    if first.kind != "regression":
        verdict = "its end nearer to the limit" if first.confident else "the mean"
        return f"ci_low to ci_high: 95 % interval of the mean. The verdict follows from {verdict}."
    adjusted = "p_value: adjusted for the number of metrics (Holm)"
    if first.look is not None:
        return f"ci_low, ci_high: one-sided 95 % bounds that hold at all looks. {adjusted}."
    if first.limit:
        return (
            f"ci_low, ci_high: one-sided 95 % bounds of the difference, to be compared with the "
            f"tolerance of {first.limit:g}. {adjusted}; the bounds are not."
        )
    return f"ci_low to ci_high: 95 % interval of the difference. {adjusted}; the interval is not."


def has_decisive_interval(result: GateResult) -> bool:
    """Return whether the interval excludes 0 although the verdict is `unchanged`."""
    return result.verdict == "unchanged" and result.low * result.high > 0
