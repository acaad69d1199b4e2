"""The ledger before the judge: what is asked, what is not, and what a held reply means."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from calls.call import CallStatus
from calls.usage import CallUsage
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.engines.judge.judgment import parse_judgment
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.replay import NOT_ASKED, ReplayJudge
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.flows.protocols import Engines
from evaluators.flows.requests import Ask
from evaluators.flows.scheduler import Scheduler
from evaluators.outcome import JudgeError, ParseFailure, Status
from tests.evaluators.engines.judge.questions import YES, Verdict, about, origin, settings
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger
from warehouse.ledger.open import open_ledger
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from calls.call import Call, Origin, Outcome
    from evaluators.engines.judge.judgment import Parser
    from evaluators.flows.requests import Flow

SETTINGS = JudgeSettings(model="m")


class Scripted:
    """An asker with a scripted reply, once `go` is set."""

    spent_usd = 0.0
    refused_usd = None

    def __init__(self, text: str = YES, error: str | None = None) -> None:
        self.text = text
        self.error = error
        self.asked: list[Call] = []
        self.go = threading.Event()
        self.go.set()
        self.opened = 0
        self.closed = 0

    async def open(self) -> None:
        """Count."""
        self.opened += 1

    async def close(self) -> None:
        """Count."""
        self.closed += 1

    async def ask(self, call: Call, origin: Origin, parser: Parser) -> Outcome:  # noqa: ARG002
        """Answer with the text, or fail with the error."""
        self.asked.append(call)
        while not self.go.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.001)
        if self.error is not None:
            return CallUsage(attempts=2).outcome(call, Status.JUDGE_ERROR, error=self.error)
        return parse_judgment(CallUsage(attempts=1), call, self.text, parser)


def judge(asker: Scripted, ledger: FolderLedger, settings: JudgeSettings = SETTINGS) -> LedgerJudge:
    return LedgerJudge(settings, ledger, asker=asker)


def test_an_equal_question_is_asked_once_now_and_never_later() -> None:
    asker, ledger = Scripted(), FolderLedger()
    asker.go.clear()
    with judge(asker, ledger) as asking:
        futures = [asking.ask(about("a"), origin(f"q{n}")) for n in range(5)]
        other = asking.ask(about("b"), origin("q9"))
        asker.go.set()
        assert {future.result(5) for future in futures} == {other.result(5)}
        assert asking.ask(about("a"), origin("q10")).result(5).verdict == "yes"
        assert len(asker.asked) == 2
        assert asking.tally == {"asked": 2, "shared": 4, "held": 1, "scored": 2}
    with judge(asker, ledger) as asking:
        asking.ask(about("a"), origin()).result(5)
    assert (len(asker.asked), asker.opened, asker.closed) == (2, 1, 1)
    assert len(ledger.kept) == 2
    assert len(set(ledger.asks.values())) == 2
    assert sorted(ledger.asks) == sorted(map(origin, ["q0", "q1", "q2", "q3", "q4", "q9", "q10"]))


def test_replicates_are_questions_of_their_own() -> None:
    asker, ledger = Scripted(), FolderLedger()
    with judge(asker, ledger) as asking:
        for replicate in (0, 1, 2, 1):
            asking.ask(about("a", replicate), origin(step=replicate)).result(5)
    assert [question.replicate for question in asker.asked] == [0, 1, 2]


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "n"},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 9},
        {"structured_output": "off"},
    ],
)
def test_another_model_or_parameter_asks_again(changed: dict[str, Any]) -> None:
    asker, ledger = Scripted(), FolderLedger()
    for each in (SETTINGS, SETTINGS.model_copy(update=changed), SETTINGS):
        with judge(asker, ledger, each) as asking:
            asking.ask(about("a"), origin()).result(5)
    assert len(asker.asked) == 2
    assert SETTINGS.identity != SETTINGS.model_copy(update=changed).identity


def test_how_the_judge_is_reached_is_no_part_of_what_it_says() -> None:
    elsewhere = JudgeSettings(
        model="m", api_base="http://x", concurrency=1, budget_usd=1, timeout_s=1, api_key_env="K"
    )
    assert elsewhere.identity == SETTINGS.identity


def test_a_judge_error_is_asked_again_and_a_parse_failure_is_not() -> None:
    ledger = FolderLedger()
    failing, babbling, good = Scripted(error="timeout"), Scripted("Well."), Scripted()
    with judge(failing, ledger) as asking:
        assert isinstance(asking.ask(about("a"), origin()).exception(5), JudgeError)
    with judge(babbling, ledger) as asking:
        assert isinstance(asking.ask(about("a"), origin()).exception(5), ParseFailure)
    with judge(good, ledger) as asking:
        assert isinstance(asking.ask(about("a"), origin()).exception(5), ParseFailure)
    assert (len(failing.asked), len(babbling.asked), len(good.asked)) == (1, 1, 0)


def test_a_held_reply_is_read_again_so_that_another_check_costs_nothing() -> None:
    ledger = FolderLedger()
    strict = Ask(Verdict, about("a").prompt, lambda reply: [f"{reply.verdict} will not do"])
    with judge(Scripted(), ledger) as asking:
        reason = asking.ask(strict, origin()).exception(5)
    assert isinstance(reason, ParseFailure)
    assert reason.reason == "yes will not do"
    assert ledger.last.status is CallStatus.PARSE_FAILURE
    replay = ReplayJudge(SETTINGS, ledger)
    assert replay.ask(about("a"), origin()).result(0) == Verdict(
        reasoning="It is so.", verdict="yes"
    )
    assert isinstance(replay.ask(strict, origin()).exception(0), ParseFailure)


def test_a_replay_makes_no_calls() -> None:
    ledger = FolderLedger()
    replay = ReplayJudge(SETTINGS, ledger)
    missing = replay.ask(about("a"), origin()).exception(0)
    assert isinstance(missing, JudgeError)
    assert missing.reason == NOT_ASKED
    with judge(Scripted(error="rate_limit"), ledger) as asking:
        asking.ask(about("a"), origin()).exception(5)
    held = replay.ask(about("a"), origin()).exception(0)
    assert isinstance(held, JudgeError)
    assert held.reason == "rate_limit"


def test_a_defect_reaches_the_one_who_asked() -> None:
    def broken(_: Verdict) -> list[str]:
        raise ZeroDivisionError

    with judge(Scripted(), FolderLedger()) as asking:
        failure = asking.ask(Ask(Verdict, about("a").prompt, broken), origin()).exception(5)
        assert isinstance(failure, ZeroDivisionError)
        assert asking.ask(about("b"), origin()).result(5).verdict == "yes"


def test_a_ledger_that_cannot_keep_ends_the_run() -> None:
    class Full(FolderLedger):
        def store(self, judgment: Outcome, known: int = -1) -> None:  # noqa: ARG002
            raise OSError(28, f"no space left for {judgment.call.digest}")

    with judge(Scripted(), Full()) as asking:
        assert isinstance(asking.ask(about("a"), origin()).exception(5), OSError)


def test_closing_breaks_off_what_is_under_way_and_keeps_what_was_answered() -> None:
    asker, ledger = Scripted(), FolderLedger()
    threads = set(threading.enumerate())
    with judge(asker, ledger) as asking:
        asking.ask(about("a"), origin()).result(5)
        asker.go.clear()
        left = asking.ask(about("b"), origin())
        while len(asker.asked) < 2:
            pass
    assert left.cancelled()
    assert len(ledger.kept) == 1
    assert {thread.name for thread in set(threading.enumerate()) - threads} <= {"ledger"}


def test_a_flow_is_ended_by_a_judge_that_cannot_be_asked() -> None:
    class Down(Scripted):
        async def open(self) -> None:
            raise JudgeUnreachable("nobody there")

    def flow() -> Flow[str]:
        reply = yield about("a")
        return str(reply.verdict)

    with judge(Down(), FolderLedger()) as asking, pytest.raises(JudgeUnreachable, match="nobody"):
        list(Scheduler[str](Engines(judge=asking)).run([(origin(), flow()), (origin(), flow())]))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("failure", [None, JudgeUnreachable("nobody there")])
def test_no_more_calls_are_prepared_than_slots_before_the_first_outcome(
    failure: JudgeUnreachable | None,
) -> None:
    class Late(Scripted):
        async def open(self) -> None:
            """Come when told to, or not at all."""
            while not self.go.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.001)
            if failure is not None:
                raise failure

    asker, ledger = Late(), FolderLedger()
    asker.go.clear()
    with judge(asker, ledger, SETTINGS.model_copy(update={"concurrency": 2})) as asking:
        futures: list[Future[Any]] = []

        def ask() -> None:
            futures.extend(asking.ask(about(text), origin(text)) for text in "abcde")

        asks = threading.Thread(target=ask)
        asks.start()
        asks.join(0.3)
        assert asks.is_alive()
        assert len(ledger.asks) == 2
        asker.go.set()
        asks.join()
        assert [future.exception(5) for future in futures] == [failure] * 5
    assert len(asker.asked) == (5 if failure is None else 0)


def test_four_judges_at_once_record_all_that_is_billed(tmp_path: Path) -> None:
    """Nothing is asked but what is stored: neither by the first call nor by a check."""
    prices = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}
    with (
        JudgeServer(lambda _: Reply(content=YES, usage=(100, 20))) as server,
        ExitStack() as stack,
    ):
        judges = [
            stack.enter_context(
                LedgerJudge(settings(server, **prices), FolderLedger(tmp_path, f"run {n}"))
            )
            for n in range(4)
        ]
        futures = [each.ask(about(str(n)), origin(f"q{n}")) for n in range(40) for each in judges]
        for future in futures:
            future.result(60)
        assert server.count == 40
    with open_ledger(Warehouse(tmp_path / "warehouse.duckdb"), "later") as ledger:
        ledger.flush()
    found = Warehouse(tmp_path / "warehouse.duckdb").fetch(
        "SELECT count(*)::INTEGER, sum(cost_usd), sum(attempts)::INTEGER FROM judgments"
    )
    assert found.rows() == [(40, pytest.approx(40 * (100 * 1.0 + 20 * 2.0) / 1e6), 40)]
