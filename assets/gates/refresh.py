"""Evaluate the configured gates of benchmarks and write their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assets.analysis.comparability import NotComparable
from assets.analysis.select_metrics import select_metrics
from assets.fingerprints.digests import GATES, gates_fingerprint
from assets.gates.limit_verdict import evaluate_limit
from assets.gates.regression import evaluate_gate
from assets.gates.result import GateResult, not_comparable
from assets.gates.sequential import evaluate_sequential_gate
from records.similar_names import did_you_mean
from warehouse.queries.aggregates import clear_gated_rows, mark_gated_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assets.gates.result import Kind
    from assets.project import Benchmark, Gate
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

    Metrics = Sequence[tuple[Evaluator, Metric]]

_SCHEMA = {
    **dict.fromkeys(("benchmark", "system", "baseline", "evaluator", "metric"), pl.String),
    **dict.fromkeys(("kind", "verdict", "message"), pl.String),
    **dict.fromkeys(("value", "limit", "ci_low", "ci_high"), pl.Float64),
    "passed": pl.Int32,
}


def refresh_gates(warehouse: Warehouse, benchmarks: Iterable[Benchmark]) -> None:
    """Evaluate the gates of benchmarks, unless their leaderboards and they are unchanged.

    Writes the table `gates` and the column `gate` of the leaderboard. A gate whose systems cannot
    be compared fails with the verdict `not_comparable`: a run publishes its results in any case.
    """
    by_name = {benchmark.name: benchmark for benchmark in benchmarks}
    due, found = {}, []
    for name, fingerprints in warehouse.all_fingerprints(list(by_name)).items():
        fingerprint = gates_fingerprint(by_name[name], fingerprints)
        if fingerprints.get(GATES) != fingerprint:
            due[name] = fingerprint
            if by_name[name].gates:
                found += evaluate_gates(warehouse, by_name[name])
    if not due:
        return
    rows = gate_rows(found)
    where = {"benchmark": list(due)}

    def write(transaction: Transaction) -> None:
        transaction.replace("gates", rows, where=where)
        transaction.execute(*clear_gated_rows(list(due)))
        if rows.height:
            transaction.execute(*mark_gated_rows(list(due)))
        transaction.record_fingerprints(GATES, due)

    warehouse.write(write)


def evaluate_gates(warehouse: Warehouse, benchmark: Benchmark) -> list[GateResult]:
    """Return the verdicts of the configured gates, by system and metric.

    A limit for one system replaces a limit of the same kind for all systems.
    """
    found = warehouse.fetch(
        "SELECT DISTINCT system FROM predictions WHERE benchmark = $benchmark ORDER BY system",
        {"benchmark": benchmark.name},
    )
    systems = [str(name) for name in found["system"]]
    results: dict[tuple[str | None, ...], GateResult] = {}
    for gate in sorted(benchmark.gates, key=lambda gate: gate.system is not None):
        for result in _evaluate(warehouse, benchmark, gate, systems):
            key = (result.system, result.baseline, result.evaluator, result.metric, result.kind)
            results[key] = result
    return list(results.values())


def gate_rows(results: Iterable[GateResult]) -> pl.DataFrame:
    """Return results as rows of the table `gates`."""
    rows = [
        {
            "benchmark": each.benchmark,
            "system": each.system,
            "baseline": each.baseline,
            "evaluator": each.evaluator,
            "metric": each.metric,
            "kind": each.kind,
            "value": each.value,
            "limit": each.limit,
            "ci_low": each.low,
            "ci_high": each.high,
            "verdict": each.verdict,
            "passed": int(each.passed),
            "message": each.message,
        }
        for each in results
    ]
    floats = pl.col("value", "limit", "ci_low", "ci_high")
    frame = pl.DataFrame(rows, schema=_SCHEMA).with_columns(floats.fill_nan(None))
    return frame.sort("benchmark", "system", "evaluator", "metric", "kind", "baseline")


def _evaluate(
    warehouse: Warehouse, benchmark: Benchmark, gate: Gate, systems: Sequence[str]
) -> Iterator[GateResult]:
    """Yield the verdicts of one gate."""
    if gate.baseline is not None and gate.system is not None:
        yield from _compare(warehouse, benchmark, gate, gate.system, gate.baseline, systems)
        return
    metrics = select_metrics(benchmark, gate.metrics, with_system_metrics=True)
    for system in systems if gate.system is None else (gate.system,):
        for kind, limit in gate.limits.items():
            try:
                _require_system(system, systems)
                yield from evaluate_limit(
                    warehouse, benchmark, system, kind, limit, metrics, confident=gate.confident
                )
            except NotComparable as error:
                names = (benchmark.name, system, None)
                yield from _not_comparable(names, metrics, kind, limit, str(error))


def _compare(
    warehouse: Warehouse,
    benchmark: Benchmark,
    gate: Gate,
    system: str,
    baseline: str,
    systems: Sequence[str],
) -> Iterator[GateResult]:
    """Yield the verdicts of a gate with a baseline."""
    metrics = select_metrics(benchmark, gate.metrics)
    try:
        for name in (system, baseline):
            _require_system(name, systems)
        evaluate = evaluate_sequential_gate if gate.sequential else evaluate_gate
        yield from evaluate(
            *(warehouse, benchmark, system, baseline, metrics, gate.tolerance),
            statements=benchmark.statements,
        )
    except NotComparable as error:
        names = (benchmark.name, system, baseline)
        yield from _not_comparable(names, metrics, "regression", gate.tolerance, str(error))


def _not_comparable(
    names: tuple[str, str, str | None], metrics: Metrics, kind: Kind, limit: float, reason: str
) -> Iterator[GateResult]:
    for evaluator, metric in metrics:
        yield not_comparable(*names, (evaluator.name, metric.name), kind, limit, reason)


def _require_system(name: str, systems: Sequence[str]) -> None:
    if name not in systems:
        raise NotComparable(f"there is no system {name!r}{did_you_mean(name, systems)}")
