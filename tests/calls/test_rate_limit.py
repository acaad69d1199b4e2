"""Concurrency slots and rate limits, each on its own event loop."""

from __future__ import annotations

import asyncio

import pytest

from calls.rate_limit import ConcurrencySlots, MinuteRate
from tests.support.ledgers import FolderLedger

PATIENCE_S = 60.0


def test_a_busy_server_halves_the_slots_once_for_all_requests_in_flight() -> None:
    async def scenario() -> list[int]:
        slots = ConcurrencySlots(16)
        seen = [slots.open]
        async with slots.slot() as one, slots.slot() as other:
            slots.slow_down(one, None)
            slots.slow_down(other, None)
            seen.append(slots.open)
        for _ in range(10):
            async with slots.slot() as later:
                slots.slow_down(later, None)
        seen.append(slots.open)
        return seen

    assert asyncio.run(scenario()) == [16, 8, 1]


def test_slots_open_again_one_after_as_many_answers_as_there_are() -> None:
    async def scenario() -> list[int]:
        slots = ConcurrencySlots(4)
        async with slots.slot() as sent:
            slots.slow_down(sent, None)
        seen = []
        for _ in range(20):
            slots.record_success()
            seen.append(slots.open)
        return seen

    seen = asyncio.run(scenario())
    assert seen[0] == 2
    assert seen.index(3) == pytest.approx(2, abs=1)
    assert seen[-1] == 4


def test_never_more_requests_run_than_there_are_slots_and_none_is_forgotten() -> None:
    async def scenario() -> tuple[int, int]:
        slots = ConcurrencySlots(3)
        inside = most = done = 0

        async def work(number: int) -> None:
            nonlocal inside, most, done
            async with slots.slot():
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.001 * (number % 3))
                inside -= 1
            done += 1

        tasks = [asyncio.create_task(work(number)) for number in range(40)]
        await asyncio.sleep(0.002)
        for task in tasks[10:30:2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(PATIENCE_S):
            await work(0)
        return most, done

    most, done = asyncio.run(scenario())
    assert most == 3
    assert done == 31


def test_a_pause_delays_all_requests() -> None:
    async def scenario() -> float:
        slots = ConcurrencySlots(2)
        started = asyncio.get_running_loop().time()
        async with slots.slot() as sent:
            slots.slow_down(sent, 0.1)
        async with slots.slot():
            return asyncio.get_running_loop().time() - started

    assert 0.09 <= asyncio.run(scenario()) < PATIENCE_S


@pytest.mark.parametrize(
    ("per_minute", "amounts", "least"),
    [(6_000, [1] * 130, 0.25), (600_000, [3_000] * 5, 0.45), (None, [10**9], 0.0)],
)
def test_units_are_spread_evenly(per_minute: int | None, amounts: list[int], least: float) -> None:
    async def scenario() -> float:
        rate = MinuteRate(FolderLedger(), "requests", per_minute)
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(rate.take(amount) for amount in amounts))
        return asyncio.get_running_loop().time() - started

    assert least <= asyncio.run(scenario()) < PATIENCE_S
