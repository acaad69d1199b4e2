"""Digests of what files hold, whatever they are called and wherever they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_PIECE: Final = 1 << 20


def fingerprint(files: Iterable[tuple[Path, str | None]], settings: Sequence[str] = ()) -> str:
    """The digest of files and of the settings with which they are read.

    The files' order, contents, endings and systems count; their names and folders do not, so
    that a moved project is not read anew.

    Args:
        files: The files with the systems that their paths name.
        settings: What else the result depends on.

    Returns:
        32 hexadecimal digits (XXH3, 128 bits).

    Raises:
        InputError: A file cannot be read.
    """
    digest = xxhash.xxh3_128()
    # One buffer for all: a fresh one for each piece takes twice as long.
    piece = memoryview(bytearray(_PIECE))
    for setting in settings:
        _add(digest, setting.encode())
    for path, system in files:
        content = xxhash.xxh3_128()
        try:
            with path.open("rb", buffering=0) as file:
                while filled := file.readinto(piece):
                    content.update(piece[:filled])
        except OSError as error:
            raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
        _add(digest, "".join(path.suffixes[-2:]).lower().encode())
        _add(digest, b"\0" if system is None else b"\1" + system.encode())
        _add(digest, content.digest())
    return digest.hexdigest()


def _add(digest: xxhash.xxh3_128, part: bytes) -> None:
    # With its length, so that no two lists of parts read the same.
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)
