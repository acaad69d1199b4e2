"""The evaluators of a benchmark: named, given their parameters, and told who answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from evaluators import catalog
from evaluators.errors import EvaluatorError, UnknownEvaluator, nearest
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from orchestration.config.engines import Identities
    from orchestration.config.schema import BenchmarkKeys

Place = tuple[str | int, ...]


class Complaint(Protocol):
    """Takes note of something that is wrong in the configuration."""

    def __call__(self, message: str, *path: str | int) -> None:
        """Note a message about a place in the file."""


class Selection:
    """Turns the names of evaluators into evaluators; tells of what does not fit together."""

    def __init__(self, complaint: Complaint, identities: Identities) -> None:
        self._complaint = complaint
        self._identities = identities

    def of(self, keys: BenchmarkKeys, where: Place) -> tuple[Evaluator, ...]:
        """The evaluators of a benchmark, what is made of others last; none when one is wrong."""
        selected = self._named(keys, where)
        if selected is None:
            return ()
        built: dict[str, Evaluator] = {}
        for name in selected:
            given: Mapping[str, Any] = keys.parameters.get(name, {})
            try:
                built[name] = self._answered(catalog.build(name, given))
            except EvaluatorError as error:
                at_fault = [key for key in given if repr(key) in str(error)]
                self._complaint(str(error), *where, "parameters", name, *at_fault[:1])
        if len(built) < len(selected):
            return ()
        signatures = {name: evaluator.signature for name, evaluator in built.items()}
        evaluators = tuple(
            each.with_part_signatures(signatures) if isinstance(each, CompositeEvaluator) else each
            for each in built.values()
        )
        self._check_thresholds(keys, evaluators, where)
        return evaluators

    def _named(self, keys: BenchmarkKeys, where: Place) -> Sequence[str] | None:
        """The names of all evaluators, or None when one of them, or of the parameters, is wrong."""
        chosen: dict[str, None] = {}
        wrong = False
        for at, wanted in enumerate(keys.evaluators):
            try:
                chosen.update(dict.fromkeys(catalog.select([wanted])))
            except UnknownEvaluator as error:
                self._complaint(str(error), *where, "evaluators", at)
                wrong = True
        if wrong:
            return None
        selected = with_parts(chosen)
        for name in keys.parameters:
            if name not in selected:
                self._complaint(
                    f"parameters for {name!r}, which is not among the evaluators of this "
                    f"benchmark{nearest(name, selected)}",
                    *where,
                    "parameters",
                    name,
                )
        return selected

    def _answered(self, evaluator: Evaluator) -> Evaluator:
        """An evaluator that knows who answers it, which is a part of its signature.

        Raises:
            EvaluatorError: The judge replays a file that is not there.
        """
        if not isinstance(evaluator, FlowEvaluator):
            return evaluator
        return evaluator.with_engine_identities(self._identities.of(evaluator.engine_roles()))

    def _check_thresholds(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], where: Place
    ) -> None:
        metrics = {f"{e.name}.{m.name}": m for e in evaluators for m in e.measured()}
        for address, threshold in keys.thresholds.items():
            place = (*where, "thresholds", address)
            metric = metrics.get(address)
            if metric is None:
                self._complaint(_unknown_metric(address, metrics), *place)
                continue
            low, high = metric.bounds
            if not low <= threshold <= high:
                self._complaint(
                    f"the threshold {threshold:g} of {address!r} lies outside its bounds: "
                    f"expected {low:g} to {high:g}",
                    *place,
                )


def _unknown_metric(address: str, metrics: Iterable[str]) -> str:
    """What to say of a threshold for something that is not measured."""
    told = f"a threshold for {address!r}, which is no metric of this benchmark's evaluators"
    evaluator, _, _ = address.partition(".")
    if evaluator in catalog.catalogue() and not any(
        known.startswith(f"{evaluator}.") for known in metrics
    ):
        return f"{told}: {evaluator!r} is not among its `evaluators`"
    return f"{told}{nearest(address, metrics)}: expected `evaluator.metric`"


def with_parts(selected: Iterable[str]) -> list[str]:
    """Evaluators and those that some of them are made of; what is made of others comes last."""
    classes = catalog.catalogue()
    composites = [name for name in selected if issubclass(classes[name], CompositeEvaluator)]
    parts = {
        part.partition(".")[0]
        for name in composites
        for part in cast("type[CompositeEvaluator]", classes[name]).parts
    }
    wanted = {*selected, *parts} - set(composites)
    return [*(name for name in classes if name in wanted), *composites]
