"""Judge calls for tests, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from calls.call import Origin
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply, faults_by_id
from evaluators.flows.requests import Ask
from evaluators.outcome import Unscored
from tests.support.ledgers import FolderLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.judge_server import JudgeServer

KEY = "sk-very-secret-0123456789"
KEY_ENV = "SCORELINE_TEST_KEY"
PAGE = {"content-type": "text/html"}


class Verdict(Reply):
    """One verdict."""

    reasoning: str
    verdict: Literal["yes", "no"]


class Claim(Reply):
    """A verdict on a claim."""

    id: str
    supported: bool


class Claims(Reply):
    """Verdicts on claims."""

    claims: list[Claim]


IDS = ("s1", "s2")


def ids_given(reply: Claims) -> Sequence[str]:
    """What is wrong with verdicts that must be on `IDS`."""
    return faults_by_id(reply.claims, lambda each: each.id, lambda each: each.supported, IDS)


PATIENCE_S = 60.0
YES = '{"reasoning": "It is so.", "verdict": "yes"}'
BOTH = '{"claims": [{"id": "s1", "supported": true}, {"id": "s2", "supported": false}]}'


def about(text: str, replicate: int = 0) -> Ask[Verdict]:
    """A question that differs by its text."""
    return Ask(Verdict, Instruction("Is it so?").prompt(text=text), None, replicate)


def claims() -> Ask[Claims]:
    """A question about the claims `IDS`."""
    shown = {key: f"claim {key}" for key in IDS}
    return Ask(Claims, Instruction("Which are supported?").prompt(claims=shown), ids_given)


def origin(question: str = "q1", *, system: str = "s", step: int = 0) -> Origin:
    """Where a question comes from."""
    return Origin("b", system, question, "e", step)


def settings(server: JudgeServer, **changes: Any) -> JudgeSettings:
    """Settings for a server, with waits of milliseconds."""
    plain = {"model": "openai/judge", "api_base": server.url, "backoff_s": 0.001, "timeout_s": 20}
    return JudgeSettings(**plain | changes)


def put(
    server: JudgeServer,
    request: Ask[Any] | None = None,
    ledger: FolderLedger | None = None,
    *,
    after: str | None = None,
    **changes: Any,
) -> tuple[Reply | Unscored, FolderLedger]:
    """Make one call with a new judge; return the reply or the reason, and the ledger.

    `after` is the text of a call before it: the first call of all is checked more strictly.
    """
    kept = FolderLedger() if ledger is None else ledger
    with LedgerJudge(settings(server, **changes), kept) as judge:
        if after is not None:
            judge.ask(about(after), origin(after)).result(PATIENCE_S)
        future = judge.ask(about("a") if request is None else request, origin())
        failure = future.exception(PATIENCE_S)
    if failure is None:
        reply: Reply = future.result()
        return reply, kept
    if isinstance(failure, Unscored):
        return failure, kept
    raise failure
