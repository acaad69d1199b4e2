"""Build the evaluators of a benchmark from its configuration keys."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from assets.project import DefaultThreshold, source_threshold
from evaluators import catalog
from evaluators.errors import EvaluatorError, UnknownEvaluator, did_you_mean
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from orchestration.config.schema import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from orchestration.config.engines import EngineIdentities
    from orchestration.config.schema import BenchmarkKeys

SOURCE_FORMAT = "eval-studio"
"""The format whose source applies its thresholds to every metric."""

YamlPath = tuple[str | int, ...]
ReportFault = Callable[..., None]
"""A function that records a message about the value at a YAML path: `report(message, *path)`."""


class EvaluatorBuilder:
    """Builds evaluators from their names and parameters; reports what does not fit together."""

    def __init__(self, report: ReportFault, identities: EngineIdentities) -> None:
        self._report = report
        self._identities = identities

    def build(self, keys: BenchmarkKeys, path: YamlPath) -> tuple[Evaluator, ...]:
        """Build the evaluators of a benchmark.

        Returns:
            The evaluators in the order of the configuration, then the components of composites that
            it does not list; none when there is a fault in one of them.
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
        return tuple(
            each.with_part_signatures(signatures) if isinstance(each, CompositeEvaluator) else each
            for each in built.values()
        )

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

    def resolve_thresholds(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], path: YamlPath
    ) -> tuple[Mapping[str, float | None], DefaultThreshold]:
        """Return the thresholds by metric address, and what applies to all other metrics.

        Args:
            keys: The keys of the benchmark.
            evaluators: Its evaluators; without any there was a fault, and nothing is checked.
            path: The path of its keys.
        """
        named = dict(keys.thresholds)
        default = named.pop(DEFAULT, "source" if keys.format == SOURCE_FORMAT else "none")
        if not isinstance(default, str):
            self._report(
                "`default` in `thresholds` applies to metrics of all scales: expected `source` or "
                f"`none`, found {default:g}",
                *(*path, "thresholds", DEFAULT),
            )
            default = "none"
        metrics = _metrics_by_address(evaluators)
        resolved: dict[str, float | None] = {}
        for address, threshold in named.items() if evaluators else ():
            threshold_path = (*path, "thresholds", address)
            metric = metrics.get(address)
            if metric is None:
                self._report(_unknown_metric("a threshold for", address, metrics), *threshold_path)
                continue
            low, high = metric.bounds
            if isinstance(threshold, str):
                resolved[address] = source_threshold(metric) if threshold == "source" else None
            elif low <= threshold <= high:
                resolved[address] = threshold
            else:
                self._report(
                    f"the threshold {threshold:g} of {address!r} lies outside its bounds: "
                    f"expected {low:g} to {high:g}",
                    *threshold_path,
                )
        return MappingProxyType(resolved), default

    def check_rank_by(
        self, keys: BenchmarkKeys, evaluators: Sequence[Evaluator], path: YamlPath
    ) -> None:
        """Report a headline metric that the evaluators of a benchmark do not have."""
        metrics = _metrics_by_address(evaluators)
        if keys.rank_by is not None and evaluators and keys.rank_by not in metrics:
            message = _unknown_metric("systems cannot be ranked by", keys.rank_by, metrics)
            self._report(message, *path, "rank_by")


def _metrics_by_address(evaluators: Iterable[Evaluator]) -> dict[str, Metric]:
    return {f"{e.name}.{m.name}": m for e in evaluators for m in e.measured()}


def _unknown_metric(what: str, address: str, metrics: Iterable[str]) -> str:
    problem = f"{what} {address!r}, which is not a metric of this benchmark's evaluators"
    evaluator, _, _ = address.partition(".")
    if evaluator in catalog.catalogue() and not any(
        known.startswith(f"{evaluator}.") for known in metrics
    ):
        return f"{problem}: {evaluator!r} is not among its `evaluators`"
    return f"{problem}{did_you_mean(address, metrics)}: expected `evaluator.metric`"


def add_components(selected: Iterable[str]) -> list[str]:
    """Return evaluators in their order, then the components that composite ones also need."""
    classes = catalog.catalogue()
    selected = list(selected)
    components = [
        part.partition(".")[0]
        for name in selected
        if issubclass(classes[name], CompositeEvaluator)
        for part in cast("type[CompositeEvaluator]", classes[name]).parts
    ]
    return list(dict.fromkeys([*selected, *components]))
