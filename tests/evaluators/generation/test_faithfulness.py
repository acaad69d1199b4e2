"""Faithfulness: statements that follow from the context, over all statements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from tests.support.scripted_judge import Scripted, by_form, judged

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = {
    "question": "When does the ferry leave?",
    "answer": "It leaves at eight from the old pier. Dogs travel free.",
    "contexts": ["The ferry leaves the old pier at eight.", " ", "Dogs need a ticket."],
}


def extracted(count: int, *, noncommittal: bool = False) -> dict[str, Any]:
    claims = [{"sentence": "a", "text": f"Statement number {n}."} for n in range(1, count + 1)]
    return {"noncommittal": noncommittal, "statements": claims}


def verdicts(supported: dict[str, bool]) -> dict[str, Any]:
    return {
        "verdicts": [
            {"statement": key, "reasoning": "", "passages": ["c0", "c9"], "supported": holds}
            for key, holds in supported.items()
        ]
    }


def _scored(
    said: dict[str, Any], claims: Any = None, judge: Scripted | None = None, **change: Any
) -> dict[str, Any]:
    given = said if "verdicts" in said else verdicts(said)
    judge = judge or by_form(Statements=claims or extracted(len(said)), Verdicts=given)
    (row,) = judged(build("faithfulness", change.pop("parameters", {})), SAMPLE | change, judge)
    return row


@pytest.mark.parametrize(
    ("supported", "value"),
    [
        ([True, True, False, True], 0.75),  # the golden examples of the specification
        ([False, False], 0.0),
        ([True], 1.0),
    ],
)
def test_share_of_statements_that_follow(supported: list[bool], value: float) -> None:
    said = {f"s{n}": holds for n, holds in enumerate(supported, start=1)}
    row = _scored(said)
    assert (row["status"], row["value"]) == ("scored", value)
    backwards = _scored(dict(reversed(said.items())))
    assert (backwards["value"], backwards["detail"]) == (value, row["detail"])


def test_the_denominator_is_ours() -> None:
    # An unknown key is dropped and counted, the same verdict given twice counts once.
    reply = verdicts({"s1": True, "s2": False, "s7": True})
    row = _scored(_with(reply), extracted(2))
    assert row["value"] == 0.5
    detail = json.loads(row["detail"])
    assert detail["unknown_keys"] == 1
    assert detail["unsupported"] == ["Statement number 2."]
    assert detail["passages"] == {"s1": ["c0"]}


def _with(reply: dict[str, Any], **other: Any) -> dict[str, Any]:
    """A reply whose first verdict is given once more, with something changed."""
    return {"verdicts": [*reply["verdicts"], reply["verdicts"][0] | other]}


BOTH = verdicts({"s1": True, "s2": True})


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (verdicts({"s1": True}), "no verdict on s2"),
        (_with(BOTH, supported=False), "contradictory verdicts on s1"),
        (_with(BOTH, supported="yes"), "bool"),
    ],
)
def test_a_verdict_that_is_missing_torn_or_no_verdict(said: Any, fault: str) -> None:
    row = _scored(said, extracted(2))
    assert (row["status"], row["value"]) == ("parse_failure", None)
    assert fault in row["reason"]


def test_keys_may_be_given_as_they_are_shown() -> None:
    row = _scored({"[s1]": True, "s2.": False})
    assert row["value"] == 0.5


def test_an_answer_without_claims_has_no_value_by_default() -> None:
    evasive = extracted(0, noncommittal=True)
    row = _scored({}, evasive)
    assert (row["status"], row["value"]) == ("undefined", None)
    assert row["reason"].startswith("no_claims")
    told = _scored({}, evasive, parameters={"no_claims_score": 1.0})
    assert (told["status"], told["value"], told["reason"]) == ("scored", 1.0, "no_claims")
    with pytest.raises(BadParameters, match=r"0\.5"):
        build("faithfulness", {"no_claims_score": 0.5})


def test_an_evasive_answer_that_states_something_is_judged() -> None:
    assert _scored({"s1": True}, extracted(1, noncommittal=True))["value"] == 1.0


def test_an_answer_of_one_word_is_one_statement() -> None:
    judge = by_form(Statements=extracted(0), Verdicts=verdicts({"s1": True}))
    assert _scored({}, judge=judge, answer="Yes")["value"] == 1.0
    assert "[s1] Yes" in judge.asked[1][0].prompt.material


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        ({"answer": " "}, "empty_answer"),
        ({"contexts": []}, "no_context"),
        ({"contexts": ["", "\n"]}, "no_context"),
    ],
)
def test_nothing_answered_or_retrieved_is_worth_nothing(
    change: dict[str, Any], remark: str
) -> None:
    judge = Scripted(lambda _: pytest.fail("asked"))
    row = _scored({}, judge=judge, **change)
    assert (row["value"], row["reason"]) == (0.0, remark)
    assert build("faithfulness").expected_calls(_sample(**change)) == 0


def _sample(**change: Any) -> Sample:
    return Sample.of({"benchmark": "b", "system": "s", "question_id": "q", **SAMPLE, **change})


def test_who_cannot_be_measured_and_who_failed() -> None:
    judge = Scripted(lambda _: pytest.fail("asked"))
    assert _scored({}, judge=judge, contexts=None)["status"] == "not_applicable"
    failed = _scored({}, judge=judge, error="timeout")
    assert (failed["value"], failed["reason"]) == (0.0, "target_error")


@pytest.mark.parametrize("reason", [JudgeError("timed out"), ParseFailure("no JSON")])
def test_judge_failures_give_no_score(reason: Any) -> None:
    for replies in ({"Statements": reason}, {"Statements": extracted(1), "Verdicts": reason}):
        row = _scored({}, judge=by_form(**replies))
        assert (row["status"], row["value"], row["reason"]) == (reason.status, None, reason.reason)


def test_the_judge_splits_without_the_context_and_verifies_with_all_of_it() -> None:
    judge = by_form(Statements=extracted(1), Verdicts=verdicts({"s1": True}))
    _scored({}, judge=judge)
    split, verify = (asked.prompt.material for asked, _ in judge.asked)
    assert "[b] Dogs travel free." in split
    assert "old pier at eight" not in split
    assert "[c0] The ferry leaves the old pier at eight." in verify
    assert "[c2] Dogs need a ticket." in verify
    assert "[c1]" not in verify
    assert build("faithfulness").expected_calls(_sample()) == len(judge.asked)


def test_the_recorded_verdicts_of_another_tool_give_its_published_values(shared: Path) -> None:
    path = shared / "data" / "ragchecker" / "checking_outputs.json"
    if not path.is_file():
        pytest.skip(f"missing: {path}")
    found = json.loads(path.read_text(encoding="utf-8"))
    mean = 0.0
    for result in found["results"]:
        claims = [" ".join(triple) for triple in result["response_claims"]]
        holds = ["Entailment" in verdicts for verdicts in result["retrieved2response"]]
        judge = by_form(
            Statements={
                "noncommittal": False,
                "statements": [{"sentence": "a", "text": claim} for claim in claims],
            },
            Verdicts=verdicts({f"s{n}": held for n, held in enumerate(holds, start=1)}),
        )
        row = _scored(
            {},
            judge=judge,
            question=result["query"],
            answer=result["response"],
            contexts=[passage["text"] for passage in result["retrieved_context"]],
        )
        assert row["value"] == pytest.approx(result["metrics"]["faithfulness"], rel=0, abs=1e-12)
        mean += row["value"] / len(found["results"])
    assert round(100 * mean, 1) == found["metrics"]["generator"]["faithfulness"]
