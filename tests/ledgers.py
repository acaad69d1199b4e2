"""A ledger in memory, for everything about a judge but its warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.engines.judge.judgment import StoredReply

if TYPE_CHECKING:
    from evaluators.engines.judge.judgment import Judgment
    from evaluators.flows.protocols import Origin


class MemoryLedger:
    """Keeps judgments by digest; one operation each, so that threads do not disturb it.

    Attributes:
        kept: Every judgment, in the order in which they came.
        asks: The digest of each origin's question.
    """

    def __init__(self) -> None:
        self.kept: list[Judgment] = []
        self.asks: dict[Origin, str] = {}
        self._held: dict[str, StoredReply] = {}

    def find(self, digest: str) -> StoredReply | None:
        """What came of a question."""
        return self._held.get(digest)

    def store(self, judgment: Judgment) -> None:
        """Keep a judgment."""
        self.kept.append(judgment)
        reply = StoredReply(judgment.reply, judgment.status, judgment.error)
        self._held[judgment.call.digest] = reply

    def record_call(self, origin: Origin, digest: str) -> None:
        """Remember who asked."""
        self.asks[origin] = digest

    @property
    def last(self) -> Judgment:
        """The judgment that was kept last."""
        return self.kept[-1]
