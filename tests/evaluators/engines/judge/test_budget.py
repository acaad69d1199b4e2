"""What judgments cost, over a real server, and a budget that holds."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from calls.budget import Budget, Claim, Granted, UsageHistory, format_usd, over_budget_reason
from calls.call import CallStatus
from calls.prices import Prices
from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.prices import prices_of
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.outcome import JudgeError, ParseFailure, Status
from tests.evaluators.engines.judge.questions import YES, Verdict, about, origin, put, settings
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

PRICED = {"usd_per_million_in": 100.0, "usd_per_million_out": 1000.0}
GOOD = Reply(content=YES, usage=(100, 20))
PRICE = (100 * 100 + 20 * 1000) / 1e6


@takes_minutes
def test_the_price_counts_every_attempt_that_was_answered() -> None:
    busy = Reply(status=429, content="busy")
    with JudgeServer([busy, Reply(content="Well."), busy, GOOD]) as server:
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
    [(GOOD, {}, 100), (Reply(content=YES, usage=None), PRICED, None)],
)
def test_an_unknown_price_is_null_and_not_nought(
    said: Reply, prices: dict[str, Any], tokens: int | None
) -> None:
    with JudgeServer([said]) as server:
        _, ledger = put(server, **prices)
    assert (ledger.last.cost_usd, ledger.last.tokens_in) == (None, tokens)


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_budget_is_never_exceeded_and_a_later_run_goes_on(concurrency: int) -> None:
    ledger = FolderLedger()
    budget = 30.5 * PRICE
    with JudgeServer(lambda _: GOOD) as server:
        limited = settings(
            server, budget_usd=budget, concurrency=concurrency, max_tokens=20, **PRICED
        )
        spent, failures = judge_texts(limited, ledger, 60)
        paid = [each for each in ledger.kept if each.status is CallStatus.SCORED]
        assert spent == pytest.approx(len(paid) * PRICE)
        assert spent <= budget
        assert 20 <= len(paid) <= 30
        refused = [failure for failure in failures if failure is not None]
        assert len(refused) == 60 - len(paid)
        assert all(isinstance(failure, JudgeError) for failure in refused)
        assert {str(failure)[:7] for failure in refused} == {"budget:"}
        assert server.count == len(paid)
        free = settings(server, max_tokens=20, **PRICED)
        _, again = judge_texts(free, ledger, 60)
        assert again == [None] * 60
        assert server.count == 60


def judge_texts(
    limited: JudgeSettings, ledger: FolderLedger, n: int
) -> tuple[float, list[BaseException | None]]:
    """Judge n texts; return the cost and what became of each."""
    with LedgerJudge(limited, ledger) as judge:
        futures = [judge.ask(about(f"text {number}"), origin(f"q{number}")) for number in range(n)]
        failures = [future.exception(60) for future in futures]
        return ledger.spent_usd(), failures


@takes_minutes
@pytest.mark.parametrize("concurrency", [1, 32])
@pytest.mark.parametrize("lengths", [(20, 20), (5, 60), (10, 400)])
def test_nearly_all_of_a_budget_can_be_used(concurrency: int, lengths: tuple[int, int]) -> None:
    """The highest possible price of one call is two thirds of the budget."""
    draw = random.Random(3)
    paid: list[float] = []

    def reply(request: dict[str, Any]) -> Reply:
        wanted = round(draw.triangular(*lengths, lengths[0]))
        given = min(wanted, request["max_tokens"])
        paid.append((100 * 100 + given * 1000) / 1e6)
        finish = "stop" if given == wanted else "length"
        return Reply(content=YES, usage=(100, given), finish=finish, delay=0.005)

    most = (2048 * 1000) / 1e6
    budget = 1.5 * most
    with JudgeServer(reply) as server:
        limited = settings(server, budget_usd=budget, concurrency=concurrency, **PRICED)
        ledger = FolderLedger()
        spent, failures = judge_texts(limited, ledger, 200)
    assert any(failures)
    assert spent == pytest.approx(sum(paid))
    assert 0.9 * budget <= spent <= budget
    scored = sum(each.status is CallStatus.SCORED for each in ledger.kept)
    assert scored == failures.count(None) >= 0.97 * len(paid)
    assert {str(failure) for failure in failures if failure} == {over_budget_reason(budget, None)}


def test_a_reply_that_the_rest_of_the_budget_cuts_is_not_scored() -> None:
    def reply(request: dict[str, Any]) -> Reply:
        given = min(2000, request["max_tokens"])
        return Reply(content=YES, usage=(100, given), finish="stop" if given == 2000 else "length")

    with JudgeServer(reply) as server:
        limited = settings(server, budget_usd=1.0, concurrency=1, **PRICED)
        ledger = FolderLedger()
        spent, (failure,) = judge_texts(limited, ledger, 1)
        (sent,) = server.requests
    assert spent <= 1.0
    assert 800 < sent["max_tokens"] < 1000
    assert str(failure) == over_budget_reason(1.0, None)
    assert (ledger.last.status, ledger.last.attempts) == (Status.JUDGE_ERROR, 1)


def test_a_call_that_was_broken_off_counts_as_paid() -> None:
    slow = Reply(content=YES, delay=2)
    with JudgeServer([slow, slow, slow]) as server:
        most = (2048 * 1000 + 500 * 100) / 1e6
        plain = settings(server, budget_usd=1.5 * most, timeout_s=1, max_attempts=5, **PRICED)
        ledger = FolderLedger()
        with LedgerJudge(plain, ledger) as judge:
            failure = judge.ask(about("a"), origin()).exception(30)
            assert most < ledger.spent_usd() <= 1.5 * most
        assert server.count == 2
    assert isinstance(failure, JudgeError)
    assert failure.reason.startswith("budget: ")


@pytest.mark.parametrize(
    ("budget", "key"),
    [
        ("budget_usd", "judge.budget_usd"),
        ("daily_budget_usd", "automation.daily_budget_usd"),
    ],
)
def test_a_budget_without_a_price_is_refused_with_the_setting_to_give(
    budget: str, key: str
) -> None:
    with JudgeServer() as server:
        with pytest.raises(BadJudgeSettings, match=r"judge\.usd_per_million_in") as caught:
            put(server, **{budget: 1.0})
        assert server.count == 0
    assert str(caught.value).startswith(f"{key} cannot be enforced")
    half = JudgeSettings(model="openai/judge", usd_per_million_in=1.0)
    with pytest.raises(BadJudgeSettings, match="go together"):
        prices_of(half)


def claim(least: float, enough: float, most: float) -> Claim:
    return Claim(tokens_usd=0.0, least=least, enough=enough, most=most)


async def take(budget: Budget, call: Claim) -> tuple[float, Granted] | None:
    granted = await budget.reserve(lambda: call)
    return None if granted is None else (granted.usd, granted)


def test_a_call_waits_for_what_others_release() -> None:
    async def scenario() -> None:
        budget = Budget(FolderLedger(), 1.0)
        large = claim(0.2, 0.9, 0.9)
        usd, first = await take(budget, large) or pytest.fail("refused")
        assert usd == 0.9
        waiting = asyncio.create_task(take(budget, large))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        budget.settle(first, 0.05)
        usd, second = await waiting or pytest.fail("refused")
        assert usd == 0.9
        budget.settle(second, 0.9)
        assert await take(budget, large) is None

    asyncio.run(scenario())


def test_a_call_takes_less_than_its_highest_price_where_that_is_not_free() -> None:
    async def scenario() -> None:
        budget = Budget(FolderLedger(), 1.0)
        call = claim(0.1, 0.3, 0.6)
        one, first = await take(budget, call) or pytest.fail("refused")
        two, second = await take(budget, call) or pytest.fail("refused")
        assert (one, two) == (0.6, 0.3)
        waiting = asyncio.create_task(take(budget, call))
        await asyncio.sleep(0.1)
        assert not waiting.done()  # the rest of 0.1 is less than enough
        budget.settle(first, 0.1)
        three, third = await waiting or pytest.fail("refused")
        assert three == 0.6
        budget.settle(third, 0.1)
        budget.settle(second, 0.1)
        # The only one gets the rest.
        four, fourth = await take(budget, claim(0.1, 0.8, 0.9)) or pytest.fail("refused")
        assert four == pytest.approx(0.7)
        budget.settle(fourth, 0.62)
        assert await take(budget, call) is None
        assert budget.refused_usd == 0.1

    asyncio.run(scenario())


def test_two_processes_share_the_budgets_of_run_and_day(tmp_path: Path) -> None:
    """Two ledgers of one project are two processes to each other."""

    async def scenario() -> None:
        call = claim(0.4, 0.4, 0.4)
        one, other = FolderLedger(tmp_path), FolderLedger(tmp_path)
        mine, theirs = Budget(one, 0.5), Budget(other, 0.5)
        granted = await mine.reserve(lambda: call) or pytest.fail("refused")
        waiting = asyncio.create_task(theirs.reserve(lambda: call))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        mine.settle(granted, 0.3)
        assert await waiting is None
        # Another run has a budget of its own, but not a day.
        later = FolderLedger(tmp_path, run_id="later")
        assert await Budget(later, 0.5, day_usd=0.6).reserve(lambda: call) is None
        assert await Budget(later, 0.5, day_usd=0.75).reserve(lambda: call) is not None
        assert await Budget(FolderLedger(tmp_path, "x"), None, 0.75).reserve(lambda: claim(0, 0, 0))
        for ledger in (one, other, later):
            ledger.ledger.close()

    asyncio.run(scenario())


def test_a_call_sets_aside_what_calls_of_its_schema_have_cost() -> None:
    prices = Prices("m", 1.0, 1.0, own=True)
    history = UsageHistory()
    unseen = history.claim(prices, {"title": "A"}, 100, 2000)
    assert (unseen.tokens_usd, unseen.least, unseen.enough, unseen.most) == (125, 375, 2125, 2125)
    for tokens in range(1, 101):
        history.record({"title": "A"}, 100, 160, tokens)
    seen = history.claim(prices, {"title": "A"}, 100, 2000)
    assert (seen.tokens_usd, seen.least, seen.enough, seen.most) == (200, 290, 560, 2200)
    cut = history.claim(prices, {"title": "A"}, 100, 2000, longer_than=300)
    assert (cut.least, cut.enough) == (800, 800)
    assert history.claim(prices, {"title": "B"}, 100, 2000) == unseen
    history.record({"title": "B"}, 100, None, None)
    assert history.claim(prices, {"title": "B"}, 100, 2000) == unseen


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0.00"), (0.9, "0.90"), (1234.567, "1,234.57"), (0.002, "0.002"), (1.25e-7, "0.00000012")],
)
def test_small_amounts_have_two_significant_digits(amount: float, text: str) -> None:
    assert format_usd(amount) == text


def test_seeds_count_on_with_replicates() -> None:
    with JudgeServer(lambda _: GOOD) as server:
        for replicate in (0, 3):
            reply, _ = put(server, about("a", replicate), seed=7)
            assert isinstance(reply, Verdict | ParseFailure)
        assert [each["seed"] for each in server.requests] == [7, 10]


CACHED = {**PRICED, "usd_per_million_cache_read": 10.0, "usd_per_million_cache_write": 125.0}


@pytest.mark.parametrize(
    ("prices", "details", "expected"),
    [
        # 900 of 1,000 input tokens cost a tenth.
        (CACHED, {"cached_tokens": 900}, 100 * 100 + 900 * 10),
        (CACHED, {"cached_tokens": 0}, 1000 * 100),
        (CACHED, {"cached_tokens": None}, 1000 * 100),
        (CACHED, {"cached_tokens": 500, "cache_creation_tokens": 400}, 10_000 + 5_000 + 50_000),
        # Without a price of their own, cached tokens cost what others cost.
        (PRICED, {"cached_tokens": 900}, 1000 * 100),
        # More than there are makes no sense.
        (CACHED, {"cached_tokens": 1001}, 1000 * 100),
        (CACHED, {"cached_tokens": 800, "cache_creation_tokens": 300}, 1000 * 100),
    ],
)
def test_cached_tokens_have_their_own_price(
    prices: dict[str, Any], details: dict[str, Any], expected: float
) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    said = Reply(content=YES, usage={**usage, "prompt_tokens_details": details})
    with JudgeServer([said]) as server:
        _, ledger = put(server, **prices)
    assert ledger.last.cost_usd == pytest.approx((expected + 20 * 1000) / 1e6)
    assert ledger.last.tokens_in == 1000


def test_what_a_call_sets_aside_covers_writing_to_the_cache() -> None:
    prices = Prices("m", 1.0, 2.0, own=True, cache_read=0.5, cache_write=1.25)
    assert prices.most_usd(100, 10) == 145
    assert prices.usd(100, 10) == 120
    assert Prices("m", 1.0, 2.0, own=True, cache_read=3.0).most_usd(100, 10) == 320
    assert Prices("m", None, None, own=False).most_usd(100, 10) is None


def test_prices_of_cached_tokens_need_the_others() -> None:
    lone = JudgeSettings(model="openai/judge", usd_per_million_cache_read=1.0)
    with pytest.raises(BadJudgeSettings, match="need usd_per_million_in"):
        prices_of(lone)
