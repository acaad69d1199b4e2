"""Panels: how the values of several judges become one, and who judges what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.flows.panel import PanelJudge, panel_identity
from evaluators.flows.protocols import Engines, Panel
from evaluators.kinds.panel import combine, disagree
from evaluators.metric import Metric
from evaluators.outcome import (
    Graded,
    JudgeError,
    JudgeSkipped,
    NotApplicable,
    ParseFailure,
    Undefined,
    Unscored,
)
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted, in_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTEXT = ["One is here. Two is here. Three is here. Four is here."]
ROW = {"question": "Which?", "contexts": CONTEXT}
NAMES = ("a", "b", "c", "d", "e")
METRIC = Metric(name="m", summary="A number.", primary=True)


def useful(count: int) -> dict[str, Any]:
    """A reply that finds so many of the four sentences useful."""
    return {"reasoning": "", "useful_keys": ["0a", "0b", "0c", "0d"][:count]}


def judged(judges: Sequence[Scripted], row: dict[str, Any] = ROW, **keys: Any) -> dict[str, Any]:
    panel = Panel(members=NAMES[: len(judges)], **keys)
    engines = Engines(judge=PanelJudge(judges, "panel"), panel=panel)
    (found,) = score(build("context_relevancy"), samples([row]), engines).long().rows(named=True)
    return found


def combined(values: Sequence[float | Unscored], how: Any = "majority") -> float | Unscored:
    panel = Panel(members=NAMES[: len(values)], combine=how)
    return combine(panel, [METRIC], [Graded({"m": each}) for each in values]).scores["m"]


FAILED, SKIPPED, UNPARSED = JudgeError("timeout"), JudgeSkipped("no key"), ParseFailure("?")


@pytest.mark.parametrize(
    ("values", "majority", "mean"),
    [
        ([1.0, 1.0, 0.0], 1.0, 2 / 3),
        ([0.0, 1.0, 0.0], 0.0, 1 / 3),
        ([0.1, 0.5, 0.7], 0.5, 1.3 / 3),
        ([0.2, 0.4], 0.3, 0.3),
        ([0.0, 0.5, 0.5, 1.0], 0.5, 0.5),
        # Without the failed member a majority is left.
        ([FAILED, 1.0, 1.0], 1.0, 1.0),
        ([FAILED, 0.2, 0.4], 0.3, 0.3),
        ([1.0, 0.0, FAILED, 0.0, UNPARSED], 0.0, 1 / 3),
        # Half of the members are too few, whatever they say.
        ([FAILED, 1.0], FAILED, FAILED),
        ([1.0, UNPARSED, 1.0, FAILED], FAILED, FAILED),
        ([UNPARSED, UNPARSED, 0.0], UNPARSED, UNPARSED),
        ([UNPARSED, SKIPPED, 0.0], SKIPPED, SKIPPED),
        ([NotApplicable("x")] * 2, NotApplicable("x"), NotApplicable("x")),
    ],
)
def test_values_are_combined(
    values: list[float | Unscored], majority: float | Unscored, mean: float | Unscored
) -> None:
    for how, expected in (("majority", majority), ("mean", mean)):
        found = combined(values, how)
        if isinstance(expected, Unscored):
            assert (type(found), str(found)) == (type(expected), str(expected))
        else:
            assert found == pytest.approx(expected)


@pytest.mark.parametrize("values", [[1.0, 0.0], [0.0, FAILED, 1.0], [1.0, 0.0, 0.0, 1.0]])
def test_a_tie_is_undefined(values: list[float | Unscored]) -> None:
    found = combined(values)
    assert isinstance(found, Undefined)
    count = sum(not isinstance(value, Unscored) for value in values)
    assert found.reason == f"tie: {count // 2} of {count} judges give 1, the others 0"
    assert combined(values, "mean") == 0.5


def test_the_order_of_the_members_does_not_matter() -> None:
    for how in ("majority", "mean"):
        assert combined([0.1, 0.7, 0.4], how) == combined([0.7, 0.4, 0.1], how)


def test_each_member_is_asked_once_and_counts_its_own_steps() -> None:
    judges = [in_turn(useful(count)) for count in (1, 4, 2)]
    row = judged(judges)
    assert row["value"] == 0.5
    assert json.loads(row["detail"])["panel"] == {
        "values": {
            "a": {"context_relevancy": 0.25},
            "b": {"context_relevancy": 1.0},
            "c": {"context_relevancy": 0.5},
        }
    }
    for member, judge in enumerate(judges):
        ((request, origin),) = judge.asked
        assert (request.member, request.replicate, origin.step) == (member, 0, 0)


def test_each_member_counts_its_own_calls() -> None:
    """The ledger records which sample needed which call, by member and step."""
    asked: list[tuple[int, int]] = []

    class Recorder:
        identity = "recorder"

        def ask(self, request: Any, origin: Any) -> Any:
            asked.append((origin.member, origin.step))
            return in_turn(useful(1)).ask(request, origin)

    engines = Engines(judge=Recorder(), panel=Panel(members=NAMES[:3]))
    score(build("context_relevancy"), samples([ROW]), engines)
    assert asked == [(0, 0), (1, 0), (2, 0)]


def test_a_failed_member_leaves_the_vote_and_is_named() -> None:
    row = judged([in_turn(useful(1)), in_turn(JudgeError("timeout")), in_turn(useful(3))])
    assert (row["value"], row["status"]) == (0.5, "scored")
    evidence = json.loads(row["detail"])["panel"]
    assert evidence["values"]["b"] == {"context_relevancy": None}
    assert evidence["reasons"] == {"b": "judge_error: timeout"}
    assert evidence["incomplete"] is True
    row = judged([in_turn(useful(1)), in_turn(ParseFailure("?")), in_turn(useful(3))])
    assert "incomplete" not in json.loads(row["detail"])["panel"]


def test_without_a_call_there_is_no_vote() -> None:
    judges = [in_turn(), in_turn(), in_turn()]
    row = judged(judges, {"question": "Which?", "contexts": [""]})
    assert row["status"] != "scored" or row["value"] == 0.0
    assert "panel" not in (row["detail"] or "")
    assert not any(judge.asked for judge in judges)


@pytest.mark.parametrize(
    ("first", "second", "calls"),
    [
        (useful(2), useful(2), 0),
        (useful(2), useful(3), 1),
        (useful(2), ParseFailure("?"), 1),
        (JudgeError("timeout"), JudgeError("timeout"), 1),
    ],
)
def test_others_judge_only_where_the_first_two_disagree(
    first: Any, second: Any, calls: int
) -> None:
    third = in_turn(useful(2))
    row = judged([in_turn(first), in_turn(second), third], escalate=True, margin=0.1)
    assert len(third.asked) == calls
    assert ("c" in json.loads(row["detail"])["panel"]["values"]) == bool(calls)
    if not isinstance(first, JudgeError):
        assert row["value"] == 0.5


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (0.5, 0.6, False),
        (0.7, 0.8, False),  # 0.8 - 0.7 is a little more than 0.1
        (0.5, 0.61, True),
        (1.0, 0.0, True),
        (Undefined("no claims"), Undefined("other words"), False),
        (Undefined("no claims"), 1.0, True),
        (Undefined("no claims"), NotApplicable("x"), True),
        (ParseFailure("?"), ParseFailure("?"), True),
    ],
)
def test_disagreement(one: float | Unscored, other: float | Unscored, expected: bool) -> None:
    assert disagree({"m": one}, {"m": other}, [METRIC], 0.1) == expected
    assert disagree({"m": other}, {"m": one}, [METRIC], 0.1) == expected


def test_evaluators_without_a_judge_have_no_panel() -> None:
    engines = Engines(judge=PanelJudge([in_turn()] * 2, "panel"), panel=Panel(members=NAMES[:2]))
    evaluator = build("perplexity")
    row = {"question": "Which?", "answer": "This one."}
    (found,) = score(evaluator, samples([row]), engines).frame.rows(named=True)
    assert "panel" not in (found["detail"] or "")


def test_the_identity_names_members_and_combination() -> None:
    panel = Panel(members=("a", "b"))
    plain = panel_identity(panel, ["a {}", "b {}"])
    assert plain == "panel majority [a {}; b {}]"
    others = [
        panel_identity(Panel(members=("a", "b"), combine="mean"), ["a {}", "b {}"]),
        panel_identity(Panel(members=("a", "b"), escalate=True), ["a {}", "b {}"]),
        panel_identity(panel, ["a {}", "b {1}"]),
    ]
    assert len({plain, *others}) == 4
