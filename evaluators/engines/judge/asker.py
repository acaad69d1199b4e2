"""The protocol of whatever answers judge calls: a model, or a file of recorded replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from calls.call import Call, Origin, Outcome
    from evaluators.engines.judge.judgment import Parser


class Asker(Protocol):
    """Answers judge calls; used on one event loop."""

    @property
    def refused_usd(self) -> float | None:
        """What the cheapest call that the budget refused would have set aside; None without one."""

    async def open(self) -> None:
        """Check that the judge can be called; raise `JudgeFailure` if not."""

    async def ask(self, call: Call, origin: Origin, parser: Parser) -> Outcome:
        """Call until there is a judgment; raise `JudgeFailure` if no call can succeed."""

    async def close(self) -> None:
        """Close connections."""
