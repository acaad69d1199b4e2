"""Answers a rerun with nothing changed without loading what computes fingerprints.

A run that finds everything up to date records the fingerprints that it expected, with a digest of
what they follow from: the configuration, the environment, the installed code and the input files.
While that digest is the same, the next run compares the recorded fingerprints with those of the
published copy. Any doubt counts as a change: then the run computes them.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assets.fingerprints.installed_code import digest_code
from assets.fingerprints.published import has_fingerprints, is_published, read_fingerprints
from evaluators import ENTRY_POINTS
from warehouse.errors import WarehouseError
from warehouse.formats.paths import expand
from warehouse.ingest.digests import digest_files
from warehouse.storage.atomic import replace_file
from warehouse.storage.scratch import remove_orphans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orchestration.config.load import Settings
    from warehouse.publish.snapshot import Snapshot

VARIABLES: Final = ("HOME", "USERPROFILE", "XDG_CACHE_HOME", "TMPDIR", "TEMP", "TMP")
"""The environment variables, beside our own, that paths of a configuration depend on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What should be published, and what a rerun prints when it is.

    Attributes:
        key: The digest of configuration, environment and code.
        patterns: The patterns of input files.
        inputs: The digest of the files that match them.
        expected: The fingerprints that follow from these, by benchmark and stage.
        warehouse: The file of the warehouse.
        copy: The published file.
        report: The first page of the report.
        memory_limit: The memory limit of the configuration.
        notes: Notes on the configuration.
        temporary: The folders in which killed processes may have left files.
    """

    key: str
    patterns: Sequence[str]
    inputs: str
    expected: Mapping[str, Mapping[str, str]]
    warehouse: str
    copy: str
    report: str
    memory_limit: str | None
    notes: Sequence[str]
    temporary: Sequence[str]

    @property
    def benchmarks(self) -> Sequence[str]:
        """The benchmarks."""
        return list(self.expected)

    @property
    def snapshot(self) -> Snapshot:
        """The published copy."""
        from warehouse.publish.snapshot import Snapshot  # DuckDB

        return Snapshot(Path(self.copy), self.memory_limit)


def digest_settings(config: Path) -> str | None:
    """Return the digest of a configuration file, the environment and the code; None if unknown.

    Installed packages that bring evaluators may change in ways that no digest of ours covers.
    """
    if not config.is_file():  # A FIFO would never end.
        return None
    try:
        content = config.read_bytes()
    except OSError:
        return None
    if entry_points(group=ENTRY_POINTS):
        return None
    variables = [(name, os.environ.get(name)) for name in VARIABLES]
    variables += sorted(each for each in os.environ.items() if each[0].startswith("SCORELINE_"))
    parts = [str(config.absolute()), variables, digest_code()]
    digest = hashlib.sha256(json.dumps(parts).encode())
    digest.update(content)
    return digest.hexdigest()


def find_unchanged(config: Path, key: str | None) -> Published | None:
    """Return what is published of a project if nothing has changed since it was recorded.

    Removes what killed processes left, as any run does.
    """
    try:
        if not _record(config).is_file():
            return None
        recorded = Published(**json.loads(_record(config).read_text(encoding="utf-8")))
        if key is None or recorded.key != key:
            return None
        copy = recorded.snapshot
        warehouse = replace(copy, path=Path(recorded.warehouse))
        folders = (copy.path.parent, warehouse.path.parent)
        if not (
            all(os.access(folder, os.W_OK | os.X_OK) for folder in folders)
            and _digest_inputs(recorded.patterns) == recorded.inputs
            and is_published(copy, Path(recorded.report), recorded.expected)
        ):
            return None
        with warehouse.open() as opened:  # it may be damaged
            if not has_fingerprints(read_fingerprints(opened), recorded.expected):
                return None
    except (OSError, ValueError, TypeError, WarehouseError):
        return None
    for folder in recorded.temporary:
        remove_orphans(Path(folder))
    return recorded


def record_unchanged(config: Path, key: str | None, settings: Settings, notes: list[str]) -> None:
    """Record what is published if it is up to date.

    Args:
        config: The configuration file.
        key: Its digest, from before it was loaded.
        settings: Its content.
        notes: Notes on the configuration.
    """
    from assets.fingerprints.input_files import KINDS, input_pattern
    from assets.fingerprints.up_to_date import expected_fingerprints
    from assets.project import REPORT_FILE
    from orchestration.leftovers import temporary_places

    project = settings.project
    if key is None or not isinstance(project.warehouse, Path) or _depends_on_more(settings):
        return
    patterns = [
        str(pattern)
        for benchmark in project.benchmarks.values()
        for kind in KINDS
        if (pattern := input_pattern(benchmark, kind)) is not None
    ]
    try:
        # Before the fingerprints: a file that changes meanwhile no longer agrees with its digest.
        inputs = _digest_inputs(patterns)
        stored = project.open_warehouse().all_fingerprints(list(project.benchmarks))
        expected = expected_fingerprints(project, stored)
        copy, page = project.open_copy(), project.publish / REPORT_FILE
        if not is_published(copy, page, expected):
            return
        published = Published(
            key=key,
            patterns=patterns,
            inputs=inputs,
            expected=expected,
            warehouse=str(project.warehouse),
            copy=str(copy.path),
            report=str(page),
            memory_limit=project.memory_limit,
            notes=notes,
            temporary=[str(folder) for folder in temporary_places(project)],
        )
        with replace_file(_record(config)) as file:
            file.write_text(json.dumps(asdict(published)), encoding="utf-8")
    except (OSError, WarehouseError):
        # The next run compares fingerprints.
        return


def _depends_on_more(settings: Settings) -> bool:
    """Return whether signatures depend on files that the digests do not cover."""
    from assets.fingerprints.input_files import KINDS, input_pattern
    from evaluators.engines.judge.settings import RECORDED
    from orchestration.config.judge.factory import HUMAN
    from orchestration.config.schema import Models
    from warehouse.formats.catalog import format_named
    from warehouse.formats.query import Query

    judge = settings.judge
    models = [] if judge is None else [each.model for each in (judge, *(judge.panel or ()))]
    is_read = any(model == HUMAN or (model or "").startswith(RECORDED) for model in models)
    is_more = any(
        bool(benchmark.systems)
        or format_named(benchmark.format).folders is not None
        or any(isinstance(input_pattern(benchmark, kind), Query) for kind in KINDS)
        for benchmark in settings.project.benchmarks.values()
    )
    return bool(settings.plugins) or is_read or is_more or settings.models != Models()


def _digest_inputs(patterns: Iterable[str]) -> str:
    return " ".join(digest_files(expand(pattern)) for pattern in patterns)


def _record(config: Path) -> Path:
    return config.absolute().parent / ".scoreline" / f"{config.name}.unchanged.json"
