"""Evaluators that call engines: generators that yield requests and receive the answers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from calls.call import Origin
from evaluators.errors import BrokenPromise, Unavailable
from evaluators.evaluator import NOT_A_PARAMETER, Evaluator
from evaluators.flows.panel import PANEL
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.flows.requests import JUDGE, as_replicate
from evaluators.flows.scheduler import Scheduler
from evaluators.kinds.panel import judge_by_panel
from evaluators.kinds.row import outcome_frame, outcome_row
from evaluators.outcome import Graded, NotApplicable, Scores, TargetError, Unscored, as_graded
from evaluators.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evaluators.flows.prompt import Instruction
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Flow
    from evaluators.kinds.panel import ChangeFlow
    from evaluators.outcome import Value


NOT_CONFIGURED = "none"
"""The identity of an engine that is not configured."""

_TIE = 0.5


@dataclass(frozen=True, kw_only=True)
class FlowEvaluator(Evaluator):
    """Computes its metrics from the answers of engines.

    Attributes:
        needs: The roles of the engines that it calls: `judge`, `embedding`, `entailment`, ...
        prompts: Every instruction it sends to the judge; their digests are part of the signature.
        replies: Every reply schema it uses; their digests are part of the signature, too.
        optional_engines: Roles that only some metrics need, with these metrics. If such an engine
            is missing, only these metrics have no value.
        engine_identities: The identity of each engine it calls, by role. The configuration sets
            it; it is not a parameter. Scores by different engines are not comparable.
    """

    needs: ClassVar[frozenset[str]]
    prompts: ClassVar[tuple[Instruction, ...]] = ()
    replies: ClassVar[tuple[type[Reply], ...]] = ()
    optional_engines: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    engine_identities: tuple[tuple[str, str], ...] = field(default=(), metadata=NOT_A_PARAMETER)

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[Scores | Graded]:
        """Yield requests, and return each sample metric's value or the reason why it has none.

        Raises:
            Unscored: The reason holds for all metrics.
        """

    def engine_roles(self) -> frozenset[str]:
        """Return the roles of the engines to call; `needs` unless a parameter changes them."""
        return self.needs

    def expected_calls(self, sample: Sample) -> int:  # noqa: ARG002 - overridden where it matters
        """Return how many judge calls a sample is likely to need, for estimates before a run."""
        return len(self.prompts)

    def on_failure(self, sample: Sample) -> Graded:  # noqa: ARG002 - overridden where it matters
        """Return the scores of a failed answer that differ from the worst value."""
        return Graded({})

    def on_reason(self, reason: Unscored) -> Scores:
        """Return the scores of a sample whose flow raised a reason: the reason for each metric."""
        return dict.fromkeys([metric.name for metric in self.sample_metrics], reason)

    def on_labels(self, labels: Mapping[str, float]) -> Scores:
        """Return the scores of a sample with human labels: the labels and what they imply."""
        missing = NotApplicable("no person gave this number", of_run=True)
        return {metric.name: labels.get(metric.name, missing) for metric in self.sample_metrics}

    def combine_details(
        self,
        details: Sequence[Mapping[str, Any]],  # noqa: ARG002 - overridden where it matters
    ) -> Mapping[str, Any]:
        """Return the fields of the detail of a sample that was judged several times.

        Other fields are those of the first time. By default, these are all.

        Args:
            details: The details of each time; one that was lost has none.
        """
        return {}

    def with_engine_identities(self, identities: Mapping[str, str]) -> FlowEvaluator:
        """Return the same evaluator with the identities of the engines that it calls."""
        known = tuple(
            (role, identities.get(role, NOT_CONFIGURED)) for role in sorted(self.engine_roles())
        )
        return replace(self, engine_identities=known)

    @property
    def is_configured(self) -> bool:
        """Whether every engine is configured; it need not be reachable."""
        return bool(self.engine_identities) and all(
            name != NOT_CONFIGURED for _, name in self.engine_identities
        )

    @property
    def has_panel(self) -> bool:
        """Whether several judges judge; the signature names them."""
        return dict(self.engine_identities).get(JUDGE, "").startswith(PANEL)

    def identity(self) -> Sequence[str]:
        """Return what else the numbers depend on: prompts, reply schemas, engines."""
        return [
            *(f"prompt:{instruction.digest}" for instruction in self.prompts),
            *(f"reply:{reply.digest()}" for reply in self.replies),
            *(f"{role}:{name}" for role, name in self.engine_identities),
        ]

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:
        """Run the flow of every sample; see the base class."""
        try:
            return self._run_flows(samples, engines, None)
        except Unavailable as reason:
            # Only loading the model could show this; it holds for every sample.
            return self._run_flows(samples, engines, str(reason))

    def flows(
        self, samples: pl.DataFrame, engines: Engines, missing: str | None = None
    ) -> Iterator[tuple[Origin, Flow[Graded]]]:
        """Yield the flow of every sample, with the origin of its first judge call.

        Args:
            samples: As for `compute`.
            engines: The engines that will answer; missing ones are found first.
            missing: Why an engine is missing, if the caller knows it already.
        """
        if samples.is_empty():
            return
        missing = missing or engines.missing_reason(
            self.engine_roles() - set(self.optional_engines)
        )
        engines = self._replace_missing(engines)
        # A passage without text (only its document is known) keeps its position.
        texts = pl.col(pl.List(pl.String)).list.eval(pl.element().fill_null(""))
        for row in samples.with_columns(texts).iter_rows(named=True):
            sample = Sample.of(row)
            yield self.origin_of(sample), self._sample_flow(sample, engines, missing)

    def _run_flows(
        self, samples: pl.DataFrame, engines: Engines, missing: str | None
    ) -> pl.DataFrame:
        names = [metric.name for metric in self.sample_metrics]
        rows: list[tuple[Any, ...] | None] = [None] * samples.height
        engines = self._replace_missing(engines)
        flows = self.flows(samples, engines, missing)
        for position, result in Scheduler[Graded](engines).run(flows):
            rows[position] = outcome_row(self.name, names, result)
        complete = [row for row in rows if row is not None]
        if len(complete) != samples.height:
            raise BrokenPromise(f"{self.name}: {samples.height - len(complete)} flows never ended")
        return outcome_frame(names, complete)

    def _replace_missing(self, engines: Engines) -> Engines:
        """Let each missing optional engine answer with the reason."""
        for role in self.optional_engines:
            absent = engines.missing_reason({role} & self.engine_roles())
            if absent is not None:
                engines = engines.without(role, absent)
        return engines

    def origin_of(self, sample: Sample) -> Origin:
        """Return the origin of a sample's first judge call."""
        identity = (sample.benchmark, sample.system, sample.question_id, self.name)
        return Origin(*identity, step=0, repeat=sample.repeat)

    def _sample_flow(self, sample: Sample, engines: Engines, missing: str | None) -> Flow[Graded]:
        """Run a sample's flow, with what is the same for every evaluator: failures and repeats."""
        if missing is not None:
            raise NotApplicable(missing, of_run=True)
        if sample.error is not None:
            failed = {m.name: TargetError("the system gave no answer") for m in self.sample_metrics}
            optional_engines = {
                name: NotApplicable(engines.absent[role], of_run=True)
                for role, names in self.optional_engines.items()
                if role in engines.absent and engines.labels is None
                for name in names
            }
            special = self.on_failure(sample)
            return replace(special, scores={**failed, **optional_engines, **special.scores})
        if engines.labels is not None and self.engine_roles():
            if sample.repeat:
                raise NotApplicable("human labels are for the first answer", of_run=True)
            try:
                given = engines.labels.of(self.origin_of(sample))
            except NotApplicable as absent:
                raise NotApplicable(absent.reason, of_run=True) from absent
            return Graded(self.on_labels(given))
        if engines.panel is not None and JUDGE in self.engine_roles():
            judged: list[Graded] = []
            attempt = partial(self._attempt, sample, judged)
            found = yield from judge_by_panel(engines.panel, self.sample_metrics, attempt)
            return self._with_combined_detail(found, judged)
        outcomes: list[Graded] = []
        yield from self._attempt(sample, outcomes)
        count = engines.repeats.count
        if self._is_near_threshold(outcomes[0], engines.repeats.margin):
            count = max(count, engines.repeats.escalated)
        for replicate in range(1, count):
            numbered = partial(as_replicate, replicate=replicate)
            yield from self._attempt(sample, outcomes, numbered)
        if len(outcomes) == 1:
            return outcomes[0]
        return self._with_combined_detail(self._combine_replicates(outcomes), outcomes)

    def _attempt(
        self, sample: Sample, outcomes: list[Graded], change: ChangeFlow | None = None
    ) -> Flow[Graded]:
        """Run the flow of a sample once, and append its outcome to `outcomes`."""
        flow = self.flow(sample)
        try:
            outcome = as_graded((yield from flow if change is None else change(flow)))
        except Unscored as reason:
            outcome = Graded(self.on_reason(reason))
        outcomes.append(outcome)
        return outcome

    def _with_combined_detail(self, combined: Graded, outcomes: Sequence[Graded]) -> Graded:
        fields = self.combine_details([each.detail for each in outcomes if each.detail is not None])
        return (
            replace(combined, detail={**(combined.detail or {}), **fields}) if fields else combined
        )

    def _is_near_threshold(self, outcome: Graded, margin: float) -> bool:
        """Return whether the primary metric is within `margin` of its threshold."""
        metric = next((m for m in self.sample_metrics if m.primary), None)
        if metric is None or metric.threshold is None:
            return False
        value = outcome.scores.get(metric.name)
        return isinstance(value, float | int) and abs(value - metric.threshold) <= margin

    def _combine_replicates(self, outcomes: Sequence[Graded]) -> Graded:
        """Return the median of each metric that most replicates have; of 0 and 1, the majority."""
        scores: dict[str, Value] = {}
        for metric in self.sample_metrics:
            given = [outcome.scores[metric.name] for outcome in outcomes]
            values = [value for value in given if not isinstance(value, Unscored)]
            reasons = [value for value in given if isinstance(value, Unscored)]
            middle = median(values) if len(values) > len(reasons) else None
            # If a lost replicate leaves one 0 and one 1, there is no majority.
            is_tie = middle == _TIE and set(values) == {0.0, 1.0}
            scores[metric.name] = reasons[0] if middle is None or is_tie else middle
        primary = next((m.name for m in self.sample_metrics if m.primary), None)
        replicates = (
            [] if primary is None else [_value_or_status(each.scores[primary]) for each in outcomes]
        )
        detail = {**(outcomes[0].detail or {}), "replicates": replicates}
        return Graded(scores, detail, outcomes[0].remark)


def _value_or_status(value: Value) -> float | str:
    return value.status.value if isinstance(value, Unscored) else float(value)
