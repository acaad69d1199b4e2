"""Answer correctness: statements that agree, and texts that are alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.components.claims import Statements
from evaluators.errors import BadParameters
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from tests.support.scripted_embeddings import Directions
from tests.support.scripted_judge import Scripted, judged, values

if TYPE_CHECKING:
    from pathlib import Path

ANSWER, EXPECTED = "The answer. It is long.", "The expected answer."
SAMPLE = {"question": "What is it?", "answer": ANSWER, "expected_answers": [EXPECTED]}


def _claims(count: int | None, name: str) -> dict[str, Any]:
    """Statements; None is a text that only evades."""
    claims = [{"sentence": "a", "text": f"{name} {n}."} for n in range(count or 0)]
    return {"noncommittal": count is None, "statements": claims}


def _matches(prefix: str, supported: list[bool]) -> list[dict[str, Any]]:
    return [
        {"key": f"{prefix}{n}", "reasoning": "", "matched": [], "supported": held}
        for n, held in enumerate(supported, start=1)
    ]


def _judge(answer: Any, expected: Any, matches: Any, given: str = ANSWER) -> Scripted:
    def reply(request: Any) -> Any:
        if request.reply.__name__ == "Matches":
            return matches
        return answer if given.partition(". ")[0] in request.prompt.material else expected

    return Scripted(reply)


def _counted(tp: int, fp: int, covered: int, fn: int) -> Scripted:
    """A judge that finds so many statements supported and unsupported, covered and missed."""
    said = {
        "answer": _matches("s", [True] * tp + [False] * fp),
        "expected": _matches("r", [True] * covered + [False] * fn),
    }
    return _judge(_claims(tp + fp, "Given"), _claims(covered + fn, "Wanted"), said)


def _scored(
    judge: Scripted, cosine: Any = 1.0, parameters: Any = None, **change: Any
) -> list[dict[str, Any]]:
    # The answer lies on the axis to which the cosines of the expected answers are.
    cosines = cosine if isinstance(cosine, dict) else {EXPECTED: cosine}
    evaluator = build("answer_correctness", parameters or {})
    return judged(evaluator, SAMPLE | change, judge, embedding=Directions(cosines))


@pytest.mark.parametrize(
    ("counts", "cosine", "factuality", "score"),
    [  # the golden examples of the specification
        ((3, 1, 1, 2), 0.90, 0.6666667, 0.725),
        ((0, 1, 0, 5), 0.62, 0.0, 0.155),
        ((1, 1, 1, 5), 0.80, 0.25, 0.3875),
        ((2, 0, 2, 0), -0.5, 1.0, 0.75),
        ((2, 0, 2, 0), 1.0, 1.0, 1.0),
    ],
)
def test_factuality_and_similarity_are_weighed(
    counts: tuple[int, int, int, int], cosine: float, factuality: float, score: float
) -> None:
    found = values(_scored(_counted(*counts), cosine))
    assert found["factuality"] == pytest.approx(factuality, abs=5e-8)
    assert found["similarity"] == pytest.approx(max(0.0, cosine), abs=1e-6)
    assert found["answer_correctness"] == pytest.approx(score, abs=1e-6)


def test_weights_and_beta() -> None:
    found = values(_scored(_counted(1, 1, 1, 5), 0.8, {"weights": [1, 3], "beta": 2.0}))
    assert found["factuality"] == pytest.approx(5 / (5 + 20 + 1))
    assert found["answer_correctness"] == pytest.approx((5 / 26 + 3 * 0.8) / 4)
    for wrong in ({"weights": [0, 0]}, {"weights": [-1, 2]}, {"beta": 0.0}):
        with pytest.raises(BadParameters, match="expected"):
            build("answer_correctness", wrong)


def test_the_order_of_verdicts_and_unknown_keys_change_nothing() -> None:
    said = {"answer": _matches("s", [True, False]), "expected": _matches("r", [False, True])}
    more = {side: [*_matches("x", [True]), *verdicts[::-1]] for side, verdicts in said.items()}
    claims = (_claims(2, "Given"), _claims(2, "Wanted"))
    first, second = (_scored(_judge(*claims, reply)) for reply in (said, more))
    assert values(first) == values(second)
    assert json.loads(second[0]["detail"])["unknown_keys"] == 2
    assert json.loads(first[0]["detail"])["missed"] == ["Wanted 0."]


def test_a_refusal_of_an_answer_that_there_is_asks_for_no_verdicts() -> None:
    judge = _judge(_claims(None, "Given"), _claims(2, "Wanted"), None)
    found = values(_scored(judge, 0.4))
    assert (found["factuality"], found["f1_symmetric"]) == (0.0, 0.0)
    assert found["answer_correctness"] == pytest.approx(0.1)
    assert len(judge.asked) == 2


def test_a_refusal_where_there_is_no_answer_can_be_right() -> None:
    said = {"answer": _matches("s", [True]), "expected": _matches("r", [True])}
    judge = _judge(_claims(None, "Given"), _claims(None, "Wanted"), said)
    assert values(_scored(judge))["answer_correctness"] == 1.0
    assert f"[s1] {ANSWER}" in judge.asked[2][0].prompt.material
    # And whoever answers what cannot be answered is held against the refusal.
    wrong = {"answer": _matches("s", [False, False]), "expected": _matches("r", [False])}
    judge = _judge(_claims(2, "Given"), _claims(None, "Wanted"), wrong)
    assert values(_scored(judge))["factuality"] == 0.0


def test_an_empty_answer_is_worth_nothing() -> None:
    rows = _scored(Scripted(lambda _: pytest.fail("asked")), answer=" ")
    assert {(row["value"], row["reason"]) for row in rows} == {(0.0, "empty_answer")}
    keys = {"benchmark": "b", "system": "s", "question_id": "q"}
    evaluator: Any = build("answer_correctness")
    assert evaluator.expected_calls(Sample.of(keys | SAMPLE)) == 3
    assert evaluator.expected_calls(Sample.of(keys | SAMPLE | {"answer": ""})) == 0


def test_who_cannot_be_measured_and_who_failed() -> None:
    judge = Scripted(lambda _: pytest.fail("asked"))
    for change in ({"expected_answers": [" "]}, {"expected_answers": None}, {"answer": None}):
        assert {row["status"] for row in _scored(judge, **change)} == {"not_applicable"}
    failed = _scored(judge, error="timeout")
    assert {(row["value"], row["reason"]) for row in failed} == {(0.0, "target_error")}


@pytest.mark.parametrize("reason", [JudgeError("timed out"), ParseFailure("no JSON")])
def test_either_part_keeps_its_value_when_the_other_is_lost(reason: Any) -> None:
    lost = reason.status
    rows = _scored(_judge(reason, reason, None), 0.8)
    assert [row["status"] for row in rows] == [
        reason.status,
        reason.status,
        "scored",
        reason.status,
    ]
    assert rows[2]["value"] == pytest.approx(0.8)
    rows = _scored(_counted(1, 0, 1, 0), reason)
    assert [row["status"] for row in rows] == [lost, "scored", lost, "scored"]
    assert (rows[0]["reason"], rows[1]["value"]) == (reason.reason, 1.0)
    rows = _scored(_counted(1, 0, 1, 0), None)
    assert [row["status"] for row in rows] == ["undefined", "scored", "undefined", "scored"]


@pytest.mark.parametrize("side", ["answer", "expected"])
def test_a_missing_verdict_is_a_parse_failure(side: str) -> None:
    said = {"answer": _matches("s", [True] * 2), "expected": _matches("r", [True] * 2)}
    judge = _judge(_claims(2, "Given"), _claims(2, "Wanted"), said | {side: said[side][:1]})
    rows = _scored(judge)
    assert (rows[1]["status"], rows[1]["value"]) == ("parse_failure", None)
    assert f"no verdict on {said[side][1]['key']}" in rows[1]["reason"]


def test_several_expected_answers_are_alternatives_and_the_nearest_counts() -> None:
    judge = _counted(1, 0, 1, 0)
    expected = [EXPECTED, " ", "Another one.", EXPECTED]
    rows = _scored(judge, {EXPECTED: 0.2, "Another one.": 0.6}, expected_answers=expected)
    assert values(rows)["similarity"] == pytest.approx(0.6)
    shown = judge.asked[2][0].prompt.material
    assert "Another one." in shown
    assert "Another one." not in judge.asked[1][0].prompt.material


def test_all_who_need_statements_ask_for_them_in_the_same_words() -> None:
    # Equal requests are answered once by the ledger.
    def requests(name: str) -> list[Any]:
        only = Scripted(
            lambda request: (
                _claims(1, "Claim")
                if request.reply is Statements
                else JudgeError("no verdicts wanted")
            )
        )
        row = SAMPLE | {"contexts": ["A passage."]}
        judged(build(name), row, only, embedding=Directions({}))
        return [request for request, _ in only.asked if request.reply is Statements]

    of_answer, of_expected = requests("answer_correctness")
    assert requests("faithfulness") == [of_answer]
    assert requests("context_recall") == [of_expected]
    assert of_answer != of_expected


def test_the_recorded_verdicts_of_another_tool_give_its_published_f1(shared: Path) -> None:
    path = shared / "data" / "ragchecker" / "checking_outputs.json"
    if not path.is_file():
        pytest.skip(f"missing: {path}")
    found = json.loads(path.read_text(encoding="utf-8"))
    mean = 0.0
    for result in found["results"]:
        claims = {
            side: {
                "noncommittal": False,
                "statements": [
                    {"sentence": "a", "text": " ".join(triple)}
                    for triple in result[f"{side}_claims"]
                ],
            }
            for side in ("response", "gt_answer")
        }
        held = {
            side: [verdict == "Entailment" for verdict in result[verdicts]]
            for side, verdicts in (("s", "answer2response"), ("r", "response2answer"))
        }
        said = {"answer": _matches("s", held["s"]), "expected": _matches("r", held["r"])}
        judge = _judge(claims["response"], claims["gt_answer"], said, result["response"])
        rows = _scored(
            judge,
            question=result["query"],
            answer=result["response"],
            expected_answers=[result["gt_answer"]],
        )
        symmetric = values(rows)["f1_symmetric"]
        assert symmetric == pytest.approx(result["metrics"]["f1"], rel=0, abs=1e-12)
        mean += symmetric / len(found["results"])
    assert round(100 * mean, 1) == found["metrics"]["overall"]["f1"]
