"""Lanes and rates, on a loop of their own."""

from __future__ import annotations

import asyncio

import pytest

from evaluators.engines.judge.rate_limit import ConcurrencySlots, MinuteRate

PATIENCE_S = 60.0


def test_a_busy_server_halves_the_lanes_once_for_all_that_were_under_way() -> None:
    async def scenario() -> list[int]:
        lanes = ConcurrencySlots(16)
        seen = [lanes.open]
        async with lanes.lane() as one, lanes.lane() as other:
            lanes.busy(one, None)
            lanes.busy(other, None)
            seen.append(lanes.open)
        for _ in range(10):
            async with lanes.lane() as later:
                lanes.busy(later, None)
        seen.append(lanes.open)
        return seen

    assert asyncio.run(scenario()) == [16, 8, 1]


def test_lanes_open_again_one_after_as_many_answers_as_there_are() -> None:
    async def scenario() -> list[int]:
        lanes = ConcurrencySlots(4)
        async with lanes.lane() as sent:
            lanes.busy(sent, None)
        seen = []
        for _ in range(20):
            lanes.answered()
            seen.append(lanes.open)
        return seen

    seen = asyncio.run(scenario())
    assert seen[0] == 2
    assert seen.index(3) == pytest.approx(2, abs=1)
    assert seen[-1] == 4


def test_never_more_are_in_than_lanes_are_open_and_nobody_is_forgotten() -> None:
    async def scenario() -> tuple[int, int]:
        lanes = ConcurrencySlots(3)
        inside = most = done = 0

        async def work(number: int) -> None:
            nonlocal inside, most, done
            async with lanes.lane():
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


def test_a_pause_holds_everybody() -> None:
    async def scenario() -> float:
        lanes = ConcurrencySlots(2)
        started = asyncio.get_running_loop().time()
        async with lanes.lane() as sent:
            lanes.busy(sent, 0.1)
        async with lanes.lane():
            return asyncio.get_running_loop().time() - started

    assert 0.09 <= asyncio.run(scenario()) < PATIENCE_S


@pytest.mark.parametrize(
    ("per_minute", "amounts", "least"),
    [(6_000, [1] * 130, 0.25), (600_000, [3_000] * 5, 0.45), (None, [10**9], 0.0)],
)
def test_units_are_spread_evenly(per_minute: int | None, amounts: list[int], least: float) -> None:
    async def scenario() -> float:
        rate = MinuteRate(per_minute)
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(rate.take(amount) for amount in amounts))
        return asyncio.get_running_loop().time() - started

    assert least <= asyncio.run(scenario()) < PATIENCE_S
