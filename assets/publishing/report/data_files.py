"""Data for the scripts of a page: JSON inside the page, compressed script files beside it."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import orjson
from markupsafe import Markup

from warehouse.foreign_text import HIDDEN, show_hidden

if TYPE_CHECKING:
    from pathlib import Path

COMPRESSION_LEVEL = 4
"""Most of the gain in a fraction of the time."""

GZIP_FORMAT = 31
"""The window size of zlib that adds the header and checksum of gzip."""


def write_data_file(folder: Path, name: str, content: bytes) -> None:
    """Write a script that passes its content to the page; it also loads from a `file:` address.

    The content is compressed and encoded as base64, so that no text in it can end the script. The
    page requests it by its name.
    """
    content = _show_hidden(content.decode()).encode()
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_FORMAT)
    text = base64.b64encode(compressor.compress(content) + compressor.flush())
    script = b'scoreline.give("%s","%s");\n' % (name.encode("ascii"), text)
    (folder / f"{name}.js").write_bytes(script)


def _show_hidden(text: str) -> str:
    """Return JSON whose texts show escapes in place of characters that cannot be seen."""
    return text if text.isascii() else HIDDEN.sub(lambda it: "\\" + show_hidden(it.group()), text)


def json_for_script(value: Any) -> Markup:
    """Return a value as JSON that cannot end the `script` element it stands in."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    text = _show_hidden(text).replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - escaped for a script
