"""Data for the scripts of a page: JSON inside the page, compressed script files beside it."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING, Any

import orjson
from markupsafe import Markup

from warehouse.foreign_text import HIDDEN, show_hidden_isolated

if TYPE_CHECKING:
    from pathlib import Path

_JSON_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u([0-9a-fA-F]{4})")
_SHOWN = frozenset(map(chr, (*range(0x20), 0x200C, 0x200D, *range(0xD800, 0xE000))))
"""What stays an escape of JSON: controls, joiners, and halves of a character."""

COMPRESSION_LEVEL = 4
"""Most of the gain in a fraction of the time."""

GZIP_FORMAT = 31
"""The window size of zlib that adds the header and checksum of gzip."""


def write_data_file(folder: Path, name: str, content: bytes) -> None:
    """Write a script that passes its content to the page; it also loads from a `file:` address.

    The content is compressed and encoded as base64, so that no text in it can end the script. The
    page requests it by its name.
    """
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_FORMAT)
    text = base64.b64encode(compressor.compress(content) + compressor.flush())
    script = b'scoreline.give("%s","%s");\n' % (name.encode("ascii"), text)
    (folder / f"{name}.js").write_bytes(script)


def to_json(value: Any) -> bytes:
    """Return a value as JSON whose texts show escapes in place of characters that cannot be seen.

    Parts of the value may be JSON already, which may hold such characters as escapes of JSON.
    """
    data = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    if data.isascii() and b"\\u" not in data:
        return data
    text = show_hidden_isolated(data.decode(), "\\")
    return _JSON_ESCAPE.sub(_show_escape, text).encode()


def _show_escape(found: re.Match[str]) -> str:
    character = chr(int(found[2], 16))
    is_hidden = character not in _SHOWN and HIDDEN.fullmatch(character)
    return f"{found[1]}\\\\u{found[2]}" if is_hidden else found.group()


def json_for_script(value: Any) -> Markup:
    """Return a value as JSON that cannot end the `script` element it stands in."""
    text = to_json(value).decode().replace("<", "\\u003c")
    return Markup(text)  # noqa: S704 - escaped for a script
