"""Builds the systems that are asked from their keys, and checks the names that benchmarks use."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from orchestration.config.error_messages import describe_unknown
from orchestration.config.matrix import Member, expand_system
from orchestration.config.system_schema import KINDS, SystemKeys, keys_of
from orchestration.config.tasks import build_task
from systems.settings import LOCAL, LocalModelSystem, ModelSystem, SystemSettings
from systems.tasks.mcqa import Mcqa
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evaluators.engines.roles import Options
    from orchestration.config.evaluators import ReportFault
    from orchestration.config.schema import BenchmarkKeys


class SystemBuilder:
    """Builds systems; reports the faults in the combinations of their keys."""

    def __init__(self, report: ReportFault, home: Path, options: Options) -> None:
        """Set how faults are reported, the folder of paths, and how local models are run."""
        self._report = report
        self._home = home
        self._options = options
        self.members: dict[str, tuple[str, ...]] = {}

    def build(self, keys: Mapping[str, SystemKeys]) -> dict[str, SystemSettings]:
        """Return the systems whose kind is known, by name; note which an entry stands for."""
        built: dict[str, SystemSettings] = {}
        taken = set(keys)
        for entry, each in keys.items():
            members = expand_system(entry, each, taken - {entry}, self._report)
            self.members[entry] = tuple(member.name for member in members)
            taken.update(self.members[entry])
            reported: set[str] = set()
            for member in members:
                system = self._build(entry, member, partial(self._report_once, reported, member))
                if system is not None:
                    built[member.name] = system
        return built

    def _report_once(
        self, reported: set[str], member: Member, message: str, *path: str | int
    ) -> None:
        """Report a fault at the value of a matrix; one that members share only once."""
        if message not in reported:
            reported.add(message)
            self._report(message, *path[:2], *member.locate(path[2:]))

    def _build(self, entry: str, member: Member, report: ReportFault) -> SystemSettings | None:
        path = ("systems", entry)
        where = ".".join(path)
        given = {key: value for key, value in member.keys if value is not None}
        kinds = [kind for kind in KINDS if kind in given]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            report(f"{where}: expected one of {', '.join(KINDS)}, found {found}", *path)
            return None
        kind = KINDS[kinds[0]]
        if kind is ModelSystem and given["model"].startswith(LOCAL):
            kind = LocalModelSystem
        for key in [key for key in given if key not in keys_of(kind)]:
            report(f"{where}.{key}: {_owners(key, kind)} has this key", *path, key)
            del given[key]
        task = given.get("task")
        if task is not None:
            given["task"] = build_task(task, self._home, report, (*path, "task"))
        if kind is LocalModelSystem:
            if task is None or task.mcqa is None:
                report(f"{where}: a local model needs the task `mcqa`", *path, "model")
            if not isinstance(given.get("task"), Mcqa):
                return None
            given["options"] = self._options
        system = kind(name=member.name, home=self._home, **given)
        for each in system.conflicts():
            message = f"{'.'.join((*path, *each.key))}: {each.message}"
            report(message, *path, *(each.key if each.line_of is None else each.line_of))
        return system

    def check_benchmark(self, keys: BenchmarkKeys, path: tuple[str, str]) -> tuple[str, ...]:
        """Return the systems that a benchmark asks; report unknown ones."""
        where = ".".join(path)
        if keys.predictions is None and not keys.systems:
            message = (
                f"the key 'predictions' is missing in {where}; it is not needed with 'systems'"
            )
            self._report(message, *path)
        single = {name: (name,) for members in self.members.values() for name in members}
        known = {**self.members, **single}
        for at, name in enumerate(keys.systems):
            if name not in known:
                message = describe_unknown(f"system {name!r}", name, known)
                self._report(f"{where}.systems: {message}", *path, "systems", at)
        input_format = formats().get(keys.format)
        without_files = input_format is not None and input_format.questions_from == "predictions"
        if keys.systems and input_format is not None and without_files:
            self._report(
                f"the format {input_format.name!r} has questions in the prediction files: systems "
                "can be asked with formats that have files of questions",
                *(*path, "systems"),
            )
        named = (known.get(name, (name,)) for name in keys.systems)
        return tuple(dict.fromkeys(chain.from_iterable(named)))


def _owners(key: str, kind: type[SystemSettings]) -> str:
    """Return which systems have a key that a kind lacks."""
    if kind is LocalModelSystem and key in keys_of(ModelSystem):
        return "only a model that a server runs"
    owners = [f"`{name}`" for name, each in KINDS.items() if key in keys_of(each)]
    return f"only a system with {' or '.join(owners)}"
