"""What continuous integration shows: a JUnit file, the summary and annotations of a GitHub step."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.etree import ElementTree as ET

from orchestration.cli.output import echo
from orchestration.errors import ChecksFailed, OrchestrationError, SettingsError
from warehouse.errors import InputError
from warehouse.foreign_text import show_hidden_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assets.gates.result import GateResult

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable with the file to which a step of GitHub Actions appends Markdown."""


ACTIONS = "GITHUB_ACTIONS"
WORKSPACE = "GITHUB_WORKSPACE"
"""The variables that GitHub Actions sets: that it runs the step, and the folder of the clone."""

COMMAND_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY_ESCAPES = {**COMMAND_ESCAPES, ":": "%3A", ",": "%2C"}


class Place(NamedTuple):
    """A message about a file, or about a line of it."""

    message: str
    file: Path | str | None = None
    line: int | None = None


def annotate(level: Literal["error", "warning"], places: Iterable[Place]) -> None:
    """Write messages as annotations, which GitHub shows beside the files; elsewhere nothing.

    They go to standard error, so that programs can read standard output.
    """
    if not os.environ.get(ACTIONS):
        return
    for message, file, line in places:
        named = None if file is None else _in_clone(Path(file))
        said = message if named or file is None else f"{file}: {message}"
        found = {"file": named, "line": None if named is None else line}
        properties = ",".join(
            f"{name}={_escape(str(value), PROPERTY_ESCAPES)}"
            for name, value in {**found, "title": "scoreline"}.items()
            if value is not None
        )
        echo(f"::{level} {properties}::{_escape(said, COMMAND_ESCAPES)}", err=True)


def places_of(error: Exception, message: str, config: Path | None) -> list[Place]:
    """Return what an error that ended a command says about files.

    Args:
        error: The error.
        message: Its message.
        config: The configuration file, which gates are about.
    """
    if isinstance(error, SettingsError):
        return [Place(fault.message, error.file, fault.line) for fault in error.faults]
    if isinstance(error, InputError):
        return [Place(each.message, each.file, each.line) for each in error.listed]
    if isinstance(error, ChecksFailed):
        return [Place(failure, config) for failure in error.failures]
    return [Place(message, config)]


def _in_clone(file: Path) -> str | None:
    """Return the path by which GitHub knows a file; None if there is no such file in the clone."""
    clone = Path(os.environ.get(WORKSPACE) or Path.cwd()).resolve()
    try:
        found = file.resolve()
        is_there = found.is_relative_to(clone) and found.exists()
    except ValueError:  # a NUL
        return None
    return found.relative_to(clone).as_posix() if is_there else None


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    """Return a text without what ends a command or a property of it."""
    return "".join(escapes.get(each, each) for each in text)


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
