"""What judgments cost, over a real server, and a budget that holds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaluators.engines.judge.cost import Budget, Prices
from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.outcome import JudgeError, ParseFailure, Status
from tests.evaluators.engines.judge.questions import YES, Verdict, about, origin, put, settings
from tests.judge_server import JudgeServer, Said
from tests.ledgers import MemoryLedger

PRICED = {"usd_per_million_in": 100.0, "usd_per_million_out": 1000.0}
GOOD = Said(content=YES, usage=(100, 20))
PRICE = (100 * 100 + 20 * 1000) / 1e6


def test_the_price_counts_every_attempt_that_was_answered() -> None:
    busy = Said(status=429, content="busy")
    with JudgeServer([busy, Said(content="Well."), busy, GOOD]) as server:
        _, ledger = put(server, **PRICED)
    assert (ledger.last.attempts, ledger.last.cost_usd) == (4, pytest.approx(2 * PRICE))
    assert (ledger.last.tokens_in, ledger.last.tokens_out) == (200, 40)


def test_litellms_price_is_used_for_a_model_that_it_knows() -> None:
    import litellm

    with JudgeServer([GOOD]) as server:
        _, ledger = put(server, model="openai/gpt-4o")
    listed = litellm.model_cost["gpt-4o"]
    wanted = 100 * listed["input_cost_per_token"] + 20 * listed["output_cost_per_token"]
    assert ledger.last.cost_usd == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("said", "prices", "tokens"),
    [(GOOD, {}, 100), (Said(content=YES, usage=None), PRICED, None)],
)
def test_an_unknown_price_is_null_and_not_nought(
    said: Said, prices: dict[str, Any], tokens: int | None
) -> None:
    with JudgeServer([said]) as server:
        _, ledger = put(server, **prices)
    assert (ledger.last.cost_usd, ledger.last.tokens_in) == (None, tokens)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_budget_is_never_exceeded_and_a_later_run_goes_on(concurrency: int) -> None:
    ledger = MemoryLedger()
    budget = 30.5 * PRICE
    questions = [(about(f"text {number}"), origin(f"q{number}")) for number in range(60)]
    with JudgeServer(lambda _: GOOD, probe=lambda _: GOOD) as server:
        plain = settings(
            server, budget_usd=budget, concurrency=concurrency, max_tokens=20, **PRICED
        )
        with LedgerJudge(plain, ledger) as judge:
            futures = [judge.ask(*question) for question in questions]
            failures = [future.exception(30) for future in futures]
            spent = judge.spent_usd
        paid = [each for each in ledger.kept if each.status is Status.SCORED]
        assert spent == pytest.approx((len(paid) + 1) * PRICE)  # one is the probe
        assert spent <= budget
        assert 20 <= len(paid) < 30
        refused = [failure for failure in failures if failure is not None]
        assert len(refused) == 60 - len(paid)
        assert all(isinstance(failure, JudgeError) for failure in refused)
        assert {str(failure)[:7] for failure in refused} == {"budget:"}
        assert server.count == len(paid)
        free = settings(server, max_tokens=20, **PRICED)
        with LedgerJudge(free, ledger) as judge:
            again = [judge.ask(*question).exception(30) for question in questions]
        assert set(map(type, again)) == {type(None)}
        assert server.count == 60


def test_a_call_that_was_broken_off_counts_as_paid() -> None:
    slow = Said(content=YES, delay=2)
    with JudgeServer([slow, slow], probe=lambda _: GOOD) as server:
        most = (2048 * 1000 + 500 * 100) / 1e6
        plain = settings(server, budget_usd=1.5 * most, timeout_s=1, max_attempts=5, **PRICED)
        with LedgerJudge(plain, MemoryLedger()) as judge:
            failure = judge.ask(about("a"), origin()).exception(30)
            assert judge.spent_usd > most / 2
        assert server.count == 1
    assert isinstance(failure, JudgeError)
    assert failure.reason.startswith("budget: ")


def test_a_budget_without_a_price_is_refused_with_the_setting_to_give() -> None:
    with JudgeServer() as server:
        with pytest.raises(BadJudgeSettings, match=r"judge\.usd_per_million_in"):
            put(server, budget_usd=1.0)
        assert (server.count, len(server.probes)) == (0, 0)
    half = JudgeSettings(model="openai/judge", usd_per_million_in=1.0)
    with pytest.raises(BadJudgeSettings, match="go together"):
        Prices.of(half)


def test_a_call_waits_for_room_that_others_will_leave() -> None:
    async def scenario() -> tuple[bool, bool, bool]:
        budget = Budget(1.0)
        assert await budget.reserve(0.9)
        waiting = asyncio.create_task(budget.reserve(0.9))
        await asyncio.sleep(0)
        pending = not waiting.done()
        await budget.settle(0.9, 0.05)
        fits = await waiting
        await budget.settle(0.9, 0.9)
        return pending, fits, await budget.reserve(0.1)

    assert asyncio.run(scenario()) == (True, True, False)


def test_seeds_count_on_with_replicates() -> None:
    with JudgeServer(lambda _: GOOD) as server:
        for replicate in (0, 3):
            reply, _ = put(server, about("a", replicate), seed=7)
            assert isinstance(reply, Verdict | ParseFailure)
        assert [each["seed"] for each in server.requests] == [7, 10]
