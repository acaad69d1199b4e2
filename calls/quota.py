"""Quotas: what all processes of a project may spend together, and how often they may call."""

from __future__ import annotations

from typing import Protocol


class Quota(Protocol):
    """Counts money and calls of all processes of a project; safe to use from several threads."""

    async def reserve(
        self,
        *,
        run_usd: float | None,
        day_usd: float | None,
        least: float,
        enough: float,
        most: float,
    ) -> tuple[str, float] | bool:
        """Set aside the cost of a call, in US dollars.

        It gets its highest possible cost if that is free, or else enough for several long replies.
        The last call gets the rest, as long as a usual reply fits.

        Args:
            run_usd: The budget of the run; None for no limit.
            day_usd: The budget of all runs of the project for 24 hours, for judges or for one
                system; None for no limit.
            least: The cost with a reply of the usual length: with less, the call is not made.
            enough: The cost with a reply that is several times longer.
            most: The highest possible cost.

        Returns:
            The identity of the reservation and an amount between `least` and `most`; or, if the
            budgets do not allow one, whether calls in flight may leave enough.
        """

    def settle(self, reservation: str | None, usd: float) -> None:
        """Record the cost of a call, in place of the amount that was set aside for it, if any."""

    async def start(self, rate: str, per_minute: float, amount: float) -> float:
        """Take units of a rate and return 0, or return the seconds to wait before trying again."""

    def spent_usd(self) -> float:
        """Return what the run has spent in US dollars, including calls that may be billed."""
