"""What a job of continuous integration shows: a JUnit file and the summary of a GitHub step."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from orchestration.errors import OrchestrationError
from warehouse.foreign_text import show_hidden_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.gates.result import GateResult

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable with the file to which a step of GitHub Actions appends Markdown."""


@contextmanager
def step_summary(heading: str) -> Iterator[None]:
    """Append what the `with` writes to standard output, as Markdown, to the summary of the step.

    Ask `has_step_summary` first.
    """
    with redirect_stdout(io.StringIO()) as written:
        yield
    # Other commands of the step write to the same file.
    with Path(os.environ[STEP_SUMMARY]).open("a", encoding="utf-8") as file:
        file.write(f"# {heading}\n\n{written.getvalue()}\n")


def has_step_summary() -> bool:
    """Return whether this process is a step of GitHub Actions."""
    return bool(os.environ.get(STEP_SUMMARY))


def write_junit(path: Path, results: Sequence[GateResult], *, strict: bool) -> None:
    """Write the results of gates as a JUnit file, a test case for each.

    A case is skipped where there is not enough data to decide, unless that fails the gate.

    Raises:
        OrchestrationError: The file cannot be written.
    """
    suite = ET.Element("testsuite", name="scoreline gate", tests=str(len(results)), errors="0")
    counts = {"failure": 0, "skipped": 0}
    for result in results:
        message = show_hidden_line(result.message)
        limit = "" if result.kind == "regression" else f" {result.kind} {result.limit:g}"
        baseline = "" if result.baseline is None else f" against {result.baseline}"
        case = ET.SubElement(
            suite,
            "testcase",
            classname=show_hidden_line(f"{result.benchmark}.{result.system}"),
            name=show_hidden_line(f"{result.address}{baseline}{limit}"),
        )
        is_undecided = result.passed and result.verdict == "not_enough_data"
        if not result.passed or is_undecided:
            outcome = "skipped" if is_undecided and not strict else "failure"
            counts[outcome] += 1
            ET.SubElement(case, outcome, message=message, type=result.verdict)
    suite.set("failures", str(counts["failure"]))
    suite.set("skipped", str(counts["skipped"]))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ET.ElementTree(suites).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise OrchestrationError(f"cannot write {str(path)!r}: {error.strerror}") from error
