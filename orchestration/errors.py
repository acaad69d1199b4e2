"""The errors of the orchestration room: what is wrong with a project or with a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class OrchestrationError(Exception):
    """The root of the errors that this room raises; the command line ends with code 2."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong in a configuration file.

    Attributes:
        line: The line of the offending key or value, counted from 1.
        message: What is wrong there and what was expected.
    """

    line: int
    message: str


class SettingsError(OrchestrationError):
    """A configuration file cannot be used.

    Attributes:
        file: The configuration file.
        faults: Everything that is wrong with it, in the order of its lines.
    """

    def __init__(self, file: Path, faults: Sequence[Fault]) -> None:
        self.file = file
        self.faults = tuple(sorted(faults))
        super().__init__(
            "\n".join(f"{file}:{fault.line}: {fault.message}" for fault in self.faults)
        )


class NoSettings(OrchestrationError):  # noqa: N818
    """There is no configuration file where one was looked for."""


class UnknownName(OrchestrationError):  # noqa: N818
    """A benchmark, system, evaluator or slice was named that does not exist."""


class ChecksFailed(OrchestrationError):  # noqa: N818 - the name says what it is
    """The run went through, but checks of its tables failed; the command line ends with code 1."""


class NothingToExport(OrchestrationError):  # noqa: N818
    """A benchmark has nothing of the kind that was asked for."""
