"""Checks batches against their expectations in a process that has Great Expectations loaded.

Importing Great Expectations takes seconds. They pass in the worker process while the run reads
its files.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

from warehouse.errors import WarehouseError
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Batch, Verdict

OUTPUT_SHOWN = 2_000
"""The characters of the worker's output that an error message quotes."""

NICENESS = 10
"""The worker's priority: loading must not take a core from the run that reads its files."""


class Validator:
    """A pool of one worker process, which is started once and ends with this process."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._output: IO[str] | None = None
        self._opened = ExitStack()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the worker, which loads Great Expectations in the background."""
        with self._lock:
            self._started_pool()

    def validate(self, warehouse: Warehouse, batches: Sequence[Batch]) -> list[Verdict]:
        """Return one verdict for each expectation, in the order of the batches.

        The warehouse with the rows is locked for reading meanwhile.

        Raises:
            WarehouseError: An expectation cannot be built, or the worker ended.
        """
        if not batches:
            return []
        with self._lock:
            pool = self._started_pool()
            try:
                return pool.submit(_validate, warehouse, batches).result()
            except BrokenProcessPool as error:
                output = self._read_output()
                self.close()
                message = f"the process that validates tables ended: {output}"
                raise WarehouseError(message) from error

    def close(self) -> None:
        """End the worker, if there is one."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
        self._opened.close()
        self._output = None

    def _started_pool(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # A file, not a pipe: nothing reads it while the worker runs.
            folder = self._opened.enter_context(scratch_folder(Path(tempfile.gettempdir())))
            output = folder / "output.txt"
            self._output = self._opened.enter_context(
                output.open("w+", encoding="utf-8", errors="replace")
            )
            with _isolated_start():
                self._pool = ProcessPoolExecutor(
                    1, multiprocessing.get_context("spawn"), _initialize, (str(output),)
                )
                # The pool starts its process with its first task.
                self._pool.submit(os.getpid)
            # Processes of multiprocessing close their queues (10) and join their children, in that
            # order, before they shut down their pools.
            Finalize(None, self.close, exitpriority=20)
        return self._pool

    def _read_output(self) -> str:
        if self._output is None:
            return ""
        self._output.seek(0)
        return self._output.read()[-OUTPUT_SHOWN:].strip() or "it wrote nothing"


VALIDATOR = Validator()
"""The validator of this process: Great Expectations is loaded once, however many runs there are."""


@contextmanager
def _isolated_start() -> Iterator[None]:
    """Keep a process that starts now from importing the script and the current folder.

    Spawned processes import the main script again. Without a `__main__` guard it would run twice.
    They inherit the signal mask: Ctrl-C is for this process, which ends them.
    """
    main, safe_path = sys.modules["__main__"], os.environ.get("PYTHONSAFEPATH")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        sys.modules["__main__"] = main
        if safe_path is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = safe_path


def _initialize(output: str) -> None:
    """Prepare the worker: redirect its output to a file, and load Great Expectations."""
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    Path(output).unlink()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # The library leaves nothing to clean up, and unloading it would delay the end of the run.
    atexit.register(os._exit, 0)
    warnings.simplefilter("ignore")
    os.nice(NICENESS)
    # Modules are not garbage: searching them takes a sixth of the loading time.
    gc.disable()
    import great_expectations  # noqa: F401 - loaded before the first task

    from warehouse import store  # noqa: F401

    gc.freeze()
    gc.enable()


def _end_with_parent() -> None:
    """End the worker when its parent was killed; the pool itself does not notice that."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _validate(warehouse: Warehouse, batches: Sequence[Batch]) -> list[Verdict]:
    from warehouse.validation.gx_engine import Session, build

    for batch in batches:
        for each in batch.expectations:
            try:
                build(each)
            except (ValueError, TypeError, KeyError) as error:
                raise WarehouseError(
                    f"the expectation {each.name!r} of {batch.table!r} cannot be built: {error}"
                ) from error
    with warehouse.reading() as connection:
        session = Session(connection)
        return [verdict for batch in batches for verdict in session.validate(batch)]
