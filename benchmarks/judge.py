"""The judge at 64 questions under way against a server that takes half a second for each.

`python -m benchmarks.judge` starts the server as a process and asks it the same questions in three
ways, each a process of its own: a bare httpx loop (the limit), LiteLLM alone, and the evaluator
through scheduler, ledger and judge.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.measure import table
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.litellm_client import CallOptions, LitellmClient
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.flows.protocols import Engines
from evaluators.library.retrieval.context_relevancy import ContextRelevancy, UsefulSentences
from evaluators.sample import Sample
from evaluators.scoring import score
from tests.support.ledgers import FolderLedger
from tests.support.samples import samples

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    import polars as pl

    from evaluators.flows.requests import Ask

Took: TypeAlias = tuple[float, float]

ROOT = Path(__file__).parents[1]
LATENCY_S = 0.5
CONCURRENCY = 64
IDEAL = CONCURRENCY / LATENCY_S
WAYS = ("bare", "litellm", "scoreline")
CONTEXT = (
    "The ferry left Orrin in 1987 with forty goats and a bell. It was the last of its kind. "
    "The harbour had been dredged the year before, at some cost to the town. Nobody minded."
)


def rows(count: int) -> list[dict[str, Any]]:
    """Questions with three contexts of about 35 words each, all different."""
    return [
        {
            "question_id": f"q{number}",
            "question": f"What left Orrin in the year of entry {number}?",
            "contexts": [f"Entry {number}.{part}: {CONTEXT}" for part in range(3)],
        }
        for number in range(count)
    ]


class Clock:
    """Seconds and processor seconds of this process from now."""

    def __init__(self) -> None:
        self._start = (time.perf_counter(), time.process_time())

    def took(self) -> Took:
        """Both until now."""
        return time.perf_counter() - self._start[0], time.process_time() - self._start[1]


@contextmanager
def server(latency_s: float) -> Iterator[str]:
    """The scripted judge as a process; gives its address."""
    command = [sys.executable, "-m", "tests.support.judge_server", "--latency", str(latency_s)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def settings(address: str) -> JudgeSettings:
    """The judge at that address."""
    return JudgeSettings(model="openai/judge", api_base=address, concurrency=CONCURRENCY)


def questions(frame: pl.DataFrame) -> list[Any]:
    """The first question of each sample."""
    evaluator = ContextRelevancy()
    return [next(evaluator.flow(Sample.of(row))) for row in frame.iter_rows(named=True)]


async def side_by_side(one: Callable[[Ask[Any]], Awaitable[Any]], asked: list[Ask[Any]]) -> Took:
    """Put all questions, as many at a time as are allowed; the first is for warming up."""
    gate = asyncio.Semaphore(CONCURRENCY)

    async def gated(request: Ask[Any]) -> None:
        async with gate:
            await one(request)

    await gated(asked[0])
    clock = Clock()
    await asyncio.gather(*map(gated, asked[1:]))
    return clock.took()


def bare(address: str, frame: pl.DataFrame) -> Took:
    """The same bodies sent by httpx, and the answers read as JSON."""
    import httpx

    asked = questions(frame)
    named = {"name": "reply", "strict": True, "schema": UsefulSentences.schema_of()}
    form = {"type": "json_schema", "json_schema": named}

    async def run() -> Took:
        limits = httpx.Limits(max_connections=CONCURRENCY)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:

            async def one(request: Ask[Any]) -> None:
                body = {
                    "model": "judge",
                    "messages": request.prompt.messages(request.reply),
                    "temperature": 0,
                    "top_p": 1,
                    "seed": 0,
                    "max_tokens": 2048,
                    "response_format": form,
                }
                answer = await client.post(f"{address}/chat/completions", json=body)
                request.reply.model_validate_json(answer.json()["choices"][0]["message"]["content"])

            return await side_by_side(one, asked)

    return asyncio.run(run())


def through_litellm(address: str, frame: pl.DataFrame) -> Took:
    """The same questions through LiteLLM, as the judge calls it, and nothing around it."""
    asked = questions(frame)
    caller = LitellmClient(settings(address))
    schema = UsefulSentences.schema_of()

    async def one(request: Ask[Any]) -> None:
        messages = request.prompt.messages(request.reply)
        await caller.call(messages, schema, CallOptions(), max_tokens=2048, seed=0)

    return asyncio.run(side_by_side(one, asked))


def through_scoreline(address: str, frame: pl.DataFrame) -> Took:
    """The evaluator with its flows, the scheduler, a ledger in memory, and the judge."""
    with LedgerJudge(settings(address), FolderLedger()) as judge:
        score(ContextRelevancy(), frame.head(1), Engines(judge=judge))
        clock = Clock()
        grades = score(ContextRelevancy(), frame[1:], Engines(judge=judge))
        if not judge.tally["scored"] == grades.long().height + 1 == frame.height:
            raise SystemExit(f"not every question was answered: {judge.tally}")
        return clock.took()


def loop(way: str, address: str, asks: int) -> None:
    """Ask in one way and print seconds and processor seconds."""
    ways = {"bare": bare, "litellm": through_litellm, "scoreline": through_scoreline}
    print(json.dumps(ways[way](address, samples(rows(asks + 1)))))


def throughput(asks: int, repeats: int) -> str:
    """Each way in turn, `repeats` times; the quickest of each, as the machine may be busy."""
    best: dict[str, list[float]] = {}
    with server(LATENCY_S) as address:
        for way in [*WAYS] * repeats:
            command = [sys.executable, "-m", "benchmarks.judge", "--loop", way]
            command += ["--address", address, "--asks", str(asks)]
            told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            took: list[float] = json.loads(told.stdout.splitlines()[-1])
            best[way] = min(best.get(way, took), took)
    limit = best["bare"][0]
    heads = ["", "s", "calls/s", "relative to 128", "relative to bare", "CPU ms per call"]
    lines = [
        [
            way,
            f"{wall:.1f}",
            f"{asks / wall:.1f}",
            f"{asks / wall / IDEAL:.2f}",
            f"{limit / wall:.2f}",
            f"{1000 * cpu / asks:.1f}",
        ]
        for way, (wall, cpu) in best.items()
    ]
    return table(heads, lines)


def requests(address: str) -> int:
    """How many questions the server was asked."""
    import httpx

    return len(httpx.get(address.replace("/v1", "/asked"), timeout=60).json())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loop", choices=WAYS, help="ask in one way only (used by itself)")
    parser.add_argument("--address")
    given = parser.parse_args()
    if given.loop:
        loop(given.loop, given.address, given.asks)
        return
    print(throughput(given.asks, given.repeats))


if __name__ == "__main__":
    main()
