"""Panels of judges: each request goes to the member that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from calls.call import Origin
    from evaluators.flows.protocols import Judge, Panel
    from evaluators.flows.requests import Ask

PANEL = "panel "
"""The beginning of the identity of a panel."""


class PanelJudge:
    """Passes each judge call on to a member of the panel."""

    def __init__(self, members: Sequence[Judge], identity: str) -> None:
        self.identity = identity
        self._members = members

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Start a call of the member that the request names; see `protocols.Judge`."""
        return self._members[request.member].ask(request, origin)


def panel_identity(panel: Panel, members: Sequence[str]) -> str:
    """Return what the verdicts of a panel depend on, a part of signatures.

    Args:
        panel: The panel.
        members: The identities of its members.
    """
    escalation = f" escalate {panel.margin:g}" if panel.escalate else ""
    return f"{PANEL}{panel.combine}{escalation} [{'; '.join(members)}]"


class JointProgress:
    """Adds up the finished calls of several judges."""

    def __init__(self, show: Callable[[int], None], members: int) -> None:
        self._show = show
        self._finished = [0] * members

    def of(self, member: int) -> Callable[[int], None]:
        """Return what a member calls with the number of its finished calls."""

        def show(finished: int) -> None:
            self._finished[member] = finished
            self._show(sum(self._finished))

        return show
