"""Draw charts as SVG and PNG, in a process whose end costs one image and not the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from assets.charts import image_worker

if TYPE_CHECKING:
    from concurrent.futures import Future

    from assets.charts.style import Spec

LIMIT_S = 60.0
"""The seconds in which an image must be drawn. It takes 0.05 seconds, the first one 1 second."""

MAX_TIMEOUTS = 2
"""The images that may exceed the limit before no more are drawn."""

SHOWN = 300
"""The characters of the worker's last message that a reason quotes."""


class ImageError(Exception):
    """An image was not drawn; the message says why."""


@dataclass(frozen=True, slots=True)
class Image:
    """A drawn chart, as the text of an SVG and the bytes of a PNG."""

    svg: str
    png: bytes

    def write(self, folder: Path, name: str) -> list[Path]:
        """Write `<name>.svg` and `<name>.png` into a folder, and return their paths."""
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        paths[0].write_text(self.svg, encoding="utf-8")
        paths[1].write_bytes(self.png)
        return paths


class ImageWorker:
    """Draws charts one after the other in a worker process, and starts a new one if it ends.

    The process starts with the first chart and ends with this process.

    Attributes:
        limit_s: The seconds after which an image is given up.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        """Set the limit in seconds."""
        self.limit_s = limit_s
        self._timeouts = 0
        self._queue = ThreadPoolExecutor(1, "images")
        self._process: _Process | None = None

    def draw(self, spec: Spec) -> Future[Image]:
        """Return an image that is drawn in the background.

        Args:
            spec: The chart in Vega-Lite, with its data.

        Returns:
            The image. Its result raises ImageError if the chart cannot be drawn.
        """
        return self._queue.submit(self._draw, spec)

    @property
    def process_id(self) -> int | None:
        """The id of the process, if one is running."""
        return None if self._process is None else self._process.process_id

    def close(self) -> None:
        """Draw what is waiting, and end the process."""
        self._queue.submit(self._end_process).result()

    def _draw(self, spec: Spec) -> Image:
        if self._timeouts >= MAX_TIMEOUTS:
            raise ImageError(f"{MAX_TIMEOUTS} images took longer than {self.limit_s:g} seconds")
        try:
            process = self._started_process()
        except OSError as error:
            raise ImageError(f"the process that draws charts did not start: {error}") from error
        try:
            return process.draw(spec, self.limit_s)
        except TimeoutError:
            self._timeouts += 1
            self._end_process()
            raise ImageError(f"it took longer than {self.limit_s:g} seconds") from None
        except (BrokenPipeError, EOFError):
            reason = process.describe_end()
            self._end_process()
            raise ImageError(f"the process that draws charts ended: {reason}") from None

    def _started_process(self) -> _Process:
        if self._process is None:
            self._process = _Process()
        return self._process

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


IMAGES = ImageWorker()
"""The worker of this process: it is started once, however many reports there are."""


class _Process:
    """A worker process; it ends with the object that started it."""

    def __init__(self) -> None:
        # A file, not a pipe: nothing reads it while the worker runs.
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, "-P", "-W", "ignore", image_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env={**os.environ, "RUST_BACKTRACE": "0"},
        )
        self._process = process
        self._requests = cast("IO[bytes]", process.stdin)
        self._replies = cast("IO[bytes]", process.stdout)
        self.end = weakref.finalize(self, _end, process, self._messages)

    @property
    def process_id(self) -> int:
        """The id of the process."""
        return self._process.pid

    def draw(self, spec: Spec, limit_s: float) -> Image:
        """Return the image of a chart.

        Raises:
            ImageError: The library refused the chart.
            TimeoutError: It took longer than the limit; the process is killed.
            BrokenPipeError, EOFError: The process ended.
        """
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            self._process.kill()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            chart = json.dumps(spec).encode()
            self._requests.write(image_worker.REQUEST.pack(limit_s, len(chart)) + chart)
            self._requests.flush()
            is_drawn, *lengths = image_worker.REPLY.unpack(self._read(image_worker.REPLY.size))
            text, png = (self._read(length) for length in lengths)
        except (BrokenPipeError, EOFError):
            if is_late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
        if not is_drawn:
            raise ImageError(_shorten(text.decode().splitlines()))
        return Image(text.decode(), png)

    def describe_end(self) -> str:
        """Return how the process ended, with its last message."""
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._messages.seek(0)
        message = self._messages.read().decode(errors="replace")
        # A panic begins with its reason, a traceback ends with it.
        lines = message.splitlines() if code < 0 else message.splitlines()[-1:]
        return f"{how}: {_shorten(lines)}" if message.strip() else how

    def _read(self, length: int) -> bytes:
        read = self._replies.read(length)
        if len(read) < length:
            raise EOFError
        return read


def _shorten(lines: list[str]) -> str:
    """Return the first two lines of a message as one line, without control characters."""
    text = " ".join([line.strip() for line in lines if line.strip()][:2])
    text = "".join(each if each.isprintable() else "?" for each in text)
    return text[:SHOWN] + ("..." if len(text) > SHOWN else "")


def _end(process: subprocess.Popen[bytes], messages: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, messages):
        # A request that the process did not read is discarded.
        with suppress(BrokenPipeError):
            if file:
                file.close()
