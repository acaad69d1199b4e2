"""Build the gates of the benchmarks from both lists of the configuration, and check them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from assets.analysis.select_metrics import UnknownMetric, select_metrics
from assets.fingerprints.input_files import named_systems
from assets.project import Gate
from orchestration.config.error_messages import describe_unknown
from orchestration.errors import Fault, SettingsError
from records.similar_names import did_you_mean
from warehouse.errors import WarehouseError, suggest_twin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from assets.project import Benchmark, Project
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from orchestration.config.evaluators import ExpandNames, ReportFault, YamlPath
    from orchestration.config.schema import ProjectKeys
    from orchestration.config.yaml_document import Document

_ONLY_WITH_BASELINE = ("tolerance", "sequential")
_ONLY_WITH_LIMIT = ("min", "max", "confident")


@dataclass(frozen=True, slots=True)
class NamedSystem:
    """A system that the configuration names.

    Attributes:
        benchmark: The benchmark.
        system: The system, or the baseline of a gate.
        line: The line of its name in the configuration file.
        where: What names it, for the error message.
    """

    benchmark: str
    system: str
    line: int
    where: str = "a gate"


class GateBuilder:
    """Builds the gates of benchmarks; reports those that cannot be evaluated.

    Attributes:
        named: The systems that the gates name. The files that contain them are not read.
    """

    def __init__(self, report: ReportFault, document: Document, keys: ProjectKeys) -> None:
        self.named: list[NamedSystem] = []
        self._report = report
        self._document = document
        self._keys = keys
        for at, gate in enumerate(keys.gates):
            if gate.benchmark not in keys.benchmarks:
                what = f"benchmark {gate.benchmark!r}"
                message = describe_unknown(what, gate.benchmark, keys.benchmarks)
                report(message, "gates", at, "benchmark")

    def build(self, benchmark: Benchmark, expand: ExpandNames) -> tuple[Gate, ...]:
        """Return the gates of a benchmark, whose evaluators are built.

        A gate on an entry of several systems is a gate on each of them.

        Args:
            benchmark: The benchmark.
            expand: Returns the systems that names of systems and of entries stand for.
        """
        seen: set[tuple[str | None, ...]] = set()
        gates: list[Gate] = []
        for path, given in self._listed(benchmark.name):
            self._check_keys(given, path)
            expanded = list(_expand_gate(given, expand))
            if benchmark.evaluators:
                addresses = self._check_metrics(benchmark, given, path)
                self._check_repeated(benchmark.name, expanded, addresses, path, seen)
            for gate in expanded:
                for key in ("system", "baseline"):
                    name = getattr(gate, key)
                    if name is not None:
                        line = self._document.line((*path, key))
                        self.named.append(NamedSystem(benchmark.name, name, line))
            gates += expanded
        return tuple(gates)

    def _listed(self, benchmark: str) -> Iterator[tuple[YamlPath, Gate]]:
        """Yield the gates of a benchmark with their paths."""
        for at, gate in enumerate(self._keys.benchmarks[benchmark].gates):
            yield ("benchmarks", benchmark, "gates", at), gate
        for at, listed in enumerate(self._keys.gates):
            if listed.benchmark == benchmark:
                given = listed.model_dump(exclude={"benchmark"}, exclude_unset=True)
                yield ("gates", at), Gate.model_validate(given)

    def _check_keys(self, gate: Gate, path: YamlPath) -> None:
        """Report keys that are missing or contradict each other."""
        where = ".".join(map(str, path))
        missing = self._missing_key(gate)
        if missing is not None:
            self._report(f"{where}: {missing}", *path)
        elif gate.system is not None and gate.system == gate.baseline:
            message = f"{where}: {gate.system!r} cannot be compared with itself"
            self._report(message, *path, "baseline")
        elif gate.min is not None and gate.max is not None and gate.min > gate.max:
            message = f"{where}: no mean is at least {gate.min:g} and at most {gate.max:g}"
            self._report(message, *path, "min")
        wrong = _ONLY_WITH_LIMIT if gate.baseline is not None else _ONLY_WITH_BASELINE
        needed = "`min` or `max` without a `baseline`" if gate.baseline else "a `baseline`"
        for key in wrong:
            if key in gate.model_fields_set:
                self._report(f"{where}: {key!r} needs {needed}", *path, key)

    @staticmethod
    def _missing_key(gate: Gate) -> str | None:
        """Return what a gate lacks."""
        if gate.baseline is not None:
            message = "the key 'system' is missing: one system is compared with a baseline"
            return message if gate.system is None else None
        if not gate.limits:
            return "expected a `baseline`, `min` or `max`"
        message = "the key 'metrics' is missing: `min` and `max` are for named metrics"
        return None if gate.metrics else message

    def _check_metrics(self, benchmark: Benchmark, gate: Gate, path: YamlPath) -> list[str]:
        """Return the metrics of a gate; report unknown ones, and limits outside their bounds."""
        is_absolute = gate.baseline is None
        try:
            metrics = select_metrics(benchmark, gate.metrics, with_system_metrics=is_absolute)
        except UnknownMetric as error:
            self._report(str(error), *path, "metrics")
            return []
        for kind, limit in gate.limits.items() if is_absolute else ():
            for message in limits_out_of_bounds(kind, limit, metrics):
                self._report(message, *path, kind)
        for evaluator, metric in metrics if gate.sequential else ():
            if not all(map(math.isfinite, metric.bounds)):
                address = f"{evaluator.name}.{metric.name}"
                message = f"a sequential gate needs metrics with bounds, and {address} has none"
                self._report(message, *path, "sequential")
        return [f"{evaluator.name}.{metric.name}" for evaluator, metric in metrics]

    def _check_repeated(
        self,
        benchmark: str,
        gates: Sequence[Gate],
        addresses: Sequence[str],
        path: YamlPath,
        seen: set[tuple[str | None, ...]],
    ) -> None:
        """Report a second gate on a metric."""
        for address in addresses:
            keys = {
                (gate.system, gate.baseline, address, kind)
                for gate in gates
                for kind in (gate.limits if gate.baseline is None else ["regression"])
            }
            if keys & seen:
                message = f"there is another gate like this on {address} of {benchmark!r}"
                self._report(message, *path)
            seen |= keys


def _expand_gate(given: Gate, expand: ExpandNames) -> Iterator[Gate]:
    """Yield a gate for each system and baseline that the names of a gate stand for."""
    systems, baselines = (
        [None] if name is None else expand([name]) for name in (given.system, given.baseline)
    )
    for system, baseline in product(systems, baselines):
        if system is None or system != baseline:
            yield given.model_copy(update={"system": system, "baseline": baseline})


def limits_out_of_bounds(
    kind: str, limit: float, metrics: Sequence[tuple[Evaluator, Metric]]
) -> Iterator[str]:
    """Yield a sentence on each metric whose values cannot reach a limit, or always do."""
    for evaluator, metric in metrics:
        low, high = metric.bounds
        if not low <= limit <= high:
            yield (
                f"{kind!r} is {limit:g}, outside the bounds of {evaluator.name}.{metric.name}: "
                f"expected {low:g} to {high:g}"
            )


def require_systems(
    file: Path, project: Project, named: Iterable[NamedSystem], benchmarks: Iterable[str]
) -> None:
    """Check that named systems exist, as far as the paths of prediction files name them.

    Systems that are named inside files are unknown until the files are read. A gate on an unknown
    one then fails with the verdict `not_comparable`; `missing` for one ends the run.

    Args:
        file: The configuration file, for the error message.
        project: Its project.
        named: The systems that its configuration names.
        benchmarks: The benchmarks to check.

    Raises:
        SettingsError: There is no such system.
    """
    known = {name: _systems_in_paths(project.benchmarks[name]) for name in benchmarks}
    faults = []
    for each in named:
        systems = known.get(each.benchmark)
        if systems is not None and each.system not in systems:
            hint = suggest_twin(each.system, systems) or did_you_mean(each.system, systems)
            hint = hint or f"; known: {', '.join(systems)}"
            message = f"{each.where} for {each.system!r}, which is not a system of "
            message += f"{each.benchmark!r}{hint}"
            faults.append(Fault(each.line, message))
    if faults:
        raise SettingsError(file, faults)


def _systems_in_paths(benchmark: Benchmark) -> list[str] | None:
    """Return the systems that the paths of prediction files name; None if not all are known."""
    try:
        return named_systems(benchmark)
    except WarehouseError:
        return None
