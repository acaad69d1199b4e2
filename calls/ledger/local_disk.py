"""Whether a folder is on a local disk."""

from __future__ import annotations

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
