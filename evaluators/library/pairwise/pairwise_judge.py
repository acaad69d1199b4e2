"""Pairwise judge: how often an answer is better than those of other systems."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import JUDGE, ask_each
from evaluators.kinds.pairwise import STRENGTH, PairwiseEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, ParseFailure, Undefined, Unscored
from evaluators.statistics.pairwise.verdicts import (
    LOSS,
    TIE,
    WIN,
    Vote,
    order_bias,
    outcome_of,
)
from evaluators.text.references import numbered_alternatives
from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from evaluators.flows.prompt import Prompt
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

PREFER = Instruction(
    "The blocks `first_answer` and `second_answer` are two answers to the question in the block "
    "`question`. Decide which of them serves the person who asked better. What counts first is "
    "whether an answer is right and does what the question asks for; then whether it leaves out "
    "what matters; then whether it is clear. If there is a block `expected_answer`, it is a right "
    "answer, or lists several of which any is right: an answer that contradicts it is wrong. "
    "Neither length, nor order, nor tone is a merit: an answer that says the same in fewer words "
    "is no worse. In `reasoning`, name the differences that matter before you decide. Set "
    "`better` to `first` or `second`; to `tie` if both are equally good or equally bad."
)

_VOTES: Mapping[str, Vote] = {"first": 1, "second": -1, "tie": 0}

FAILED = "the opponent gave no answer"
EMPTY = "one answer is empty"
EQUAL = "both answers are the same"


class Preference(Reply):
    """Which of two answers is better."""

    reasoning: str
    better: Literal["first", "second", "tie"]


@dataclass(frozen=True, kw_only=True)
class PairwiseJudge(PairwiseEvaluator):
    """How often is the answer better than those of other systems to the same question?

    The judge compares the answer with those of `opponents` other systems, each pair in both orders.
    An answer wins a comparison if it is preferred in both, and loses if the other one is; a verdict
    that changes with the order is a tie. The win rate is the mean over the comparisons: 1 for a
    win, 0.5 for a tie, 0 for a loss. If some systems meet stronger opponents than others, compare
    them by `strength`: it is the system's log-strength in the Bradley-Terry model, with Davidson's
    extension for ties, fitted to the comparisons of all systems, with the mean 0. A difference of
    1 means odds of 2.7 to 1 of a win against a loss.

    `order_bias` is about the judge: the share of comparisons whose verdict changes with the order.
    The table `pairwise` also says which position the judge prefers.

    Opponents are chosen by a hash of the question: the systems of a question stand in a ring, and
    each meets its neighbours. With 20 systems and 4 opponents a question takes 80 calls, not 380,
    all systems stay connected, and a new system changes few comparisons. The prompt does not name
    the systems, so both samples of a comparison share its two calls.

    Sources: Zheng and others, arXiv 2306.05685, for both orders; Chiang and others, arXiv
    2403.04132, for the model; Bradley and Terry, 1952; Davidson, 1970.

    Edges: equal answers tie, and an empty answer loses against any text (two of them tie), without
    a judge call. A failed answer loses against every answer and has win rate 0; two failed answers
    are not compared, so that failing never gains half a win. Without any comparison that was
    judged there is no order bias. Each comparison counts on its own: if a reply cannot be parsed,
    only this comparison is left out, and the reason says how many are; without any other one the
    sample has no value. If a call fails, the sample has no value until a later run repeats the
    call, but its other comparisons count for strengths. No opponents: not applicable. A system that
    won or lost everything, or is not connected with the others, has no strength but the reason.
    """

    metrics = (
        Metric(
            name="win_rate",
            summary="Share of comparisons with other systems that the answer wins; ties count "
            "one half.",
            threshold=None,
            primary=True,
        ),
        Metric(
            name=STRENGTH,
            summary="Bradley-Terry log-strength of the system, with the mean 0 over systems.",
            bounds=(float("-inf"), float("inf")),
            threshold=None,
            level="system",
        ),
        Metric(
            name="order_bias",
            summary="Share of comparisons whose verdict changes with the order of the answers.",
            best="low",
            threshold=None,
        ),
    )
    reads = frozenset({"question", "answer", "opponents"})
    optional = frozenset({"expected_answers"})
    non_empty = frozenset({"question", "opponents"})
    version = 2
    needs = frozenset({JUDGE})
    prompts = (PREFER,)
    replies = (Preference,)

    def expected_calls(self, sample: Sample) -> int:
        """Return two for each comparison that needs the judge."""
        decided = [_decide(sample.answer or "", each["answer"]) for each in sample.opponents or ()]
        return 2 * decided.count(None)

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare the answer with each opponent's, in both orders."""
        own = sample.answer or ""
        opponents = {each["system"]: each["answer"] for each in sample.opponents or ()}
        judged = {name: text for name, text in opponents.items() if _decide(own, text) is None}
        replies = yield from ask_each(
            Preference,
            [
                _prompt(sample, first, second)
                for text in judged.values()
                for first, second in ((own, text or ""), (text or "", own))
            ],
        )
        votes = dict(zip(judged, zip(replies[::2], replies[1::2], strict=True), strict=True))
        comparisons: list[dict[str, Any]] = []
        lost: dict[str, Unscored] = {}
        for name, text in opponents.items():
            decided = _decide(own, text)
            if decided is not None:
                comparisons.append(_comparison(name, *decided))
                continue
            shown_first, shown_second = votes[name]
            if isinstance(shown_first, Unscored) or isinstance(shown_second, Unscored):
                lost[name] = _reason_of(shown_first, shown_second)
                continue
            both = _VOTES[shown_first.better], _VOTES[shown_second.better]
            comparisons.append(
                {
                    "opponent": name,
                    "outcome": outcome_of(*both),
                    "shown_first": both[0],
                    "shown_second": both[1],
                    "reasoning": [shown_first.reasoning, shown_second.reasoning],
                }
            )
        return _grade(comparisons, lost)

    def on_failure(self, sample: Sample) -> Graded:
        """Lose against every opponent that answered; a failed answer is not judged."""
        lost = [
            _comparison(each["system"], LOSS, "the system gave no answer")
            for each in sample.opponents or ()
            if each["answer"] is not None
        ]
        unjudged = NotApplicable("a failed answer is not judged")
        return Graded({"order_bias": unjudged}, {"comparisons": lost})


