"""Log lines: characters that cannot be seen are escapes, as in all that people read.

Names come from outside, and so does what systems write to standard error.
"""

from __future__ import annotations

import logging

from warehouse.foreign_text import show_hidden


class VisibleFormatter(logging.Formatter):
    """Formats a line without hidden characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return show_hidden(super().format(record))


def escape_log_lines() -> None:
    """Escape the lines of this process, unless its user has configured where they go."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(VisibleFormatter())
