"""The errors of the orchestration package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class OrchestrationError(Exception):
    """The root of the errors of this package; the command line exits with code 2."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A fault in a configuration file.

    Attributes:
        line: The line of the key or value, counted from 1.
        message: What is wrong there, and what was expected.
    """

    line: int
    message: str


class SettingsError(OrchestrationError):
    """A configuration file has faults.

    Attributes:
        file: The configuration file.
        faults: All its faults, in the order of their lines.
    """

    def __init__(self, file: Path, faults: Sequence[Fault]) -> None:
        self.file = file
        self.faults = tuple(sorted(faults))
        super().__init__(
            "\n".join(f"{file}:{fault.line}: {fault.message}" for fault in self.faults)
        )


class SettingsNotFound(OrchestrationError):  # noqa: N818
    """The configuration file does not exist, or cannot be read."""


class UnknownName(OrchestrationError):  # noqa: N818
    """There is no benchmark, system, evaluator, metric or slice of a given name."""


class ChecksFailed(OrchestrationError):  # noqa: N818
    """The run finished, but a check failed; the command line exits with code 1."""


class Cancelled(KeyboardInterrupt):
    """Ctrl-C or a signal cancelled a run; the message says what is kept and how to go on."""


class NothingToExport(OrchestrationError):  # noqa: N818
    """A benchmark has no results of the requested kind."""
