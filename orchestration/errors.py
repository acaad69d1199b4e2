"""The errors of the orchestration package."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

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
    """The run finished, but a check failed; the command line exits with code 1.

    Attributes:
        failures: What failed, one message each.
    """

    def __init__(self, message: str, failures: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures) or (message,)


class Cancelled(KeyboardInterrupt):
    """Ctrl-C or a signal cancelled a run; the message says what is kept and how to go on."""


class DamagedHistory(OrchestrationError):  # noqa: N818
    """The databases of Dagster cannot be read."""


class NothingToExport(OrchestrationError):  # noqa: N818
    """A benchmark has no results of the requested kind."""


RESOURCES: Final = {
    errno.ENOSPC: "the disk is full: free some space and run again; completed work is kept",
    errno.EDQUOT: "your quota on this disk is used up: free some space and run again; completed "
    "work is kept",
    errno.EROFS: "the disk is read-only: mount it for writing, or name another folder in "
    "`warehouse` and `publish`",
    errno.EMFILE: "too many files are open: raise the limit, for example with `ulimit -n 4096`, or "
    "lower `concurrency`",
    errno.ENFILE: "too many files are open on this machine: close other programs, or raise its "
    "limit",
    errno.ENOMEM: "the machine has not enough memory: close other programs, or run fewer "
    "benchmarks at once with `--benchmark`",
    errno.EIO: "the disk is failing: check it; completed work is kept",
}
"""What to do about errors of the operating system that no input causes."""

SQLITE: Final = {
    "database or disk is full": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EROFS,
    "unable to open database file": errno.EMFILE,
    "out of memory": errno.ENOMEM,
}
"""The errors of the operating system behind messages of SQLite, which Dagster uses."""


def describe_resource(error: BaseException) -> str | None:
    """Return what is missing and what to do if a lack of resources caused an error, or None.

    Libraries wrap these errors in errors of their own, so causes and messages are searched.
    """
    for each in _causes(error):
        number = _error_number(each)
        if number is not None:
            place = getattr(each, "filename", None)
            said = str(each).partition("\n")[0] or type(each).__name__
            detail = said if place is None else f"{os.strerror(number)}: {place!r}"
            return f"{RESOURCES[number]} ({detail})"
    return None


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and what caused it; an error that is raised again may be its own cause."""
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return found


def _error_number(error: BaseException) -> int | None:
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if isinstance(error, OSError) and error.errno in RESOURCES:
        return error.errno
    text = str(error)
    for number in RESOURCES:
        if os.strerror(number) in text:
            return number
    is_sqlite = type(error).__module__.startswith(("sqlite3", "sqlalchemy"))
    found = next((number for said, number in SQLITE.items() if said in text), None)
    if found == errno.EMFILE and not _has_few_files_left():
        return None
    return found if is_sqlite else None


def _has_few_files_left() -> bool:
    """Return whether this process can open few more files."""
    import resource

    import psutil

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return bool(psutil.Process().num_fds() > soft - 8)
