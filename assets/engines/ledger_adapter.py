"""The warehouse's ledger in the form in which a judge uses it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evaluators.engines.judge.judgment import Held
from evaluators.outcome import Status

if TYPE_CHECKING:
    from evaluators.engines.judge.judgment import Judgment
    from evaluators.flows.protocols import Origin
    from warehouse.ledger.ledger import Ledger


class WarehouseLedger:
    """Judgments as rows: the two rooms do not know each other's values."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def held(self, digest: str) -> Held | None:
        """What came of a question, if it was put before."""
        found = self._ledger.held(digest)
        return None if found is None else Held(found.reply, Status(found.status), found.error)

    def keep(self, judgment: Judgment) -> None:
        """Keep a judgment, so that the end of this process does not lose it."""
        question = judgment.question
        self._ledger.keep(
            {
                "digest": question.digest,
                "model": question.model,
                "parameters": _json(dict(question.parameters)),
                "messages": _json(list(question.messages)),
                "reply_schema": _json(dict(question.reply_schema)),
                "replicate": question.replicate,
                "reply": judgment.reply,
                "status": judgment.status.value,
                "error": judgment.error,
                "attempts": judgment.attempts,
                "tokens_in": judgment.tokens_in,
                "tokens_out": judgment.tokens_out,
                "cost_usd": judgment.cost_usd,
                "latency_s": judgment.latency_s,
                "judged_at": judgment.judged_at.isoformat(timespec="microseconds"),
            }
        )

    def note(self, origin: Origin, digest: str) -> None:
        """Remember which sample's grading put which question."""
        self._ledger.note({**origin._asdict(), "digest": digest})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
