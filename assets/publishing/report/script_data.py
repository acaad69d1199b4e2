"""Data beside a page: compressed, in files that a page loads as scripts, even from a disk."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from pathlib import Path

LEVEL = 2
"""Of zlib: most of what can be gained, in a fraction of the time."""


def pack(path: Path, name: str, content: bytes) -> None:
    """Write a script that hands its content to the page under a name.

    The content is compressed and written in the 64 characters of base64, so that nothing in it
    can end the script or begin another.

    Args:
        path: The file.
        name: What the page asks for.
        content: What it gets.
    """
    squeezed = zlib.compressobj(LEVEL, zlib.DEFLATED, 31)  # 31: with the frame of gzip
    packed = squeezed.compress(content) + squeezed.flush()
    text = base64.b64encode(packed)
    path.write_bytes(b'scoreline.give("%s","%s");\n' % (name.encode("ascii"), text))


def embedded(value: Any) -> str:
    """A value as JSON that may stand inside a `script` element: it cannot end the element."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
