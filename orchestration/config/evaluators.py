"""Build the evaluators of a benchmark from its configuration keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from assets.project import DefaultThreshold, source_threshold
from evaluators import catalog
from evaluators.errors import BadParameters, EvaluatorError, UnknownEvaluator
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import ATTEMPTS
from orchestration.config.schema import DEFAULT
from records.similar_names import did_you_mean
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from orchestration.config.engines import EngineIdentities
    from orchestration.config.schema import BenchmarkKeys

SOURCE_FORMAT = "eval-studio"
"""The format whose source applies its thresholds to every metric."""

ONLY_SYSTEMS = "only_systems"
"""The key among an evaluator's parameters that limits it to some systems."""

NO_DATA = "no_data"
"""The key among an evaluator's parameters that says what a sample without data has."""

YamlPath = tuple[str | int, ...]
ReportFault = Callable[..., None]
"""A function that records a message about the value at a YAML path: `report(message, *path)`."""
ExpandNames = Callable[["Sequence[str]"], tuple[str, ...]]
"""A function that returns the systems that names of systems and of entries stand for."""


class EvaluatorBuilder:
    """Builds evaluators from their names and parameters; reports what does not fit together."""

    def __init__(
        self,
        report: ReportFault,
        identities: EngineIdentities,
        own: Mapping[str, type[Evaluator] | Evaluator] = MappingProxyType({}),
    ) -> None:
        """Set up.

        Args:
            report: Records a fault.
            identities: The identities of the engines.
            own: Evaluators that are not in the catalogue, by name: their classes, or evaluators
                that are used as they are.
        """
        self._report = report
        self._identities = identities
        self._own = own

    def build(
        self, keys: BenchmarkKeys, path: YamlPath, expand: ExpandNames
    ) -> tuple[Evaluator, ...]:
        """Build the evaluators of a benchmark.

        Args:
            keys: The keys of the benchmark.
            path: Where they are.
            expand: Returns the systems that names of systems and of entries stand for.

        Returns:
            The evaluators in the order of the configuration, then the components of composites that
            it does not list; none when there is a fault in one of them.
        """
        names = self._resolve_names(keys, path)
        if names is None:
            return ()
        built: dict[str, Evaluator] = {}
        input_format = formats().get(keys.format)
        defaults = {} if input_format is None else input_format.parameters
        for name, kind in names.items():
            parameters = {**defaults.get(kind, {}), **keys.parameters.get(name, {})}
            only = parameters.pop(ONLY_SYSTEMS, [])
            if not isinstance(only, list) or not all(isinstance(each, str) for each in only):
                message = f"{name}: {ONLY_SYSTEMS!r}: expected a list of names of systems"
                self._report(message, *path, "parameters", name, ONLY_SYSTEMS)
                continue
            no_data = parameters.pop(NO_DATA, "unscored")
            if no_data not in ("unscored", "zero"):
                message = f"{name}: {NO_DATA!r}: expected 'unscored' or 'zero', found {no_data!r}"
                self._report(message, *path, "parameters", name, NO_DATA)
                continue
            try:
                evaluator = replace(
                    self._build(name, kind, parameters),
                    only_systems=expand(only),
                    no_data=no_data,
                )
                if no_data == "zero":
                    _require_zero(evaluator)
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

    def _build(self, name: str, kind: str, parameters: Mapping[str, Any]) -> Evaluator:
        own = self._own.get(kind)
        if own is None:
            return catalog.build_from(catalog.catalogue()[kind], parameters, name)
        if isinstance(own, type):
            return catalog.build_from(own, parameters, name)
        return own

    def _resolve_names(self, keys: BenchmarkKeys, path: YamlPath) -> Mapping[str, str] | None:
        """Return the evaluators by name, or None when one of them is unknown or a name is taken.

        Returns:
            The name of the evaluator behind each name.
        """
        chosen: dict[str, str] = {}
        is_faulty = False
        for at, given in enumerate(keys.evaluators):
            ((name, kind),) = [(given, given)] if isinstance(given, str) else given.items()
            try:
                if name != kind:
                    self._require_free(name, chosen)
                    (kind,) = self._select(kind, only=True)
                    chosen[name] = kind
                else:
                    chosen.update({each: each for each in self._select(kind)})
            except EvaluatorError as error:
                self._report(str(error), *path, "evaluators", at)
                is_faulty = True
        if is_faulty:
            return None
        names = {**chosen, **{name: name for name in add_components(chosen.values())}}
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

    def _select(self, name: str, *, only: bool = False) -> list[str]:
        """Return the evaluators that a name stands for; `only`: it must not be a family."""
        if name in self._own:
            return [name]
        if only and name not in catalog.catalogue():
            known = [*catalog.catalogue(), *self._own]
            raise UnknownEvaluator(f"unknown evaluator {name!r}{did_you_mean(name, known)}")
        try:
            return catalog.select([name])
        except UnknownEvaluator:
            close = did_you_mean(name, self._own)
            if not close:
                raise
            raise UnknownEvaluator(f"unknown evaluator {name!r}{close}") from None

    def _require_free(self, name: str, chosen: Mapping[str, str]) -> None:
        if name in chosen or name in self._own or name in catalog.catalogue():
            raise EvaluatorError(f"the name {name!r} is taken: choose another one")
        if name in catalog.families() or name == "all":
            raise EvaluatorError(f"{name!r} is the name of a family: choose another one")

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


def _require_zero(evaluator: Evaluator) -> None:
    """Check that 0 is a value of all metrics.

    Raises:
        BadParameters: It is not, or metrics of the whole system need what a sample lacks.
    """
    for metric in evaluator.sample_metrics:
        if not metric.bounds[0] <= 0 <= metric.bounds[1]:
            name = f"{evaluator.name}.{metric.name}"
            raise BadParameters(f"{NO_DATA!r}: 0 is not a value of {name}")
    if evaluator.evidence:
        raise BadParameters(
            f"{NO_DATA!r}: {evaluator.name} has metrics of whole systems, which need the data"
        )


def _metrics_by_address(evaluators: Iterable[Evaluator]) -> dict[str, Metric]:
    """Return all metrics, also those that several answers to a question would add."""
    return {
        f"{e.name}.{m.name}": m
        for e in evaluators
        for m in (*e.measured(), *(each.metric for each in e.repeated_metrics(ATTEMPTS[-1])))
    }


def _unknown_metric(what: str, address: str, metrics: Iterable[str]) -> str:
    problem = f"{what} {address!r}, which is not a metric of this benchmark's evaluators"
    evaluator, _, _ = address.partition(".")
    if evaluator in catalog.catalogue() and not any(
        known.startswith(f"{evaluator}.") for known in metrics
    ):
        return f"{problem}: {evaluator!r} is not among its `evaluators`"
    return f"{problem}{did_you_mean(address, metrics)}: expected `evaluator.metric`"


def add_components(selected: Iterable[str]) -> list[str]:
    """Return the components that composite evaluators need, and that are not selected."""
    classes = catalog.catalogue()
    chosen = list(selected)
    components = [
        part.partition(".")[0]
        for name in chosen
        if name in classes and issubclass(classes[name], CompositeEvaluator)
        for part in cast("type[CompositeEvaluator]", classes[name]).parts
    ]
    return [name for name in dict.fromkeys(components) if name not in chosen]
