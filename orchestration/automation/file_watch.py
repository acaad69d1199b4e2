"""Finds the benchmarks whose files are new or have changed and are completely written."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from assets.fingerprints.digests import digest_of
from assets.fingerprints.input_files import KINDS, input_files
from warehouse.errors import WarehouseError
from warehouse.formats.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assets.project import Benchmark, Project
    from systems.settings import SystemSettings

RETRY_S: Final = 60.0
LONGEST_RETRY_S: Final = 86_400.0
"""After the second failure for the same files the sensor waits a minute, then 3, 7, 15 minutes and
so on, at most a day."""


@dataclass(frozen=True, slots=True)
class FilesState:
    """The files of one benchmark as the sensor last found them.

    Attributes:
        fingerprint: The digest of their names, sizes and times.
        since: When the sensor first found this fingerprint, in seconds.
        requested: The fingerprint for which the sensor last requested a run.
        run: The first and the last benchmark of that run, until its end was seen.
        failures: How often in succession a run for this fingerprint has failed.
        retry_at: When the sensor requests the next run after a failure, in seconds.
    """

    fingerprint: str
    since: float
    requested: str | None = None
    run: Sequence[str] | None = None
    failures: int = 0
    retry_at: float | None = None

    def failed(self, now: float) -> FilesState:
        """Return the state after a run has failed: the first retry is at once, others later."""
        pause_s = min(RETRY_S * (2**self.failures - 1), LONGEST_RETRY_S)
        failures = self.failures + 1
        return replace(self, run=None, failures=failures, retry_at=now + pause_s)


@dataclass(frozen=True, slots=True)
class FileWatch:
    """The state that the sensor keeps between two ticks.

    Attributes:
        benchmarks: The files of each benchmark.
    """

    benchmarks: dict[str, FilesState] = field(default_factory=dict)

    @classmethod
    def from_cursor(cls, cursor: str | None) -> FileWatch:
        """Read the state from a sensor cursor; without one, the state is empty."""
        states = json.loads(cursor) if cursor else {}
        # By position: earlier versions stored other names for the same three fields.
        return cls({name: FilesState(*state.values()) for name, state in states.items()})

    def to_cursor(self) -> str:
        """Return the state as a sensor cursor."""
        return json.dumps({name: asdict(state) for name, state in self.benchmarks.items()})

    def update(self, project: Project, now: float) -> tuple[FileWatch, list[str], list[str]]:
        """Compare the files of all benchmarks with the last tick.

        A benchmark is ready when its files have not changed for `settle_s` seconds, since a file
        that is still being written changes between ticks. A clock that jumps back restarts the
        waiting time. After a failed run it is ready again at `retry_at`.

        Args:
            project: The project.
            now: The time, in seconds.

        Returns:
            The new state, the benchmarks that are ready, and those that still change.
        """
        states: dict[str, FilesState] = {}
        ready: list[str] = []
        changing: list[str] = []
        for name, benchmark in project.benchmarks.items():
            systems = [project.systems[each] for each in benchmark.systems]
            fingerprint = fingerprint_files(benchmark, systems)
            if fingerprint is None:
                continue
            state = self.benchmarks.get(name)
            if state is None or state.fingerprint != fingerprint or now < state.since:
                state = FilesState(fingerprint, now, None if state is None else state.requested)
            states[name] = state
            if state.requested != fingerprint:
                is_settled = now - state.since >= project.automation.settle_s
                (ready if is_settled else changing).append(name)
            elif state.retry_at is not None and now >= state.retry_at:
                ready.append(name)
        return FileWatch(states), ready, changing

    def mark_requested(
        self, names: Iterable[str], runs: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> FileWatch:
        """Return the state after runs of some benchmarks were requested.

        Args:
            names: The benchmarks.
            runs: The first and the last benchmark of the run of each.
        """
        states = dict(self.benchmarks)
        for name in names:
            state, run = states[name], runs.get(name)
            states[name] = replace(state, requested=state.fingerprint, run=run, retry_at=None)
        return FileWatch(states)

    def mark_ended(self, ended: Callable[[Sequence[str]], bool | None], now: float) -> FileWatch:
        """Return the state after the ends of requested runs.

        Args:
            ended: Returns for the first and last benchmark of a run whether it succeeded, or None
                if there is no such run, or it has not ended.
            now: The time, in seconds.
        """
        states = dict(self.benchmarks)
        for name, state in self.benchmarks.items():
            has_succeeded = None if state.run is None else ended(state.run)
            if has_succeeded:
                states[name] = replace(state, run=None, failures=0)
            elif has_succeeded is not None:
                states[name] = state.failed(now)
        return FileWatch(states)


def fingerprint_files(benchmark: Benchmark, systems: Sequence[SystemSettings]) -> str | None:
    """Return the digest of a benchmark's files, or None while a file is missing.

    Databases count as files; what a server holds is not watched. The files of systems that are
    asked, such as a Python file or a prompt, belong to the benchmark: they are a part of the
    version, so an edit asks again.
    """
    try:
        found = [
            path
            for kind in KINDS
            for file, _ in input_files(benchmark, kind)
            for path in (file.files if isinstance(file, Query) else [file])
        ]
        found += [path for system in systems for path in system.files()]
        facts = [(str(path), path.stat()) for path in found]
    except (WarehouseError, OSError):
        # The file does not exist yet, or was removed while it was read.
        return None
    # Contents of the same size may get back their modification time, but not their change time.
    return digest_of(
        [(name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for name, stat in facts]
    )
