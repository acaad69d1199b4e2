"""Panels: several judges judge a sample, and their values are combined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluators.flows.requests import Ask, Flow, with_judge_calls
from evaluators.outcome import (
    Graded,
    JudgeError,
    JudgeSkipped,
    ParseFailure,
    Scores,
    Undefined,
    Unscored,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.protocols import Panel
    from evaluators.metric import Metric
    from evaluators.outcome import Value

ChangeFlow: TypeAlias = Callable[[Flow[Any]], Flow[Any]]

_EVERY_SAMPLE = 2
"""With escalation, so many members judge every sample."""

_TIE = 0.5
_ROUNDING = 1e-9


@dataclass(slots=True)
class _Member:
    """Directs the judge calls of a flow to one member of the panel.

    Attributes:
        number: The number of the member.
        is_called: Whether there was a call.
    """

    number: int
    is_called: bool = False

    def direct(self, flow: Flow[Any]) -> Flow[Any]:
        return with_judge_calls(flow, self._call)

    def _call(self, request: Ask[Any]) -> Ask[Any]:
        self.is_called = True
        return replace(request, member=self.number)


def judge_by_panel(
    panel: Panel, metrics: Sequence[Metric], attempt: Callable[[ChangeFlow], Flow[Graded]]
) -> Flow[Graded]:
    """Run the flow of a sample once for each member, and combine their scores.

    Where no judge is needed (an empty answer, say), the first run is the result.

    Args:
        panel: The panel.
        metrics: The sample metrics of the evaluator.
        attempt: Runs the flow of the sample, changed by its argument.
    """
    outcomes: list[Graded] = []
    for number in range(len(panel.members)):
        if panel.escalate and number == _EVERY_SAMPLE:
            first, second = outcomes
            if not disagree(first.scores, second.scores, metrics, panel.margin):
                break
        member = _Member(number)
        outcome = yield from attempt(member.direct)
        if not outcomes and not member.is_called:
            return outcome
        outcomes.append(outcome)
    return combine(panel, metrics, outcomes)


def disagree(one: Scores, other: Scores, metrics: Sequence[Metric], margin: float) -> bool:
    """Return whether two members disagree on the primary metric of a sample.

    They do if their values differ by more than `margin`, if one of them has no value, or if both
    have none and a failure of a judge or different statuses are the reason.
    """
    metric = next((each for each in metrics if each.primary), metrics[0])
    first, second = one[metric.name], other[metric.name]
    if isinstance(first, Unscored) and isinstance(second, Unscored):
        is_failure = isinstance(first, JudgeError | JudgeSkipped | ParseFailure)
        return is_failure or first.status != second.status
    if isinstance(first, Unscored) or isinstance(second, Unscored):
        return True
    return abs(first - second) > margin + _ROUNDING


def combine(panel: Panel, metrics: Sequence[Metric], outcomes: Sequence[Graded]) -> Graded:
    """Combine the scores of the members that judged a sample; see `_combine_values`.

    The detail is that of the first member with a value of the primary metric. It gets a field
    `panel` with `values` (by member and metric), `reasons` (why a member has no value) and, if a
    member was not asked or did not answer, `incomplete`.
    """
    names = [metric.name for metric in metrics]
    by_member = dict(zip(panel.members, outcomes, strict=False))
    scores = {
        name: _combine_values([each.scores[name] for each in outcomes], panel.combine)
        for name in names
    }
    primary = next((metric.name for metric in metrics if metric.primary), names[0])
    shown = next(
        (each for each in outcomes if not isinstance(each.scores[primary], Unscored)), outcomes[0]
    )
    reasons = {
        member: reason
        for member, outcome in by_member.items()
        if (reason := _reason(outcome.scores, primary)) is not None
    }
    evidence: dict[str, Any] = {
        "values": {
            member: {name: _number_or_none(outcome.scores[name]) for name in names}
            for member, outcome in by_member.items()
        }
    }
    if reasons:
        evidence["reasons"] = {
            member: f"{reason.status.value}: {reason.reason}" for member, reason in reasons.items()
        }
    if any(map(_may_change, (value for each in outcomes for value in each.scores.values()))):
        evidence["incomplete"] = True
    return Graded(scores, {**(shown.detail or {}), "panel": evidence}, shown.remark)


def _combine_values(given: Sequence[Value], how: str) -> Value:
    """Return the value of the members that have one, if these are more than half of them.

    `majority` is the middle value: of 1 and 0 that of the majority, or undefined for a tie. Other
    numbers have the mean of the two middle ones if there are two.
    """
    values = [value for value in given if not isinstance(value, Unscored)]
    reasons = [value for value in given if isinstance(value, Unscored)]
    if len(values) <= len(reasons):
        # A failure of a judge is the reason that another run may remove.
        return next(filter(_may_change, reasons), reasons[0])
    if how == "mean":
        return fmean(values)
    middle = float(median(values))
    if middle == _TIE and set(values) == {0.0, 1.0}:
        message = f"tie: {len(values) // 2} of {len(values)} judges give 1, the others 0"
        return Undefined(message, of_run=True)
    return middle


def _reason(scores: Scores, primary: str) -> Unscored | None:
    """Return the failure of a judge, or why the primary metric has no value; None without one."""
    for value in scores.values():
        if isinstance(value, JudgeError | JudgeSkipped | ParseFailure):
            return value
    value = scores[primary]
    return value if isinstance(value, Unscored) else None


def _may_change(value: Value) -> bool:
    return isinstance(value, JudgeError | JudgeSkipped)


def _number_or_none(value: Value) -> float | None:
    return None if isinstance(value, Unscored) else float(value)
