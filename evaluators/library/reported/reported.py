"""Reported: what another tool scored, as a metric."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import NotApplicable, Scores, Undefined
from records.similar_names import did_you_mean, most_similar

if TYPE_CHECKING:
    from collections.abc import Collection

    from evaluators.sample import Sample

_PASS_FAIL = (0.0, 1.0)
_LISTED = 5


@dataclass(frozen=True, kw_only=True)
class Reported(RowEvaluator):
    """What did another tool say of the answer?

    The value is the number of this name in the field `reported` of the prediction; true is 1, and
    false is 0. Formats fill the field with what their tool scored, such as assertions of promptfoo.
    One evaluator reads one name, so list it once for each: `evaluators: [{theirs: reported}]` with
    `parameters: {theirs: {name: pass}}` gives the metric `theirs.value`.

    Source: the other tool; nothing is computed.

    Edges: an answer of which nothing was reported, or nothing by this name, is not applicable; the
    reason lists the most similar names. A value outside of the bounds is undefined, as is a value
    between 0 and 1 with `pass_fail`. A failed answer has the worst value, whatever was reported of
    it, if something was reported of any answer of its system.

    Attributes:
        name_: The name of the value; empty: the name of the evaluator.
        bounds: The lowest and the highest value; null: there is no bound on that side.
        best: Whether high or low values are better.
        pass_fail: Whether each answer passes or fails, so that several answers to a question have
            pass rates. The threshold of the source is then 0.5.
    """

    metrics = (
        Metric(name="value", summary="What another tool scored.", threshold=None, primary=True),
    )
    reads = frozenset({"reported"})

    name_: str = ""
    bounds: tuple[float | None, float | None] = _PASS_FAIL
    best: Literal["high", "low"] = "high"
    pass_fail: bool = False

    def __post_init__(self) -> None:
        """Validate the bounds.

        Raises:
            ValueError: They are not in order, or not 0 and 1 although answers pass or fail.
        """
        if self.pass_fail and self.bounds != _PASS_FAIL:
            raise ValueError(f"bounds must be [0, 1] with pass_fail, got {list(self.bounds)}")
        self.measured()

    def measured(self) -> tuple[Metric, ...]:
        """Return the value with its bounds and direction."""
        low, high = self.bounds
        (value,) = self.metrics
        return (
            replace(
                value,
                best=self.best,
                bounds=(-math.inf if low is None else low, math.inf if high is None else high),
                threshold=0.5 if self.pass_fail else None,
                pass_fail=self.pass_fail,
            ),
        )

    @property
    def reads_name(self) -> str:
        """The name of the value that it reads."""
        return self.name_ or self.name

    def grade(self, sample: Sample) -> Scores:
        """Return the value of the name."""
        reported = json.loads(sample.reported or "{}")
        if self.reads_name not in reported:
            raise NotApplicable(missing_name(self.reads_name, reported))
        value = float(reported[self.reads_name])
        low, high = self.measured()[0].bounds
        if not low <= value <= high:
            raise Undefined(f"{value:g} is not within {low:g} and {high:g}: set `bounds`")
        if self.pass_fail and value not in _PASS_FAIL:
            raise Undefined(f"{value:g} is neither a pass (1) nor a failure (0)")
        return {"value": value}


def missing_name(name: str, reported: Collection[str]) -> str:
    """Return that a name was not reported, and the most similar ones that were."""
    if not reported:
        return "nothing was reported"
    names = sorted(reported)
    listed = ", ".join(map(repr, most_similar(name, names, _LISTED)))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{name!r} was not reported{did_you_mean(name, names)}: {listed}{more}"
