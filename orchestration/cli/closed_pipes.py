"""Standard streams that have lost their reader, as after `scoreline gate | head -1`."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from typing_extensions import Buffer


class ReaderGone(BrokenPipeError):  # noqa: N818
    """Standard output has lost its reader; what else is written to it is discarded."""


class _Output(io.FileIO):
    """A file descriptor that discards what is written once its reader is gone.

    Attributes:
        outlives: Whether the work goes on then; otherwise `ReaderGone` is raised, once.
    """

    def __init__(self, descriptor: int, *, outlives: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.outlives = outlives

    def write(self, data: Buffer, /) -> int:
        """Write bytes, or discard them once the reader is gone."""
        try:
            return super().write(data)
        except BrokenPipeError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if not self.outlives:
                raise ReaderGone(*error.args) from error
            return super().write(data)


def install() -> None:
    """Replace the standard streams of this process.

    A closed standard error is never an error, and a closed standard output raises `ReaderGone`,
    which other broken connections do not: see `outlive_reader`.
    """
    sys.stdout = _replace(sys.stdout, outlives=False)
    sys.stderr = _replace(sys.stderr, outlives=True)


def outlive_reader() -> None:
    """Do all the work of this command, and exit with its code, even if its output is not read."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output):
        raw.outlives = True


def _replace(stream: TextIO | None, *, outlives: bool) -> TextIO:
    if stream is None:  # closed before the process began
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), outlives=outlives)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
