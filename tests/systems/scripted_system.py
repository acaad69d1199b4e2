"""A system in this process that answers as a test says, and counts what it was asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assets.inputs.ask import fault_of
from systems import answering
from systems.answering import SystemCalls, answer_questions, prediction_of
from systems.client import Answer, Request, as_answer
from systems.settings import SystemSettings
from tests.support.ledgers import FolderLedger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from systems.answering import AnsweredQuestions


class ScriptedSettings(SystemSettings):
    """The settings of a scripted system."""

    kind = "scripted"

    def parameters(self) -> Mapping[str, Any]:
        """Return nothing: `version` alone is the version."""
        return {}


@dataclass
class ScriptedSystem:
    """A client of a system that answers by a function.

    Attributes:
        reply: Returns what the system answers to a question, or raises.
        seconds: How long an answer takes.
        most: The highest possible cost of a request in US dollars.
        timeout_s: How long an answer may take.
        asked: How often each question was asked.
        most_at_once: The most questions in progress at once.
    """

    reply: Callable[[str], Any] = lambda question: f"about {question}"
    seconds: float = 0.0
    most: float | None = None
    timeout_s: float | None = None
    asked: Counter[str] = field(default_factory=Counter)
    most_at_once: int = 0
    _now: int = 0

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the id of the question."""
        return Request(question["question_id"], question["question_id"])

    def most_usd(self, request: Request) -> float | None:  # noqa: ARG002 - part of the protocol
        """Return the highest possible cost."""
        return self.most

    async def open(self) -> None:
        """Do nothing."""

    async def ask(self, request: Request, repeat: int) -> Answer:  # noqa: ARG002
        """Answer."""
        self.asked[request.sent] += 1
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            async with asyncio.timeout(self.timeout_s):
                await asyncio.sleep(self.seconds)
            return as_answer(self.reply(request.sent))
        finally:
            self._now -= 1

    async def close(self) -> None:
        """Do nothing."""


def settings(home: Path, **keys: Any) -> ScriptedSettings:
    """Return settings, by default without retries."""
    return ScriptedSettings(**{"name": "scripted", "home": home, "retries": 0, **keys})


def questions(count: int) -> list[dict[str, Any]]:
    """Return questions."""
    return [{"question_id": f"q{number}"} for number in range(count)]


class Asked:
    """A system and a ledger in a folder."""

    def __init__(self, folder: Path, system: ScriptedSystem, monkeypatch: Any) -> None:
        self.folder = folder
        self.system = system
        self.ledger = FolderLedger(folder)
        monkeypatch.setattr(answering, "make_client", lambda *_: system)

    def ask(self, count: int = 8, *, limit: int | None = None, **keys: Any) -> AnsweredQuestions:
        """Ask some questions."""
        forced = set() if keys.pop("force", False) else None
        calls = SystemCalls(self.settings(**keys), questions(count))
        asked = answer_questions(calls, self.ledger, fault_of, forced=forced, limit=limit)
        return asyncio.run(asked)

    def settings(self, **keys: Any) -> SystemSettings:
        """Return the settings."""
        made = settings(self.folder, **keys)
        self.system.timeout_s = made.timeout_s
        return made

    def predictions(self, found: AnsweredQuestions) -> dict[str, Any]:
        """Return the fields of the prediction of each question."""
        stored = {name: self.ledger.find(digest) for (name, _), digest in found.digests.items()}
        return {
            name: {**prediction_of(each.reply, each.error)}
            for name, each in stored.items()
            if each is not None
        }
