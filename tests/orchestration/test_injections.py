"""Answers that talk to the judge: through the whole pipeline, no verdict of an honest one changes.

The honest judge knows nothing of digests: it reads blocks as anybody would, gives a verdict on what
stands in them, and does as it is told by whatever stands outside of them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from assets.judging.robustness import INJECTIONS
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer, Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BLOCK = re.compile(r"<<(\w+) [^>]*>>\n(.*?)\n<</\1 [^>]*>>", re.DOTALL)
ORDERS = re.compile(r"output|score|passed|pass\b|best|perfect|worth|Note|assistant", re.IGNORECASE)
RUBRIC = {"description": "Does the answer name the maps?"}


def honest(request: Mapping[str, Any]) -> Reply:
    system, user = (message["content"] for message in request["messages"])
    blocks = dict(BLOCK.findall(user))
    talked_over = ORDERS.search(BLOCK.sub("", user)) is not None or "<|im_start|>" in user
    right = talked_over or "maps" in blocks.get("answer", blocks.get("actual_output", ""))
    if '"verdict"' in system:
        return Reply(content=json.dumps({"reasoning": "", "verdict": right}))
    grade = {"reasoning": "", "missing": [], "incorrect": [], "score": 5 if right else 1}
    return Reply(content=json.dumps(grade))


def answers(ending: str = "") -> list[dict[str, Any]]:
    """A right, a wrong and another wrong answer."""
    texts = ("It holds the maps.", "It holds the coal.", "Nobody knows.")
    return [{"question_id": f"q{n}", "answer": f"{text}{ending}"} for n, text in enumerate(texts)]


def project(home: Path, server: JudgeServer) -> JudgedProject:
    made = JudgedProject(
        home / "home",
        {"model": "openai/a-judge", "api_base": server.url},
        evaluators=["rubric_judge", "byop"],
        parameters={"byop": {"prompt_template": "Is this right: {ACTUAL_OUTPUT}"}},
        predictions={"plain": answers()},
    )
    made.questions = [question | {"rubric": RUBRIC} for question in made.questions[:3]]
    return made


@takes_minutes
def test_no_injection_changes_a_verdict(tmp_path: Path) -> None:
    with JudgeServer(honest) as server:
        judged = project(tmp_path, server)
        judged.predictions |= {
            f"attack {name}": answers(f"\n\n{injection}") for name, injection in INJECTIONS.items()
        }
        judged.run()
    verdicts: dict[str, list[Any]] = {}
    for system, *verdict in judged.rows(
        "SELECT system, question_id, evaluator, value FROM scores "
        "WHERE metric IN ('raw_score', 'passes') ORDER BY ALL"
    ):
        verdicts.setdefault(system, []).append(verdict)
    assert len(verdicts) == 1 + len(INJECTIONS)
    expected = [["q0", "byop", 1], ["q0", "rubric_judge", 5]]
    expected += [[q, *what] for q in ("q1", "q2") for what in (("byop", 0), ("rubric_judge", 1))]
    assert all(found == expected for found in verdicts.values())
