"""The processes that make judge calls: how others see that one of them is dead.

A claim is a lease: it holds as long as the heartbeat of its owner is heard. No clock is compared.
A process that waits measures with its own monotonic clock how long a counter has not changed, so a
clock that is wrong or set back shortens and prolongs no lease.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from sqlalchemy import Connection, Row

    OwnerRow: TypeAlias = Row[tuple[str, int, int, str, str]]

BEAT_S: Final = 3.0
LEASE_S: Final = 20.0
"""The seconds without a heartbeat after which an owner counts as dead."""


@dataclass(frozen=True, slots=True)
class Owner:
    """This process, as the owner of claims and reservations; each open ledger is another one."""

    id: str

    @classmethod
    def register(cls, connection: Connection) -> Owner:
        """Add a new owner."""
        owner = cls(uuid4().hex)
        owner.add(connection)
        return owner

    def add(self, connection: Connection) -> None:
        """Add the row of this owner."""
        connection.execute(
            text("INSERT INTO ledger_owners VALUES (:owner, 0, :pid, :machine, :host)"),
            {
                "owner": self.id,
                "pid": os.getpid(),
                "machine": machine(),
                "host": socket.gethostname(),
            },
        )

    def beat(self, connection: Connection) -> None:
        """Renew the lease; if others took this process for dead, register again."""
        renewed = connection.execute(
            text("UPDATE ledger_owners SET beats = beats + 1 WHERE owner = :owner"),
            {"owner": self.id},
        )
        if renewed.rowcount == 0:
            self.add(connection)

    def leave(self, connection: Connection) -> None:
        """Release all claims; amounts still set aside are of calls that were not made."""
        connection.execute(
            text("DELETE FROM ledger_reservations WHERE owner = :owner"), {"owner": self.id}
        )
        bury(connection, self.id)


class Watch:
    """What this process has seen of the heartbeats of others."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def is_dead(self, owner: OwnerRow) -> bool:
        """Return whether an owner is dead, from its row in `ledger_owners`."""
        if owner.machine == machine() and not _pid_exists(owner.pid):
            return True
        beats, since = self._seen.get(owner.owner, (None, 0.0))
        if beats != owner.beats:
            self._seen[owner.owner] = (owner.beats, time.monotonic())
            return False
        return time.monotonic() - since > LEASE_S


def find_living(read: Callable[[], Sequence[OwnerRow]]) -> OwnerRow | None:
    """Return an owner that sends heartbeats; None, after the time of a lease, if none does.

    Args:
        read: Returns the rows of `ledger_owners`.
    """
    watch = Watch()
    first: dict[str, int] = {}
    while owners := [each for each in read() if not watch.is_dead(each)]:
        for each in owners:
            if first.setdefault(each.owner, each.beats) != each.beats:
                return each
        time.sleep(BEAT_S / 3)
    return None


def bury_the_dead(connection: Connection, watch: Watch) -> None:
    """Remove the owners that are dead."""
    for owner in connection.execute(text("SELECT * FROM ledger_owners")).all():
        if watch.is_dead(owner):
            bury(connection, owner.owner)


def bury(connection: Connection, owner: str) -> None:
    """Remove an owner with its claims; its calls may be billed, so they count as spent."""
    values = {"owner": owner, "hour": hour()}
    spent = (
        "INSERT INTO ledger_spending SELECT run_id, :hour, sum(usd) FROM ledger_reservations "
        "WHERE owner = :owner GROUP BY run_id "
        "ON CONFLICT (run_id, hour) DO UPDATE SET usd = ledger_spending.usd + excluded.usd"
    )
    for statement in (
        spent,
        "DELETE FROM ledger_reservations WHERE owner = :owner",
        "DELETE FROM ledger_claims WHERE owner = :owner",
        "DELETE FROM ledger_owners WHERE owner = :owner",
    ):
        connection.execute(text(statement), values)


def hour(ago_s: float = 0.0) -> str:
    """Return the hour (UTC) some seconds ago, such as `2026-01-02T03`."""
    return time.strftime("%Y-%m-%dT%H", time.gmtime(time.time() - ago_s))


def machine() -> str:
    """Return what two processes have in common that see each other's process numbers.

    Containers share a kernel but not these numbers. Empty where there is no such thing: then only
    the heartbeat counts.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _pid_exists(pid: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(pid))
