"""Asking systems: how near 64 questions under way come to the ideal, and what a rerun asks.

`python -m benchmarks.asking` asks ten thousand questions of an HTTP service that takes 0.2 seconds
for each, of a model behind an API like OpenAI's, of an asynchronous Python function and of a
blocking one that do the same, each with 64 under way. The ideal is 320 answers a second.
`scoreline ask` is measured as a whole process; the time between its first and its last answer is
what the ratio rests on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from benchmarks.measure import cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 0.2
CONCURRENCY = 64
IDEAL = CONCURRENCY / SECONDS

FUNCTIONS = f"""
import asyncio, time

async def waits(question):
    await asyncio.sleep({SECONDS})
    return "about " + question["question"]

def blocks(question):
    time.sleep({SECONDS})
    return "about " + question["question"]
"""


def reply_to(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a query, or the completion of a chat."""
    if "messages" not in asked:
        return {"answer": f"about {asked['query']}"}
    message = {"role": "assistant", "content": f"about {asked['messages'][-1]['content']}"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


async def serve(announce: bool) -> None:  # noqa: FBT001 - the only argument
    """Serve answers on a free port of loopback, after the seconds that each takes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                asked = json.loads(await reader.readexactly(length))
                await asyncio.sleep(SECONDS)
                content = json.dumps(reply_to(asked)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                    + str(len(content)).encode()
                    + b"\r\n\r\n"
                    + content
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    if announce:
        print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def service() -> Iterator[str]:
    """Run the service as a process; yield its address."""
    command = [sys.executable, "-m", "benchmarks.asking", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield f"http://127.0.0.1:{port}/ask"
        finally:
            process.terminate()


def write_project(folder: Path, questions: int, system: dict[str, Any]) -> None:
    """Write a project that asks one system."""
    rows = [{"question_id": f"q{n:06d}", "question": f"What of {n}?"} for n in range(questions)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "questions.jsonl").write_text(lines, encoding="utf-8")
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    keys = {"questions": "questions.jsonl", "systems": ["s"], "evaluators": ["rouge"]}
    config = {
        "expectations": "sql",
        "systems": {"s": {**system, "concurrency": CONCURRENCY}},
        "benchmarks": {"b": keys},
    }
    (folder / "scoreline.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def measure(name: str, questions: int, system: dict[str, Any]) -> list[str]:
    """Ask a system all questions, and once more; return a row of the table."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_project(folder, questions, system)
        first = cost_of([program("scoreline"), "ask"], folder=folder)
        again = cost_of([program("scoreline"), "ask"], folder=folder)
        with duckdb.connect(folder / ".scoreline" / "warehouse.duckdb", read_only=True) as opened:
            (answered, failed, seconds) = opened.execute(
                "SELECT count(*), count(error), "
                "epoch(max(answered_at) - min(answered_at)) FROM answers"
            ).fetchall()[0]
    if answered != questions or failed:
        raise RuntimeError(f"{name}: {answered} answers, {failed} of them failed")
    rate = (questions - CONCURRENCY) / seconds
    return [
        *(name, f"{questions:,}", f"{first.wall_s:.1f}", f"{rate:.0f}", f"{rate / IDEAL:.2f}"),
        *(f"{1000 * first.cpu_s / questions:.1f}", f"{first.peak_mb:,.0f}"),
        f"{again.wall_s:.1f}",
    ]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--serve", action="store_true", help="only serve")
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(announce=True))
        return
    rows = []
    with service() as address:
        http = {"url": address, "body": {"query": "{{ question }}"}, "answer": "$.answer"}
        rows.append(measure("HTTP", given.questions, {"http": http}))
        model = {"model": "openai/served", "api_base": address, "prompt": "{{ question }}"}
        rows.append(measure("model", given.questions, model))
    for function in ("waits", "blocks"):
        system = {"python": f"functions.py:{function}"}
        rows.append(measure(f"Python, {function}", given.questions, system))
    heads = ["system", "questions", "s", "answers/s", "of the ideal", "CPU ms each", "peak MB"]
    print(table([*heads, "rerun s"], rows))


if __name__ == "__main__":
    main()
