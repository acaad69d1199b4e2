"""The installed program on a real terminal of a given width."""

from __future__ import annotations

import codecs
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def on_terminal(folder: Path, *arguments: str, columns: int = 80) -> str:
    """Return what the program writes to a terminal, standard error included."""
    return "".join(stream_terminal(folder, *arguments, columns=columns))


def stream_terminal(folder: Path, *arguments: str, columns: int = 80) -> Iterator[str]:
    """Yield what the program writes to a terminal of 40 lines, as it writes it."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    started = subprocess.Popen(
        [str(Path(sys.executable).with_name("scoreline")), *arguments],
        cwd=folder,
        env={**environment, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while found := _read(ours):
            yield decoder.decode(found).replace("\r\n", "\n")
    finally:
        started.kill()
        started.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the program has ended
        return b""
