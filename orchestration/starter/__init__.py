"""The project that `scoreline init` writes: its files stand in `files/` as they will be."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from orchestration.errors import OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path


class AlreadyThere(OrchestrationError):  # noqa: N818 - the name says what it is
    """A file that would be written exists already."""


def write(folder: Path) -> list[Path]:
    """Writes the starter project into a folder, which is made when it does not exist.

    Returns:
        The files that were written.

    Raises:
        AlreadyThere: One of the files exists; then none is written.
        OSError: The folder cannot be written to.
    """
    files = dict(_files(resources.files(__name__).joinpath("files"), folder))
    present = [str(path) for path in files if path.exists()]
    if present:
        raise AlreadyThere(
            f"{', '.join(present)}: already there and not overwritten; choose another folder"
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
