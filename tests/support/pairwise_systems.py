"""Systems whose answers say what they are worth, and judges on loopback that compare them."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support.judge_server import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUESTIONS = 12
BLOCK = re.compile(r"<<(first_answer|second_answer) \w{12}>>\n(.*?)\n<<", re.DOTALL)
LEVELS = {"weak": 0, "fair": 1, "good": 2}


def quality(system: str, number: int) -> int:
    """How good an answer is, from 0 to 7."""
    return LEVELS.get(system, 1) + random.Random(f"{system} {number}").randrange(6)


def answers(system: str) -> list[dict[str, Any]]:
    return [
        {"question_id": f"q{number}", "answer": f"Worth {quality(system, number)} ({system})."}
        for number in range(QUESTIONS)
    ]


def worth(answer: str) -> int:
    return int(answer.split()[1])


def shown(request: Mapping[str, Any]) -> dict[str, str]:
    return dict(BLOCK.findall(request["messages"][-1]["content"]))


def said(better: str) -> Reply:
    return Reply(content=json.dumps({"reasoning": "r", "better": better}), usage=(100, 10))


def honest(request: Mapping[str, Any]) -> Reply:
    """The answer that is worth more is better, in whichever order."""
    first, second = (worth(text) for text in shown(request).values())
    return said("tie" if first == second else "first" if first > second else "second")


def broken(answer: str) -> Callable[[Mapping[str, Any]], Reply]:
    """A judge that is down for whatever has this answer."""

    def reply(request: Mapping[str, Any]) -> Reply:
        if answer in shown(request).values():
            return Reply(status=400, content="no")
        return honest(request)

    return reply


def expected_outcomes(answered: Mapping[str, list[dict[str, Any]]]) -> dict[Any, list[float]]:
    """The outcomes of each pair for the first system by name."""
    return {
        (one, other): [
            (np.sign(worth(a["answer"]) - worth(b["answer"])) + 1) / 2
            for a, b in zip(answered[one], answered[other], strict=True)
        ]
        for one, other in combinations(sorted(answered), 2)
    }


def counts(outcomes: list[float]) -> tuple[int, ...]:
    """Wins, losses and ties, as the table `pairwise` has them."""
    return tuple(outcomes.count(value) for value in (1.0, 0.0, 0.5))
