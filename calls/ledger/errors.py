"""Errors of the ledger.

LedgerError
├── LedgerFull         the disk is full
├── LedgerLocked       another process writes for longer than the patience
├── LedgerTooNew       a later version of Scoreline wrote the tables
└── LedgerUnreachable  the server with the tables cannot be reached
"""

# ruff: noqa: N818 - the base class says that these are errors

from __future__ import annotations

from calls.errors import CallsError


class LedgerError(CallsError):
    """The ledger cannot be used."""


class LedgerFull(LedgerError):
    """The disk is full."""


class LedgerLocked(LedgerError):
    """Another process writes the ledger for longer than the patience."""


class LedgerTooNew(LedgerError):
    """A later version of Scoreline wrote the ledger."""


class LedgerUnreachable(LedgerError):
    """The server with the ledger cannot be reached."""
