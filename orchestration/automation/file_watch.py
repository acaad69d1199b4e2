"""New and changed files: when they have come to rest, and which benchmarks they belong to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from assets.fingerprints.digests import digest_of, files
from warehouse.errors import WarehouseError
from warehouse.formats.paths import expand

if TYPE_CHECKING:
    from assets.project import Benchmark, Project


@dataclass(frozen=True, slots=True)
class Seen:
    """What was last seen of the files of a benchmark.

    Attributes:
        look: The digest of their names, sizes and times.
        since: The time at which they were first seen so, in seconds.
        done: The digest for which a run was last asked for.
    """

    look: str
    since: float
    done: str | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """What is remembered between two looks at the files of a project.

    Attributes:
        seen: What was seen of each benchmark.
    """

    seen: dict[str, Seen] = field(default_factory=dict)

    @classmethod
    def read(cls, cursor: str | None) -> Watch:
        """What was remembered as text; nothing of it where there is none."""
        known = json.loads(cursor) if cursor else {}
        return cls({name: Seen(**each) for name, each in known.items()})

    def __str__(self) -> str:
        """It as text."""
        return json.dumps({name: asdict(each) for name, each in self.seen.items()})

    def looked(self, project: Project, now: float) -> tuple[Watch, list[str], list[str]]:
        """Look at all files once more.

        Files that are still being written change from one look to the next. A burst of changes is
        one change: while any benchmark's files move, none of them is ready.

        Args:
            project: The project.
            now: The time, in seconds; one that has jumped back begins the waiting anew.

        Returns:
            What is to be remembered, the benchmarks that are ready, and those that still move.
        """
        seen: dict[str, Seen] = {}
        ready: list[str] = []
        moving: list[str] = []
        for name, benchmark in project.benchmarks.items():
            look = look_of(benchmark)
            last = self.seen.get(name)
            if look is None:
                continue
            if last is None or last.look != look or now < last.since:
                last = Seen(look, now, None if last is None else last.done)
            seen[name] = last
            if last.done == look:
                continue
            settled = now - last.since >= project.automation.settle_s
            (ready if settled else moving).append(name)
        return Watch(seen), ready, moving

    def asked(self, names: list[str]) -> Watch:
        """The same, with runs asked for these benchmarks.

        A run that fails on bad files is not asked for again before they change.
        """
        done = {
            name: Seen(each.look, each.since, each.look) if name in names else each
            for name, each in self.seen.items()
        }
        return Watch(done)


def look_of(benchmark: Benchmark) -> str | None:
    """The digest of names, sizes and times of a benchmark's files; None while some are missing."""
    try:
        found = [
            *files(benchmark.questions),
            *files(benchmark.documents),
            *(path for path, _ in expand(benchmark.predictions)),
        ]
        facts = [(str(path), path.stat()) for path in found]
    except (WarehouseError, OSError):
        # Not there yet, or gone between two looks.
        return None
    return digest_of([(name, stat.st_size, stat.st_mtime_ns) for name, stat in facts])
