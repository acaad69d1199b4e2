"""The project that `scoreline init` writes; `files/` holds its files."""

from __future__ import annotations

from pathlib import Path

from orchestration.errors import OrchestrationError

SOURCE = Path(__file__).with_name("files")

HIDDEN = {"gitignore": ".gitignore"}
"""The names of files that have others here, where git would act on them."""


class FilesExist(OrchestrationError):  # noqa: N818
    """Files of the starter project already exist."""


def write_starter(folder: Path) -> list[Path]:
    """Write the starter project into a folder, which is created if necessary.

    Returns:
        The files that were written: a `.gitignore` only where there is none.

    Raises:
        FilesExist: Some of the other files exist; then none is written.
        OSError: The folder is not writable.
    """
    sources = [path for path in sorted(SOURCE.rglob("*")) if path.is_file()]
    files = {
        folder / HIDDEN.get(path.name, path.relative_to(SOURCE)): path.read_bytes()
        for path in sources
    }
    for name in HIDDEN.values():
        if (folder / name).exists() or (folder / name).is_symlink():
            del files[folder / name]
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise FilesExist(
            f"{', '.join(existing)}: already exists and is not overwritten; choose another folder"
        )
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(files)
