"""Build the evaluators of a benchmark from its configuration keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from evaluators import catalog
from evaluators.errors import EvaluatorError, UnknownEvaluator, did_you_mean
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from orchestration.config.engines import EngineIdentities
    from orchestration.config.schema import BenchmarkKeys

YamlPath = tuple[str | int, ...]
ReportFault = Callable[..., None]
"""A function that records a message about the value at a YAML path: `report(message, *path)`."""


class EvaluatorBuilder:
    """Builds evaluators from their names and parameters; reports what does not fit together."""

    def __init__(self, report: ReportFault, identities: EngineIdentities) -> None:
        self._report = report
        self._identities = identities

    def build(self, keys: BenchmarkKeys, path: YamlPath) -> tuple[Evaluator, ...]:
        """Build the evaluators of a benchmark, composites last.

        Returns:
            The evaluators; none when there is a fault in one of them.
        """
        names = self._resolve_names(keys, path)
        if names is None:
            return ()
        built: dict[str, Evaluator] = {}
        for name in names:
            parameters: Mapping[str, Any] = keys.parameters.get(name, {})
            try:
                evaluator = catalog.build(name, parameters)
                if isinstance(evaluator, FlowEvaluator):
                    identities = self._identities.by_role(evaluator.engine_roles())
                    evaluator = evaluator.with_engine_identities(identities)
                built[name] = evaluator
            except EvaluatorError as error:
                at_fault = [key for key in parameters if repr(key) in str(error)]
                self._report(str(error), *path, "parameters", name, *at_fault[:1])
        if len(built) < len(names):
            return ()
        signatures = {name: evaluator.signature for name, evaluator in built.items()}
        evaluators = tuple(
            each.with_part_signatures(signatures) if isinstance(each, CompositeEvaluator) else each
            for each in built.values()
        )
        self._check_thresholds(keys, evaluators, path)
        return evaluators

    def _resolve_names(self, keys: BenchmarkKeys, path: YamlPath) -> Sequence[str] | None:
        """Return the names of all evaluators, or None when one of them is unknown."""
        chosen: dict[str, None] = {}
        has_unknown = False
        for at, name in enumerate(keys.evaluators):
            try:
                chosen.update(dict.fromkeys(catalog.select([name])))
            except UnknownEvaluator as error:
                self._report(str(error), *path, "evaluators", at)
                has_unknown = True
        if has_unknown:
            return None
        names = add_components(chosen)
        for name in keys.parameters:
            if name not in names:
                self._report(
                    f"parameters for {name!r}, which is not among the evaluators of this "
                    f"benchmark{did_you_mean(name, names)}",
                    *path,
                    "parameters",
                    name,
                )
        return names

    def _check_thresholds(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], path: YamlPath
    ) -> None:
        metrics = {f"{e.name}.{m.name}": m for e in evaluators for m in e.measured()}
        for address, threshold in keys.thresholds.items():
            threshold_path = (*path, "thresholds", address)
            metric = metrics.get(address)
            if metric is None:
                self._report(_unknown_metric(address, metrics), *threshold_path)
                continue
            low, high = metric.bounds
            if not low <= threshold <= high:
                self._report(
                    f"the threshold {threshold:g} of {address!r} lies outside its bounds: "
                    f"expected {low:g} to {high:g}",
                    *threshold_path,
                )


def _unknown_metric(address: str, metrics: Iterable[str]) -> str:
    problem = f"a threshold for {address!r}, which is not a metric of this benchmark's evaluators"
    evaluator, _, _ = address.partition(".")
    if evaluator in catalog.catalogue() and not any(
        known.startswith(f"{evaluator}.") for known in metrics
    ):
        return f"{problem}: {evaluator!r} is not among its `evaluators`"
    return f"{problem}{did_you_mean(address, metrics)}: expected `evaluator.metric`"


def add_components(selected: Iterable[str]) -> list[str]:
    """Return evaluators and the components of composite ones, composites last."""
    classes = catalog.catalogue()
    composites = [name for name in selected if issubclass(classes[name], CompositeEvaluator)]
    components = {
        part.partition(".")[0]
        for name in composites
        for part in cast("type[CompositeEvaluator]", classes[name]).parts
    }
    simple = {*selected, *components} - set(composites)
    return [*(name for name in classes if name in simple), *composites]
