"""Ctrl-C and SIGTERM: the first signal cancels the command, the second one ends the process."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

NOTICE_S: Final = 2.0
"""After this time a command that is still being cancelled says so."""

REPEAT_S: Final = 0.1
"""A signal that follows another within this time is the same one: `timeout` sends it to the process
and to its group."""

AGAIN_S: Final = 0.05
"""How long after Python dropped an interrupt it is raised again."""

TRACKER: Final = "multiprocessing.resource_tracker"

SHOW_CURSOR: Final = b"\x1b[?25h"

_LOCK = threading.RLock()
_received: list[signal.Signals] = []
_latest: list[float] = []
_sent_again: list[int] = []
_sockets: list[socket.socket] = []
_writers: list[socket.socket] = []


def ignore() -> None:
    """Ignore signals: Python restores their default actions while it ends.

    A signal would then end the process with its own number in place of the exit code.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def install() -> None:
    """Handle both signals in this process until it ends; for the main thread.

    Python writes each signal to a socket when it arrives, even while C code runs and whatever
    handlers are installed: Dagster replaces them while it runs an asset. A thread reads the socket.
    """
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in SIGNALS:
        # Also where the parent process lets it ignore the signal: a sender means it,
        # and Dagster, while it runs an asset, handles both as well.
        signal.signal(number, signal.default_int_handler)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_parent)
    # The resource tracker need not list what it removes after a second signal.
    filters = [os.environ.get("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning"]
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, filters))
    raise_dropped_interrupts()
    _sockets.append(reader)
    _writers.append(writer)
    threading.Thread(target=_watch, daemon=True).start()


def raise_dropped_interrupts() -> None:
    """Raise an interrupt again that Python dropped.

    Python drops exceptions in callbacks of weak references and in `__del__`; each import has such a
    callback. The command, or the step, would go on to its end.
    """

    def receive(dropped: sys.UnraisableHookArgs) -> None:
        is_error = issubclass(dropped.exc_type, Exception | GeneratorExit | SystemExit)
        if is_error:
            sys.__unraisablehook__(dropped)
            return
        # Later and in another thread: here it would be dropped again.
        timer = threading.Timer(AGAIN_S, _send_again)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = receive


def _send_again() -> None:
    with _LOCK:
        _sent_again.append(signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)


def block() -> None:
    """Hold both signals back until `unblock`, also in a program that replaces this process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def unblock() -> None:
    """Handle the signals that were held back, and all later ones.

    Raises:
        KeyboardInterrupt: There was one.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def received_signal() -> signal.Signals | None:
    """Return the first signal that this process received; None without one."""
    _read_signals()
    return _received[0] if _received else None


def exit_code(number: signal.Signals) -> int:
    """Return the exit code of a command that a signal ended: 130 or 143."""
    return 128 + number


def kill_workers() -> None:
    """Kill the worker processes of this process, so that it does not wait for their work."""
    for worker in multiprocessing.active_children():
        worker.kill()


def _watch() -> None:
    while True:
        select.select(_sockets, [], [])
        _read_signals()


def _read_signals() -> None:
    """Read the signals that came; the first thread that asks must know of them."""
    with _LOCK:
        numbers = b""
        for reader in _sockets:
            with suppress(BlockingIOError):
                numbers += reader.recv(64)
        while _sent_again and bytes(_sent_again[:1]) in numbers:
            # It is not a second signal.
            numbers = numbers.replace(bytes([_sent_again.pop(0)]), b"", 1)
        caught = [number for number in SIGNALS if number in numbers]
        if not caught:
            return
        now = time.monotonic()
        is_first = not _received
        if is_first:
            _received.append(caught[0])
            threading.Thread(target=_announce, daemon=True).start()
        elif now - _latest[-1] > REPEAT_S:
            _end(caught[0])
        _latest.append(now)


def _announce() -> None:
    # Loaded now: the second signal must not wait for an import.
    import psutil  # noqa: F401

    time.sleep(NOTICE_S)
    sys.stderr.write("cancelling; a second Ctrl-C ends the process at once\n")
    sys.stderr.flush()


def _end(number: signal.Signals) -> None:
    """End the process without any cleanup: locks end with it, and the next run removes files."""
    try:
        _kill_descendants()
        if os.isatty(2):
            # A progress bar hides the cursor.
            os.write(2, SHOW_CURSOR)
    finally:
        os._exit(exit_code(number))


def _kill_descendants() -> None:
    """Kill all processes that this process started, and theirs."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            # Python's resource tracker removes what the others leave behind, and then ends.
            if TRACKER not in " ".join(process.cmdline()):
                process.kill()


def _forget_parent() -> None:
    """Keep signals of a forked process from being taken for those of its parent."""
    global _LOCK  # noqa: PLW0603 - a thread of the parent may have held it
    _LOCK = threading.RLock()
    signal.set_wakeup_fd(-1)
    _received.clear()
    _sent_again.clear()
    _sockets.clear()
