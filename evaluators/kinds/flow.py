"""Evaluators that ask engines: generators that yield requests and are sent the answers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from evaluators.errors import BrokenPromise, Unavailable
from evaluators.evaluator import SETTLED, Evaluator
from evaluators.flows.protocols import NO_ENGINES, Engines, Origin
from evaluators.flows.requests import repeated
from evaluators.flows.scheduler import Scheduler
from evaluators.kinds.row import record, records
from evaluators.outcome import Graded, NotApplicable, Scores, TargetError, Unscored, graded
from evaluators.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evaluators.flows.prompt import Instruction
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Flow
    from evaluators.outcome import Value


NOBODY = "none"
"""The identity of an engine that is not configured."""

_TORN = 0.5


@dataclass(frozen=True, kw_only=True)
class FlowEvaluator(Evaluator):
    """Computes its metrics from what engines answer.

    Attributes:
        needs: The engines it asks, by role: `judge`, `embedding`, `entailment`, ...
        prompts: Every wording it puts to the judge; their digests are part of the signature.
        replies: Every form of reply it asks for; their schemas are part of it, too.
        spared: Engines that only some metrics need, with these metrics: where such an engine is
            absent, only they have no value.
        answered_by: Identity of each engine it asks, by role; set by the configuration and no
            parameter. Scores of different engines are not comparable.
    """

    needs: ClassVar[frozenset[str]]
    prompts: ClassVar[tuple[Instruction, ...]] = ()
    replies: ClassVar[tuple[type[Reply], ...]] = ()
    spared: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    answered_by: tuple[tuple[str, str], ...] = field(default=(), metadata=SETTLED)

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[Scores | Graded]:
        """Yield requests, and return the value of every sample metric or why it has none.

        Raises:
            Unscored: When the reason holds for all metrics.
        """

    def asked(self) -> frozenset[str]:
        """The engines that these parameters ask; `needs` unless a parameter names others."""
        return self.needs

    def calls(self, sample: Sample) -> int:  # noqa: ARG002 - for those whose calls depend on it
        """How many questions a sample is likely to cost, for estimates before a run."""
        return len(self.prompts)

    def on_failure(self, sample: Sample) -> Graded:  # noqa: ARG002 - for those who override it
        """Say what scoring cannot know of a sample that the system failed to answer."""
        return Graded({})

    def on_reason(self, reason: Unscored) -> Scores:
        """The scores of a sample whose flow ended with a reason; that reason for each metric."""
        return dict.fromkeys([metric.name for metric in self.sample_metrics], reason)

    def on_labels(self, labels: Mapping[str, float]) -> Scores:
        """The scores of a sample that people judged: by metric, what they said and what follows."""
        missing = NotApplicable("no person gave this number")
        return {metric.name: labels.get(metric.name, missing) for metric in self.sample_metrics}

    def answering(self, identities: Mapping[str, str]) -> FlowEvaluator:
        """The same evaluator, which knows who will answer it."""
        known = tuple((role, identities.get(role, NOBODY)) for role in sorted(self.asked()))
        return replace(self, answered_by=known)

    @property
    def is_configured(self) -> bool:
        """Whether every engine that it asks is configured; whether it works is another matter."""
        return bool(self.answered_by) and all(name != NOBODY for _, name in self.answered_by)

    def identity(self) -> Sequence[str]:
        """What else the numbers depend on: wordings, forms of reply, engines."""
        return [
            *(f"prompt:{instruction.digest}" for instruction in self.prompts),
            *(f"reply:{reply.digest()}" for reply in self.replies),
            *(f"{role}:{name}" for role, name in self.answered_by),
        ]

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:
        """Run the flow of every sample; see the base class."""
        try:
            return self._computed(samples, engines, None)
        except Unavailable as reason:
            # Known only when the model was to be loaded; it then holds for every sample.
            return self._computed(samples, engines, str(reason))

    def flows(
        self, samples: pl.DataFrame, engines: Engines, lacking: str | None = None
    ) -> Iterator[tuple[Origin, Flow[Graded]]]:
        """The flow of every sample, with the origin of its first question.

        Args:
            samples: As for `compute`.
            engines: The engines that will answer; whether they can is looked up first.
            lacking: What is known to be in the way already.
        """
        if samples.is_empty():
            return
        lacking = lacking or engines.lacking(self.asked() - set(self.spared))
        engines = self._bearing(engines)
        # A passage of which only the document is known has no text, but keeps its place.
        texts = pl.col(pl.List(pl.String)).list.eval(pl.element().fill_null(""))
        for row in samples.with_columns(texts).iter_rows(named=True):
            sample = Sample.of(row)
            yield self._origin(sample), self._whole(sample, engines, lacking)

    def _computed(
        self, samples: pl.DataFrame, engines: Engines, lacking: str | None
    ) -> pl.DataFrame:
        names = [metric.name for metric in self.sample_metrics]
        rows: list[tuple[Any, ...] | None] = [None] * samples.height
        engines = self._bearing(engines)
        flows = self.flows(samples, engines, lacking)
        for place, result in Scheduler[Graded](engines).run(flows):
            rows[place] = record(self.name, names, result)
        complete = [row for row in rows if row is not None]
        if len(complete) != samples.height:
            raise BrokenPromise(f"{self.name}: {samples.height - len(complete)} flows never ended")
        return records(names, complete)

    def _bearing(self, engines: Engines) -> Engines:
        """The engines, with a reason in the place of each that is not there and can be spared."""
        for role in self.spared:
            absent = engines.lacking({role} & self.asked())
            if absent is not None:
                engines = engines.without(role, absent)
        return engines

    def _origin(self, sample: Sample) -> Origin:
        return Origin(sample.benchmark, sample.system, sample.question_id, self.name, 0)

    def _whole(self, sample: Sample, engines: Engines, lacking: str | None) -> Flow[Graded]:
        """The flow of a sample with all that is the same for every evaluator."""
        if lacking is not None:
            raise NotApplicable(lacking)
        if sample.error is not None:
            failed = {m.name: TargetError("the system gave no answer") for m in self.sample_metrics}
            spared = {
                name: NotApplicable(engines.absent[role])
                for role, names in self.spared.items()
                if role in engines.absent and engines.labels is None
                for name in names
            }
            special = self.on_failure(sample)
            return replace(special, scores={**failed, **spared, **special.scores})
        if engines.labels is not None:
            return Graded(self.on_labels(engines.labels.of(self._origin(sample))))
        outcomes = [(yield from self._attempt(sample, 0))]
        wanted = engines.repeats.count
        if self._doubtful(outcomes[0], engines.repeats.margin):
            wanted = max(wanted, engines.repeats.escalated)
        for replicate in range(1, wanted):
            outcome = yield from self._attempt(sample, replicate)
            outcomes.append(outcome)
        return outcomes[0] if len(outcomes) == 1 else self._middle(outcomes)

    def _attempt(self, sample: Sample, replicate: int) -> Flow[Graded]:
        flow = self.flow(sample)
        try:
            return graded((yield from repeated(flow, replicate) if replicate else flow))
        except Unscored as reason:
            return Graded(self.on_reason(reason))

    def _doubtful(self, outcome: Graded, margin: float) -> bool:
        """Whether the primary metric is as near to its threshold as `margin`."""
        metric = next((m for m in self.sample_metrics if m.primary), None)
        if metric is None or metric.threshold is None:
            return False
        value = outcome.scores.get(metric.name)
        return isinstance(value, float | int) and abs(value - metric.threshold) <= margin

    def _middle(self, outcomes: Sequence[Graded]) -> Graded:
        """The median of each metric that most replicates gave; of 0 and 1, the majority."""
        scores: dict[str, Value] = {}
        for metric in self.sample_metrics:
            given = [outcome.scores[metric.name] for outcome in outcomes]
            values = [value for value in given if not isinstance(value, Unscored)]
            reasons = [value for value in given if isinstance(value, Unscored)]
            middle = median(values) if len(values) > len(reasons) else None
            # Of two verdicts that are left after a loss, neither is the majority.
            torn = middle == _TORN and set(values) == {0.0, 1.0}
            scores[metric.name] = reasons[0] if middle is None or torn else middle
        primary = next((m.name for m in self.sample_metrics if m.primary), None)
        said = [] if primary is None else [_plain(each.scores[primary]) for each in outcomes]
        detail = {**(outcomes[0].detail or {}), "replicates": said}
        return Graded(scores, detail, outcomes[0].remark)


def _plain(value: Value) -> float | str:
    return value.status.value if isinstance(value, Unscored) else float(value)
