"""Checksums of the stored outcomes of calls: SQLite has none for its pages."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import text

from calls.ledger.columns import JUDGMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from calls.ledger.database import LedgerDatabase

BATCH_ROWS: Final = 5_000
"""The rows that are in memory at a time."""

DAMAGED: Final = "damaged: "
"""The beginning of the reason why a stored outcome is not used."""

COLUMN_NAMES: Final = tuple(JUDGMENT_TYPES)

_SELECT: Final = f"SELECT {', '.join((*COLUMN_NAMES, 'checksum', 'seq'))} FROM ledger_judgments"  # noqa: S608

FIND: Final = text(f"{_SELECT} WHERE digest = :digest")


class LedgerCheck(NamedTuple):
    """What a check of a whole ledger found.

    Attributes:
        rows: The number of stored outcomes.
        damaged: The call and the model of each outcome that differs from its checksum.
        fault: What the database itself says about its file; None if nothing.
    """

    rows: int
    damaged: list[tuple[str, str]]
    fault: str | None


def checksum(row: Mapping[Any, Any]) -> str:
    """Return the checksum of the columns of `judgments`: 32 hexadecimal digits."""
    hashed = hashlib.sha256()
    for name, type_ in JUDGMENT_TYPES.items():
        value = row[name]
        if value is None:
            hashed.update(b"-")
            continue
        # SQLite and PostgreSQL return 0.0 for a 0 in a column of floating-point numbers.
        shown = repr(float(value)) if type_ == "DOUBLE" else str(value)
        content = shown.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(content))
        hashed.update(content)
    return hashed.hexdigest()[:32]


def is_damaged(row: Mapping[Any, Any]) -> bool:
    """Return whether a row of the ledger differs from its checksum.

    Rows that an earlier version writes at the same time have none.
    """
    if row["checksum"] is None:
        return False
    try:
        return bool(checksum(row) != row["checksum"])
    except (TypeError, ValueError):  # a value of another type
        return True


def describe_damage(digest: str) -> str:
    """Return the reason why a stored outcome is not used."""
    return f"{DAMAGED}the stored reply to call {digest[:12]} does not match its checksum"


def add_checksums(connection: Connection) -> None:
    """Give all rows a checksum that have none, in the transaction of the connection."""
    query = text(f"{_SELECT} WHERE checksum IS NULL AND digest > :after ORDER BY digest LIMIT :n")
    update = text("UPDATE ledger_judgments SET checksum = :checksum WHERE digest = :digest")
    after = ""
    while True:
        found = connection.execute(query, {"after": after, "n": BATCH_ROWS}).mappings().all()
        if not found:
            return
        after = found[-1]["digest"]
        connection.execute(
            update, [{"digest": row["digest"], "checksum": checksum(row)} for row in found]
        )


def check_ledger(database: LedgerDatabase) -> LedgerCheck:
    """Check every stored outcome, and the file of an SQLite database.

    Raises:
        LedgerError: The database cannot be read.
    """
    count, damaged = 0, []
    fault = database.find_fault()
    for row in _all_rows(database):
        count += 1
        if is_damaged(row):
            damaged.append((str(row["digest"]), str(row["model"])))
    return LedgerCheck(count, damaged, fault)


def _all_rows(database: LedgerDatabase) -> Iterator[Mapping[Any, Any]]:
    with database.streaming() as connection:
        result = connection.execute(text(_SELECT), execution_options={"yield_per": BATCH_ROWS})
        for rows in result.mappings().partitions(BATCH_ROWS):
            yield from rows