def _reason_of(*replies: Preference | Unscored) -> Unscored:
    """Return the reason why a comparison is lost; one that a later run may remove comes first."""
    reasons = [each for each in replies if isinstance(each, Unscored)]
    return min(reasons, key=lambda each: isinstance(each, ParseFailure))


def _grade(comparisons: list[dict[str, Any]], lost: Mapping[str, Unscored]) -> Graded:
    """Return the scores of a sample from its comparisons and the reasons for the lost ones."""
    changed = order_bias(
        [
            (each["shown_first"], each["shown_second"])
            for each in comparisons
            if each["shown_first"] is not None
        ]
    ).changed
    detail: dict[str, Any] = {"comparisons": comparisons}
    remark = None
    unjudged: Unscored = Undefined("no comparison was judged")
    if lost:
        unjudged = _reason_of(*lost.values())
        detail["lost"] = [
            {"opponent": name, "status": each.status.value, "reason": each.reason}
            for name, each in lost.items()
        ]
        if not comparisons or not isinstance(unjudged, ParseFailure):
            return Graded(dict.fromkeys(("win_rate", "order_bias"), unjudged), detail)
        count = len(comparisons) + len(lost)
        remark = f"{len(lost)} of {count} comparisons without a usable verdict"
    return Graded(
        {
            "win_rate": fmean(each["outcome"] for each in comparisons),
            "order_bias": unjudged if changed is None else changed,
        },
        detail,
        remark,
    )


def _decide(own: str, other: str | None) -> tuple[float, str] | None:
    """Return the outcome for the own answer, and why, where no judge is needed."""
    if other is None:
        return WIN, FAILED
    if compose(own.strip()) == compose(other.strip()):
        return TIE, EQUAL
    if not own.strip() or not other.strip():
        return (WIN if own.strip() else LOSS), EMPTY
    return None


def _prompt(sample: Sample, first: str, second: str) -> Prompt:
    return PREFER.prompt(
        question=sample.question,
        expected_answer=numbered_alternatives(sample.expected_answers) or None,
        first_answer=first,
        second_answer=second,
    )


def _comparison(opponent: str, outcome: float, why: str) -> dict[str, Any]:
    return {
        "opponent": opponent,
        "outcome": outcome,
        "shown_first": None,
        "shown_second": None,
        "not_judged": why,
    }
