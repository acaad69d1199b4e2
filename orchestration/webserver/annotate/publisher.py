"""Publishes labels soon after they were saved, several of them together."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assets.analysis.calibration import publish_labels
from orchestration.webserver.annotate.labelling import PATIENCE_S
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from assets.project import Project

PAUSE_S = 1.0
"""How long further labels are waited for."""


class Publisher:
    """A thread that publishes the benchmarks whose labels have changed.

    If it cannot, because a run holds the warehouse or the disk is full, it tries again.
    """

    def __init__(self, project: Project) -> None:
        """Publish the labels of a project, once started."""
        self._project = project
        self._changed: set[str] = set()
        self._publishing: set[str] = set()
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publisher")
        self.published_at: datetime | None = None
        """When labels were last published (UTC)."""
        self.error: str | None = None
        """Why the last publication failed; None if it did not."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Publish what is left, once, and end the thread."""
        self._ending.set()
        self._wanted.set()
        self._thread.join()

    def add(self, benchmark: str) -> None:
        """Publish the labels of a benchmark soon."""
        with self._lock:
            self._changed.add(benchmark)
        self._wanted.set()

    @property
    def is_pending(self) -> bool:
        """Whether there are labels that are not published yet."""
        with self._lock:
            return bool(self._changed or self._publishing)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            is_last = self._ending.wait(PAUSE_S)
            with self._lock:
                self._publishing, self._changed = self._changed, set()
            is_done = not self._publishing or self._publish(self._publishing)
            with self._lock:
                if not is_done:
                    self._changed |= self._publishing
                    self._wanted.set()
                self._publishing = set()
            if is_last:
                return

    def _publish(self, names: set[str]) -> bool:
        """Publish benchmarks; return whether that worked."""
        try:
            warehouse = self._project.open_warehouse(PATIENCE_S)
            publish_labels(warehouse, self._project, sorted(names))
        except WarehouseError as error:
            self.error = str(error)
            return False
        self.error, self.published_at = None, datetime.now(UTC)
        return True
