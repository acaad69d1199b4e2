"""Errors of exports to other programs."""

from __future__ import annotations

from records.packages import install_command


class ExportFailed(Exception):  # noqa: N818
    """Results could not be exported; the message is meant for the user."""


def missing_extra(extra: str) -> ExportFailed:
    """Return the error about packages that are not installed."""
    return ExportFailed(
        f"this export needs packages that are not installed: {install_command(extra)}"
    )
