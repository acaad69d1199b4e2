"""The user's cache folder, and paths for other libraries."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from warehouse.errors import WarehouseError


def cache_folder() -> Path:
    """Return the user's cache folder of Scoreline.

    Raises:
        RuntimeError: The user has no home directory.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scoreline")


PLAIN: Final = re.compile(r"[\w .+@,=~-]*|/")
"""Parts of paths that mean the same in a URL and in a pattern of `glob`."""


def plain_path(path: Path) -> Path:
    """Return a path to the same file for libraries that use paths as URLs or patterns.

    The path leads through a link in the user's cache folder, unless all its parts are plain.

    Raises:
        WarehouseError: The link cannot be created.
    """
    parts = path.absolute().parts
    odd = max((at for at, part in enumerate(parts) if not PLAIN.fullmatch(part)), default=None)
    if odd is None:
        return path
    folder = Path(*parts[: odd + 1])
    try:
        digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        link = cache_folder().absolute() / "folders" / digest
        link.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(folder, target_is_directory=True)
    except (OSError, RuntimeError) as error:
        raise WarehouseError(
            f"the path of {str(folder)!r} has special characters, and a link to it in the cache "
            f"folder cannot be created ({error}): rename the folder, or set XDG_CACHE_HOME"
        ) from error
    return link.joinpath(*parts[odd + 1 :])
