"""The judge of a rescoring: it answers from the ledger alone."""

from __future__ import annotations

from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.judgment import complete, to_reply
from evaluators.engines.judge.reachable import skip_reason
from evaluators.engines.judge.settings import JudgeCallBuilder
from evaluators.outcome import JudgeError, JudgeSkipped

if TYPE_CHECKING:
    from calls.call import Ledger, Origin
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.requests import Ask
    from evaluators.outcome import Unscored

NOT_ASKED = "not asked yet: run without --no-judge"


class ReplayJudge:
    """Answers from the ledger only; used to rescore without judge calls."""

    def __init__(self, settings: JudgeSettings, ledger: Ledger) -> None:
        self.identity = settings.identity
        self._settings = settings
        self._builder = JudgeCallBuilder(settings)
        self._ledger = ledger

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Answer from the ledger.

        A call that was never made gets a `JudgeError`, or `JudgeSkipped` if the judge is optional
        and its key is missing.
        """
        stored = self._ledger.find(self._builder.of(request, origin).digest)
        future: Future[Any] = Future()
        complete(future, self._unasked() if stored is None else to_reply(stored, request))
        return future

    def _unasked(self) -> Unscored:
        skipped = self._skip_reason
        return JudgeError(NOT_ASKED) if skipped is None else JudgeSkipped(skipped)

    @cached_property
    def _skip_reason(self) -> str | None:
        return skip_reason(self._settings)
