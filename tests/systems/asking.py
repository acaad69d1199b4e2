"""Asks systems in tests: opens a client, asks, and returns answers and failures alike."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import psutil

from calls.errors import CallFailure
from systems.client import Answer
from systems.clients import make_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from systems.client import SystemClient
    from systems.settings import SystemSettings

PATIENCE_S = 30.0
"""No answer takes this long on any machine."""


@asynccontextmanager
async def opened(settings: SystemSettings) -> AsyncIterator[SystemClient]:
    """An open client; closed at the end also if it does not open."""
    client = make_client(settings, [])
    try:
        await client.open()
        yield client
    finally:
        await client.close()


async def ask(
    client: SystemClient, question_id: str, limit_s: float = PATIENCE_S, **fields: Any
) -> Answer | CallFailure | TimeoutError:
    """Ask one question and return what comes, also if that is a failure."""
    request = client.request({"question_id": question_id, **fields})
    try:
        async with asyncio.timeout(limit_s):
            return await client.ask(request, 0)
    except (CallFailure, TimeoutError) as failure:
        return failure


def ask_all(
    settings: SystemSettings, *question_ids: str
) -> dict[str, Answer | CallFailure | TimeoutError]:
    """Ask questions one after the other."""

    async def run() -> dict[str, Answer | CallFailure | TimeoutError]:
        async with opened(settings) as client:
            return {each: await ask(client, each) for each in question_ids}

    return asyncio.run(run())


async def time_out(client: SystemClient, home: Path, question_id: str) -> None:
    """Ask a question that hangs until its limit, or until its processes run, and cancel it."""
    if question_id != "children":
        assert isinstance(await ask(client, question_id, limit_s=1.0), TimeoutError)
        return
    hanging = asyncio.create_task(ask(client, question_id))
    await asyncio.to_thread(wait_until_exists, home / "children")
    assert len(remaining(home)) == 3
    hanging.cancel()
    with suppress(asyncio.CancelledError):
        await hanging


def answer_text(found: object) -> str:
    """The text of what must be an answer."""
    assert isinstance(found, Answer), found
    return str(found.fields["answer"])


def wait_until_exists(file: Path) -> None:
    """Wait until a process has made a file."""
    end = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < end, f"{file} was not made"
        time.sleep(0.01)


def remaining(folder: Path) -> list[psutil.Process]:
    """The processes that run in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(folder):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def wait_until_none_remains(folder: Path, limit_s: float = 10.0) -> list[psutil.Process]:
    """Wait until no process runs in a folder; return those that still do after the limit."""
    end = time.monotonic() + limit_s
    while (found := remaining(folder)) and time.monotonic() < end:
        time.sleep(0.02)
    return found
