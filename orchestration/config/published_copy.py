"""Find the published copy of a project without building the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestration.config.yaml_document import read_document
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.storage.memory import parse_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

PUBLISH = "published"
"""The folder of the published copy unless the configuration names another."""


def find_copy(file: Path) -> Snapshot:
    """Return the published copy of the project of a configuration file.

    Where the copy exists, only the keys `publish` and `memory_limit` are read: the models that
    validate a whole file take longer to load than most queries. Other faults of the file are for
    the next run to report.

    Raises:
        NotPublished: Nothing is published yet.
        SettingsNotFound: There is no such file, or it cannot be read.
        SettingsError: The file has faults.
    """
    from orchestration.published import open_copy

    content = read_document(file).content if file.is_file() else None
    copy = _named_copy(file.absolute().parent, content) if isinstance(content, dict) else None
    if copy is not None and copy.path.exists():
        return copy
    from orchestration.config.load import load_config

    return open_copy(load_config(file).project)


def _named_copy(home: Path, content: Mapping[str, object]) -> Snapshot | None:
    """Return the copy that the configuration names; None if these keys have faults."""
    publish, memory_limit = content.get("publish", PUBLISH), content.get("memory_limit")
    if not isinstance(publish, str) or not isinstance(memory_limit, str | None):
        return None
    try:
        if memory_limit is not None:
            parse_memory(memory_limit)
        return Snapshot(home / Path(publish.strip()).expanduser() / FILE_NAME, memory_limit)
    except (ValueError, RuntimeError):
        return None
