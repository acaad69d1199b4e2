"""Pairwise judge: wins, ties and losses in both orders, and what is decided without a judge."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.flows.panel import PanelJudge
from evaluators.flows.protocols import Engines, Panel, Repeats
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted, in_turn, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluators.flows.requests import Ask

NAME = "pairwise_judge"
BLOCK = re.compile(r"<<(\w+) \w{12}>>\n(.*?)\n<</\1 \w{12}>>", re.DOTALL)


def blocks(request: Ask[Any]) -> dict[str, str]:
    """The texts that the judge is shown, by name."""
    return dict(BLOCK.findall(request.prompt.material))


def prefers(better: Callable[[str, str], str]) -> Scripted:
    """A judge that decides by the two answers in the order shown."""

    def reply(request: Ask[Any]) -> dict[str, str]:
        shown = blocks(request)
        verdict = better(shown["first_answer"], shown["second_answer"])
        return {"reasoning": "r", "better": verdict}

    return Scripted(reply)


def by_length(first: str, second: str) -> str:
    """A consistent judge: the longer answer is better."""
    if len(first) == len(second):
        return "tie"
    return "first" if len(first) > len(second) else "second"


def sample(answer: str | None, **opponents: str | None) -> dict[str, Any]:
    met = [{"system": name, "answer": text} for name, text in opponents.items()]
    return {"question": "Why?", "answer": answer, "opponents": met}


def outcome(row: Mapping[str, Any], judge: Scripted) -> dict[str, Any]:
    """The scores of one sample by metric, and its comparisons."""
    rows = judged(build(NAME), dict(row), judge)
    found: dict[str, Any] = {each["metric"]: each["value"] for each in rows}
    found["comparisons"] = json.loads(rows[0]["detail"] or "{}").get("comparisons")
    found["statuses"] = {each["metric"]: each["status"] for each in rows}
    found["reasons"] = {each["metric"]: each["reason"] for each in rows}
    return found


def test_win_rate_is_the_mean_over_the_opponents() -> None:
    judge = prefers(by_length)
    found = outcome(sample("middle", a="short", b="very long", c="equals"), judge)
    # A win, a loss, and a tie with an answer of the same length.
    assert found["win_rate"] == pytest.approx((1 + 0 + 0.5) / 3)
    assert found["order_bias"] == 0
    assert [each["outcome"] for each in found["comparisons"]] == [1.0, 0.0, 0.5]
    assert len(judge.asked) == 6


def test_each_pair_is_shown_in_both_orders_without_names() -> None:
    judge = prefers(by_length)
    outcome(sample("mine", rival_system="its answer") | {"expected_answers": ["because"]}, judge)
    shown = [blocks(request) for request, _ in judge.asked]
    common = {"question": "Why?", "expected_answer": "because"}
    assert shown == [
        {**common, "first_answer": "mine", "second_answer": "its answer"},
        {**common, "first_answer": "its answer", "second_answer": "mine"},
    ]
    for request, _ in judge.asked:
        messages = json.dumps(request.prompt.messages(request.reply))
        assert "rival_system" not in messages
        assert '"s"' not in messages


def test_both_systems_of_a_comparison_share_its_calls() -> None:
    judge = prefers(by_length)
    outcome(sample("mine", b="its answer"), judge)
    outcome(sample("its answer", a="mine"), judge)
    prompts = [request.prompt for request, _ in judge.asked]
    assert set(prompts[:2]) == set(prompts[2:])


@pytest.mark.parametrize(
    ("said", "rate", "bias", "votes"),
    [
        (("first", "second"), 1.0, 0.0, (1, -1)),
        (("second", "first"), 0.0, 0.0, (-1, 1)),
        (("tie", "tie"), 0.5, 0.0, (0, 0)),
        (("first", "first"), 0.5, 1.0, (1, 1)),  # the position decides
        (("second", "second"), 0.5, 1.0, (-1, -1)),
        (("first", "tie"), 0.5, 1.0, (1, 0)),
        (("tie", "first"), 0.5, 1.0, (0, 1)),
    ],
)
def test_verdicts_that_change_with_the_order_are_ties(
    said: tuple[str, str], rate: float, bias: float, votes: tuple[int, int]
) -> None:
    replies = ({"reasoning": "r", "better": each} for each in said)
    found = outcome(sample("mine", b="its answer"), in_turn(*replies))
    assert (found["win_rate"], found["order_bias"]) == (rate, bias)
    (comparison,) = found["comparisons"]
    assert (comparison["shown_first"], comparison["shown_second"]) == votes
    assert comparison["reasoning"] == ["r", "r"]


@pytest.mark.parametrize(
    ("own", "other", "rate"),
    [
        ("same text", " same text\n", 0.5),
        ("", " ", 0.5),
        ("", "text", 0.0),
        ("text", "  ", 1.0),
        ("text", None, 1.0),  # the opponent failed
        ("", None, 1.0),
    ],
)
def test_some_comparisons_need_no_judge(own: str, other: str | None, rate: float) -> None:
    found = outcome(sample(own, b=other), in_turn())
    assert found["win_rate"] == rate
    assert found["statuses"]["order_bias"] == "undefined"
    assert found["reasons"]["order_bias"] == "no comparison was judged"
    (comparison,) = found["comparisons"]
    assert (comparison["outcome"], comparison["shown_first"]) == (rate, None)
    assert comparison["not_judged"]


def test_order_bias_counts_judged_comparisons_only() -> None:
    found = outcome(sample("mine", b=None, c="its answer"), prefers(lambda *_: "first"))
    assert (found["win_rate"], found["order_bias"]) == ((1 + 0.5) / 2, 1.0)


def test_a_failed_answer_loses_against_every_answer() -> None:
    row = sample("too late", b="text", c="", d=None) | {"error": "timeout"}
    found = outcome(row, in_turn())
    assert (found["win_rate"], found["statuses"]["win_rate"]) == (0.0, "scored")
    assert found["reasons"]["win_rate"] == "target_error"
    assert found["statuses"]["order_bias"] == "not_applicable"
    # Two failed answers are not compared: neither gets half a win.
    assert [(each["opponent"], each["outcome"]) for each in found["comparisons"]] == [
        ("b", 0.0),
        ("c", 0.0),
    ]


WON = {"reasoning": "r", "better": "first"}


def test_a_lost_call_is_no_loss_and_leaves_the_other_comparisons() -> None:
    replies = in_turn(WON, JudgeError("503"), WON, WON)
    found = outcome(sample("mine", b="its answer", c="another"), replies)
    # The next run repeats the call, so the sample has no value yet.
    assert (found["win_rate"], found["order_bias"]) == (None, None)
    assert set(found["statuses"].values()) == {"judge_error"}
    assert [(each["opponent"], each["outcome"]) for each in found["comparisons"]] == [("c", 0.5)]


def test_a_reply_that_cannot_be_parsed_leaves_out_its_comparison_only() -> None:
    lost = {"reasoning": "r", "better": "second"}
    replies = in_turn(WON, ParseFailure("no JSON"), WON, lost, ParseFailure("no JSON"), WON)
    found = outcome(sample("mine", b="its answer", c="another", d="a third"), replies)
    # b and d have one usable reply each; c is won in both orders.
    assert (found["win_rate"], found["order_bias"]) == (1.0, 0.0)
    assert set(found["statuses"].values()) == {"scored"}
    assert found["reasons"]["win_rate"] == "2 of 3 comparisons without a usable verdict"
    assert [each["opponent"] for each in found["comparisons"]] == ["c"]


def test_without_any_verdict_there_is_no_value() -> None:
    broken = [ParseFailure("no JSON")] * 2
    found = outcome(sample("mine", b="its answer"), in_turn(*broken))
    assert (found["win_rate"], found["order_bias"]) == (None, None)
    assert set(found["statuses"].values()) == {"parse_failure"}
    # A failed opponent is beaten without a judge.
    found = outcome(sample("mine", b="its answer", c=None), in_turn(*broken))
    assert (found["win_rate"], found["statuses"]["order_bias"]) == (1.0, "parse_failure")


def test_an_error_of_the_judge_is_repeated_even_beside_a_useless_reply() -> None:
    replies = in_turn(ParseFailure("no JSON"), JudgeError("503"))
    found = outcome(sample("mine", b="its answer"), replies)
    assert set(found["statuses"].values()) == {"judge_error"}


@pytest.mark.parametrize("said", ["A", "First", "", None, "both"])
def test_other_words_are_parse_failures(said: Any) -> None:
    found = outcome(
        sample("mine", b="its answer"), Scripted(lambda _: {"reasoning": "", "better": said})
    )
    assert found["statuses"]["win_rate"] == "parse_failure"


@pytest.mark.parametrize("opponents", [None, []])
def test_without_opponents_it_is_not_applicable(opponents: list[Any] | None) -> None:
    row = {"question": "Why?", "answer": "text", "opponents": opponents}
    found = outcome(row, in_turn())
    assert set(found["statuses"].values()) == {"not_applicable"}
    assert found["reasons"]["win_rate"] == "no opponents"


@pytest.mark.parametrize("opponents", [0, 1, 3, -2])
def test_the_number_of_opponents_is_even(opponents: int) -> None:
    with pytest.raises(BadParameters, match="opponents: expected an even number from 2"):
        build(NAME, {"opponents": opponents})


def verdicts(*better: str) -> list[dict[str, str]]:
    return [{"reasoning": "r", "better": each} for each in better]


def several_times(engines: Engines) -> tuple[dict[str, float | None], dict[str, Any]]:
    """The scores of a sample with one judged opponent, and its detail."""
    rows = score(build(NAME), samples([sample("mine", b="theirs", c=None)]), engines).long()
    values = dict(rows.select("metric", "value").rows())
    return values, json.loads(rows["detail"][0])


def test_replicates_combine_verdicts_in_each_order() -> None:
    # Won; the first answer in both orders; won.
    judge = in_turn(*verdicts("first", "second", "first", "first", "first", "second"))
    values, detail = several_times(Engines(judge=judge, repeats=Repeats(count=3)))
    assert values == {"win_rate": 1.0, "order_bias": 0.0}
    assert detail["replicates"] == [1.0, 0.75, 1.0]
    judged, failed = detail["comparisons"]
    assert (judged["outcome"], judged["shown_first"], judged["shown_second"]) == (1.0, 1, -1)
    assert (failed["opponent"], failed["outcome"]) == ("c", 1.0)


def test_a_lost_replicate_leaves_the_verdicts_of_the_others() -> None:
    replies = [JudgeError("503"), *verdicts("first"), *verdicts("second", "first") * 2]
    values, detail = several_times(Engines(judge=in_turn(*replies), repeats=Repeats(count=3)))
    assert values["win_rate"] == 0.5
    assert [each["outcome"] for each in detail["comparisons"]] == [0.0, 1.0]


def test_a_panel_combines_verdicts_in_each_order() -> None:
    members = [
        in_turn(*verdicts("first", "second")),
        in_turn(*verdicts("second", "first")),
        in_turn(*verdicts("second", "tie")),
    ]
    panel = Panel(members=("a", "b", "c"))
    values, detail = several_times(Engines(judge=PanelJudge(members, "panel"), panel=panel))
    # Win rates of 1, 0.5 and 0.75: with the failed opponent, each has one win for certain.
    assert values["win_rate"] == 0.75
    judged, _ = detail["comparisons"]
    # Shown first, two of three prefer the other; shown second, they do not agree.
    assert (judged["shown_first"], judged["shown_second"], judged["outcome"]) == (-1, 0, 0.5)


def test_estimate_of_calls() -> None:
    row = sample("mine", a="text", b=None, c="", d="mine", e="other")
    made = Sample(benchmark="b", system="s", question_id="q", **row)
    evaluator = build(NAME)
    judge = prefers(by_length)
    outcome(row, judge)
    assert evaluator.expected_calls(made) == len(judge.asked) == 4  # type: ignore[attr-defined]
