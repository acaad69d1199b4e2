"""Files that are there whole or not at all."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """A path beside a file, to be written; it takes the file's place at the end of the `with`.

    Of several that write the same file at once, each writes one of its own, and the last one stays.
    On an exception the file is as it was.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
