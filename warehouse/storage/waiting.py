"""Says for whom a process waits: once after a short time, then at growing intervals."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logging.getLogger(__name__)

PREFIX: Final = "waiting: "

FIRST_S: Final = 2.0
LONGEST_S: Final = 600.0
"""The first and the longest interval; each is four times as long as the one before."""


class Waiting:
    """A wait that begins now."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._interval = FIRST_S
        self._next = self._began + FIRST_S

    def tell(self, describe: Callable[[], str]) -> None:
        """Log what the process waits for, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        waited = now - self._began
        LOG.warning("%s%s; waited %.0f s, Ctrl-C cancels", PREFIX, describe(), waited)
        self._interval = min(4 * self._interval, LONGEST_S)
        self._next = now + self._interval
