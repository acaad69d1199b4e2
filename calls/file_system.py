"""What a path is: a network file system, a special file, a read-only disk."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

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
