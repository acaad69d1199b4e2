"""Opens plain or compressed input files and reads their lines."""

from __future__ import annotations

import codecs
import gzip
import io
import shlex
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from records.packages import MissingPackage, require_extra
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.limits import (
    FREE_EXPANSION,
    LONGEST_FILE,
    LONGEST_ROW,
    MAX_RATIO,
    MIB,
    too_long,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from typing_extensions import Buffer

CHUNK_BYTES: Final = MIB
COMPRESSED: Final = {".gz": "gzip", ".zst": "Zstandard"}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BINARY: Final = frozenset({".parquet", ".xlsx", ".xlsm"})
_MARK_BYTES: Final = 4
_MAGIC: Final = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
_ENCODINGS: Final = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""Encodings by the byte order mark."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, from 1, and what ends it."""

    number: int
    text: str
    end: str = ""

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


class _Expanded(io.RawIOBase):
    """The contents of a compressed file; ends with an error if they are suspiciously long."""

    def __init__(self, path: Path, compressed: BinaryIO, contents: BinaryIO) -> None:
        super().__init__()
        self._path = path
        self._compressed = compressed
        self._contents = cast("io.RawIOBase", contents)
        self._length = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        count = self._contents.readinto(buffer) or 0
        self._length += count
        if self._length > max(FREE_EXPANSION, MAX_RATIO * self._compressed.tell()):
            raise InputError(
                [
                    Problem(
                        self._path,
                        None,
                        f"expands to more than {FREE_EXPANSION // MIB:,} MiB and {MAX_RATIO} times "
                        "its size: decompress it first if this is intended",
                    )
                ]
            )
        return count


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file and decompress it if its name ends in `.gz` or `.zst`.

    Raises:
        InputError: The file cannot be read, its contents do not match its suffix, or it expands to
            more than is allowed.
    """
    ending = path.suffix.lower()
    damage = _damage(path) if ending in COMPRESSED else ()
    try:
        with path.open("rb", CHUNK_BYTES) as raw:
            if ending not in COMPRESSED:
                reader = cast("io.BufferedReader", raw)
                _require_text(path, reader)
                yield reader
                return
            with _decompressed(raw, ending) as contents:
                reader = io.BufferedReader(_Expanded(path, raw, contents), CHUNK_BYTES)
                _require_text(path, reader)
                yield reader
    except damage as error:
        raise InputError(
            [Problem(path, None, f"expected a whole {COMPRESSED[ending]} file: {error}")]
        ) from error
    except OSError as error:
        raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error


def _require_text(path: Path, reader: io.BufferedReader) -> None:
    """Check that what a file begins with may be text in UTF-8, and say how to mend it.

    Raises:
        InputError: The file is compressed once more than its name says, or UTF-16 or UTF-32.
    """
    if kind(path) in _BINARY:
        return
    beginning = reader.peek(_MARK_BYTES)[:_MARK_BYTES]
    file = shlex.quote(str(path))
    reason = None
    for ending, mark in _MAGIC.items():
        if beginning.startswith(mark):
            reason = f"compressed with {COMPRESSED[ending]}, which the name does not say: "
            reason += f"`mv {file} {shlex.quote(str(path) + ending)}`, and name it so here"
    encoding = next((name for mark, name in _ENCODINGS.items() if beginning.startswith(mark)), None)
    if reason is None and encoding is None and b"\0" in beginning:
        encoding = "UTF-16BE" if beginning.startswith(b"\0") else "UTF-16LE"
    if encoding is not None:
        reason = f"expected UTF-8, found {encoding}: {_convert(path, encoding)}"
    if reason is not None:
        raise InputError([Problem(path, None, reason)])


def not_utf8(path: Path, place: str = "") -> str:
    """Return the reason why a text cannot be read that is in another encoding, and the remedy."""
    return f"not UTF-8{place}; if the file is in Latin-1, {_convert(path, 'LATIN1')}"


def joined(path: Path) -> str:
    """Return the reason why a line is refused that begins with a byte order mark."""
    return (
        "a byte order mark within the file, which was joined from several ones: remove it with "
        f"`sed -i 's/^\\xEF\\xBB\\xBF//' {shlex.quote(str(path))}`"
    )


def _convert(path: Path, encoding: str) -> str:
    target = path.with_name(f"utf8-{path.name}")
    name, written = shlex.quote(str(path)), shlex.quote(str(target))
    return f"convert it with `iconv -f {encoding} -t UTF-8 {name} > {written}`"


def _decompressed(raw: BinaryIO, ending: str) -> BinaryIO:
    if ending == ".gz":
        return cast("BinaryIO", gzip.open(raw))
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)


def _damage(path: Path) -> tuple[type[Exception], ...]:
    """Return what is raised where a compressed file is damaged.

    Raises:
        InputError: The package that decompresses it is not installed.
    """
    if path.suffix.lower() == ".gz":
        return (gzip.BadGzipFile, EOFError, zlib.error)
    try:
        require_extra("zstd", "a file that ends with .zst")
    except MissingPackage as missing:
        raise InputError([Problem(path, None, str(missing))]) from None
    import zstandard

    return (EOFError, zstandard.ZstdError)


def pieces(path: Path, length: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the contents of a file in pieces that consist of whole lines.

    Args:
        path: The file.
        length: The bytes of a piece, to which the rest of the last line is added.

    Raises:
        InputError: The file cannot be read, or a line is too long.
    """
    with opened(path) as file:
        while piece := file.read(length):
            piece += file.readline(LONGEST_ROW + 1)
            if len(piece) > LONGEST_ROW and max(map(len, piece.split(b"\n"))) > LONGEST_ROW:
                raise InputError([Problem(path, None, too_long("a line"))])
            yield piece


def lines(path: Path, *, keep_blank: Callable[[], bool] | None = None) -> Iterator[Line | Reject]:
    """Yield the lines of a file.

    Lines that are too long or not UTF-8 become rejects. A byte order mark is ignored.

    Args:
        path: The file.
        keep_blank: Whether to yield an empty line now. Without it, neither empty lines nor lines of
            whitespace are yielded.

    Raises:
        InputError: The file cannot be read.
    """
    whitespace = b" \t\r\n" if keep_blank is None else b"\r\n"
    with opened(path) as file:
        number = 0
        while line := file.readline(LONGEST_ROW + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if len(line) > LONGEST_ROW and not line.endswith(b"\n"):
                start = line[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_ROW)
                yield Reject(number, too_long("the line"), start)
                continue
            try:
                whole_line = line.decode()
            except UnicodeDecodeError as error:
                start = line[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
                place = f" at byte {error.start + 1} of the line"
                yield Reject(number, not_utf8(path, place), start)
                continue
            text = whole_line.rstrip("\r\n")
            if line.strip(whitespace) or (keep_blank is not None and keep_blank()):
                yield Line(number, text, whole_line[len(text) :])
            else:
                number += _skip_blank_lines(file, whitespace)


def _skip_blank_lines(file: io.BufferedReader, whitespace: bytes) -> int:
    """Skip lines of whitespace, many at a time; return their number."""
    skipped = 0
    while ahead := file.peek():
        # Several times as fast as `lstrip` and `count` where almost every byte is a line.
        blank = ahead if not ahead.translate(None, whitespace) else _blank_start(ahead, whitespace)
        blank = blank[: blank.rfind(b"\n") + 1]
        if not blank:
            break
        skipped += len(blank) - len(blank.translate(None, b"\n"))
        file.read(len(blank))
    return skipped


def _blank_start(text: bytes, whitespace: bytes) -> bytes:
    return text[: len(text) - len(text.lstrip(whitespace))]


def content(path: Path) -> bytes:
    """Return the contents of a file that has to be read as a whole.

    Raises:
        InputError: The file cannot be read, or is too long.
    """
    with opened(path) as file:
        found = bytearray()
        while chunk := file.read(CHUNK_BYTES):
            found += chunk
            if len(found) > LONGEST_FILE:
                message = f"the file is longer than {LONGEST_FILE // MIB} MiB, split it"
                raise InputError([Problem(path, None, message)])
    return bytes(found)


def whole(path: Path) -> str:
    """Return the text of a file without a byte order mark.

    Raises:
        InputError: The file cannot be read, is too long, or is not UTF-8; names the line.
    """
    read = content(path).removeprefix(_BYTE_ORDER_MARK)
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        line = read.count(b"\n", 0, error.start) + 1
        raise InputError([Problem(path, line, not_utf8(path))]) from None


def texts(path: Path) -> Iterator[str]:
    """Yield the text of a file in parts, without a byte order mark.

    Raises:
        InputError: The file cannot be read, or is not UTF-8; names the line.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with opened(path) as file:
        chunk = file.read(CHUNK_BYTES).removeprefix(_BYTE_ORDER_MARK)
        while True:
            try:
                yield decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += chunk.count(b"\n", 0, max(0, error.start))
                raise InputError([Problem(path, line, not_utf8(path))]) from None
            if not chunk:
                return
            line += chunk.count(b"\n")
            chunk = file.read(CHUNK_BYTES)
