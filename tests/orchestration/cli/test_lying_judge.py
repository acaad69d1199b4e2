"""A run whose judge answers every sample with another lie: the run ends well, and says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from evaluators.outcome import Status
from orchestration.published import open_copy
from tests.orchestration.judged_project import QUESTIONS, JudgedProject, predictions
from tests.support.command import scoreline
from tests.support.faulty_replies import DIGITS, LIES, bomb
from tests.support.judge_server import JudgeServer, faithful
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-secret-of-the-run"
MORE_ERRORS = [
    Reply(body=bomb(80), headers={"content-encoding": "gzip"}),
    Reply(status=307, headers={"location": "http://127.0.0.1:1/v1/chat/completions"}),
    Reply(body=b'{"choices": [{"message": null}], "usage": null}'),
    Reply(status=500, content=KEY * 100),
]
FAILURES = [
    Reply(content='{"reasoning": "", "useful_keys": [], "useful_keys": ["1a"],}'),
    Reply(content=f'{{"reasoning": "{KEY}", "useful_keys": {DIGITS}}}'),
    Reply(content='{"reasoning": "", "useful_keys": []} wait: {"useful_keys": ["1a"]}'),
    Reply(content='{"useful_keys": ' + "[" * 900 + "]" * 900 + "}"),
]


@takes_minutes
def test_every_lie_ends_one_sample_and_none_the_run(tmp_path: Path) -> None:
    errors = [said for said, _ in LIES.values()] + MORE_ERRORS
    lies = errors + FAILURES
    count = len(lies) + 3  # the last ones are judged honestly

    def script(request: dict[str, Any]) -> Reply:
        number = int(re.findall(r"sample (\d+) of", str(request["messages"]))[0])
        return lies[number] if number < len(lies) else faithful(request)

    with JudgeServer(script) as server:
        judge = {"model": "openai/judge", "api_base": server.url, "api_key_env": "JUDGE_KEY"}
        limits = {"max_attempts": 1, "max_reply_mb": 1, "budget_usd": 10.0}
        prices = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}
        project = JudgedProject(
            tmp_path / "home", {**judge, **limits, **prices}, evaluators=["context_relevancy"]
        )
        question, answer = QUESTIONS[0], predictions("plain")[0]
        project.questions = [
            {**question, "question_id": f"q{n}", "question": f"What is sample {n} of?"}
            for n in range(count)
        ]
        project.predictions = {"plain": [{**answer, "question_id": f"q{n}"} for n in range(count)]}
        project.write()
        ran = scoreline(project.home, "run", JUDGE_KEY=KEY)
    said = ran.out + ran.err
    assert ran.code == 0, said
    assert "Traceback" not in said
    assert KEY not in said
    spent = re.findall(r"judge: .* (\S+) US dollars", said)
    copy = open_copy(project.project())
    scores = copy.fetch(
        "SELECT question_id, status, any_value(reason) AS reason FROM scores GROUP BY ALL"
    )
    found = {row["question_id"]: (row["status"], row["reason"]) for row in scores.to_dicts()}
    expected = [Status.JUDGE_ERROR] * len(errors) + [Status.PARSE_FAILURE] * len(FAILURES)
    assert [found[f"q{n}"][0] for n in range(count)] == [*expected, *[Status.SCORED] * 3]
    for _, reason in found.values():
        assert len(reason or "") <= 300
        assert not re.search(f"{KEY}|Traceback|site-packages|Get Help", reason or "")
    costs = copy.fetch("SELECT cost_usd FROM judgments")["cost_usd"].drop_nulls()
    assert 0 < costs.min() <= costs.max() < 0.01  # type: ignore[operator]
    assert [float(each) > 0 for each in spent] == [True]
