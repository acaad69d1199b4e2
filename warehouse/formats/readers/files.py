"""Opens plain or compressed input files and reads their lines."""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

import zstandard

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_LINE: Final = 16 * 1024 * 1024
"""The maximum length of a line in bytes."""

COMPRESSED: Final = {".gz": "gzip", ".zst": "Zstandard"}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, from 1, without its end."""

    number: int
    text: str

    @property
    def beginning(self) -> str:
        """The text that is kept if the line is rejected."""
        return self.text[:SHOWN]


def kind(path: Path) -> str:
    """Return the suffix that names the file type, such as `.jsonl` for `a.jsonl.gz`."""
    endings = path.suffixes
    if endings and endings[-1].lower() in COMPRESSED:
        endings = endings[:-1]
    return endings[-1].lower() if endings else ""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file and decompress it if its name ends in `.gz` or `.zst`.

    Raises:
        InputError: The file cannot be read, or its contents do not match its suffix.
    """
    ending = path.suffix.lower()
    try:
        with path.open("rb") as raw:
            if ending == ".gz":
                with gzip.open(raw) as plain:
                    yield io.BufferedReader(plain, 1 << 20)
            elif ending == ".zst":
                stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
                yield io.BufferedReader(stream, 1 << 20)
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise InputError(
            [Problem(path, None, f"expected a whole {COMPRESSED[ending]} file: {error}")]
        ) from error
    except OSError as error:
        raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error


def lines(path: Path, *, blank: bool = False) -> Iterator[Line | Reject]:
    """Yield the lines of a file; with `blank` also those that are empty or only whitespace.

    Lines that are too long or not UTF-8 become rejects. A byte order mark is ignored.

    Raises:
        InputError: The file cannot be read.
    """
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                start = line[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_LINE)
                limit = LONGEST_LINE // 2**20
                yield Reject(number, f"the line is longer than {limit} MiB", start)
                continue
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                start = line[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                yield Reject(number, f"not UTF-8 at byte {error.start + 1} of the line", start)
                continue
            if blank or text.strip(" \t\r"):
                yield Line(number, text)


def whole(path: Path) -> str:
    """Return the text of a file without a byte order mark.

    Raises:
        InputError: The file cannot be read or is not UTF-8; names the line.
    """
    with opened(path) as file:
        content = file.read().removeprefix(_BYTE_ORDER_MARK)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError([Problem(path, line, "not UTF-8")]) from None
