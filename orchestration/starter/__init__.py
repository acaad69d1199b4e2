"""The project that `scoreline init` writes; `files/` holds its files."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from orchestration.errors import OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path


class FilesExist(OrchestrationError):  # noqa: N818
    """Files of the starter project already exist."""


def write_starter(folder: Path) -> list[Path]:
    """Write the starter project into a folder, which is created if necessary.

    Returns:
        The files that were written.

    Raises:
        FilesExist: Some of the files exist; then none is written.
        OSError: The folder is not writable.
    """
    files = dict(_files(resources.files(__name__).joinpath("files"), folder))
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise FilesExist(
            f"{', '.join(existing)}: already exists and is not overwritten; choose another folder"
        )
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(files)


def _files(source: Traversable, target: Path) -> Iterator[tuple[Path, bytes]]:
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, target / entry.name)
        else:
            yield target / entry.name, entry.read_bytes()
