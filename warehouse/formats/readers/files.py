"""Opens input files, plain or compressed, and cuts them into lines."""

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
"""The bytes that a line may have."""

COMPRESSED: Final = {".gz": "gzip", ".zst": "Zstandard"}
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, from 1, without its end."""

    number: int
    text: str

    @property
    def beginning(self) -> str:
        """What is kept of it should it be rejected."""
        return self.text[:SHOWN]


def kind(path: Path) -> str:
    """The ending that says what a file holds, such as `.jsonl` for `a.jsonl.gz`."""
    endings = path.suffixes
    if endings and endings[-1].lower() in COMPRESSED:
        endings = endings[:-1]
    return endings[-1].lower() if endings else ""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file's bytes, decompressed when its name ends in `.gz` or `.zst`.

    Raises:
        InputError: The file cannot be opened, or what it holds is not what its ending says.
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
    """The lines of a file; those that hold only blanks as well when `blank` is set.

    Lines that are too long or not UTF-8 come as rejects. A byte order mark is passed over.

    Raises:
        InputError: The file cannot be read.
    """
    with opened(path) as file:
        number = 0
        while piece := file.readline(LONGEST_LINE + 1):
            number += 1
            if number == 1:
                piece = piece.removeprefix(_MARK)
            if len(piece) > LONGEST_LINE and not piece.endswith(b"\n"):
                start = piece[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                while piece and not piece.endswith(b"\n"):
                    piece = file.readline(LONGEST_LINE)
                limit = LONGEST_LINE // 2**20
                yield Reject(number, f"the line is longer than {limit} MiB", start)
                continue
            try:
                text = piece.decode().rstrip("\r\n")
            except UnicodeDecodeError as error:
                start = piece[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                yield Reject(number, f"not UTF-8 at byte {error.start + 1} of the line", start)
                continue
            if blank or text.strip(" \t\r"):
                yield Line(number, text)


def whole(path: Path) -> str:
    """All text of a file, without a byte order mark.

    Raises:
        InputError: The file cannot be read or is not UTF-8; names the line.
    """
    with opened(path) as file:
        content = file.read().removeprefix(_MARK)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError([Problem(path, line, "not UTF-8")]) from None
