"""The user's cache folder, paths for other libraries, and network file systems."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from warehouse.errors import WarehouseError

NETWORK_FILE_SYSTEMS: Final = frozenset(
    "9p afs afpfs beegfs ceph cephfs cifs fuse.ceph fuse.gcsfuse fuse.glusterfs fuse.rclone "  # noqa: SIM905
    "fuse.s3fs fuse.sshfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 smb2 smb3 smbfs".split()
)
"""File systems on which processes of several machines have no shared memory or common locks."""


def network_file_system(folder: Path) -> str | None:
    """Return the type of the network file system that a folder is on; null for a local disk."""
    import psutil

    folder = folder.absolute()
    mounts = {each.mountpoint: each.fstype for each in psutil.disk_partitions(all=True)}
    mount = next((str(each) for each in (folder, *folder.parents) if str(each) in mounts), None)
    is_network = mount is not None and mounts[mount].lower() in NETWORK_FILE_SYSTEMS
    return mounts[mount] if mount is not None and is_network else None


def cache_folder() -> Path:
    """Return the user's cache folder of Scoreline.

    Raises:
        RuntimeError: The user has no home directory.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scoreline")


PLAIN: Final = re.compile(r"[\w .+@,=~-]*|/")
"""Parts of paths that mean the same in a URL and in a pattern of `glob`."""


def special_file(path: Path) -> str | None:
    """Return what a path is that is not an ordinary file, for messages; null if it is none.

    Reading a FIFO would wait until another program writes to it.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    if stat.S_ISREG(mode):
        return None
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")


def why_unwritable(path: Path) -> str:
    """Return why an existing file or folder that refuses writes does so, and what to do."""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return (
            "the disk is read-only: mount it for writing, or name another folder in `warehouse` "
            "and `publish`"
        )
    return "permission denied"


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
