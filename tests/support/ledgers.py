"""The real ledger in a folder of its own, for everything about a judge but its warehouse."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from typing import TYPE_CHECKING

from assets.engines import WarehouseLedger
from calls.ledger.ledger import Ledger
from warehouse.ledger.open import WarehouseTables
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from calls.call import Origin, Outcome


class FolderLedger(WarehouseLedger):
    """A ledger that also tells what was stored in it; its folder goes with it.

    Attributes:
        kept: Every judgment that was stored, in order.
        asks: The digest of each origin's call.
    """

    def __init__(self, folder: Path | None = None, run_id: str = "run") -> None:
        self.kept: list[Outcome] = []
        self.asks: dict[Origin, str] = {}
        self._own = Path(mkdtemp(prefix="ledger-")) if folder is None else None
        home = folder or self._own or Path()
        self.ledger = Ledger(WarehouseTables(Warehouse(home / "warehouse.duckdb")), run_id)
        super().__init__(self.ledger)

    async def store(self, judgment: Outcome, known: int = -1) -> None:
        """Store a judgment."""
        await super().store(judgment, known)
        self.kept.append(judgment)

    def record_call(self, origin: Origin, digest: str) -> None:
        """Record who needed a call."""
        super().record_call(origin, digest)
        self.asks[origin] = digest

    @property
    def last(self) -> Outcome:
        """The judgment that was stored last."""
        return self.kept[-1]

    def __del__(self) -> None:
        # The last reference may be one of the thread that `close` waits for.
        Thread(target=_close, args=(self.ledger, self._own)).start()


def _close(ledger: Ledger, folder: Path | None) -> None:
    ledger.close()
    if folder is not None:
        shutil.rmtree(folder)
