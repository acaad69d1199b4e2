"""Staleness: which samples an evaluator has not graded as they and it are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators import catalog
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.queries.composite_samples import Part, stale_parts
from warehouse.queries.samples import Query, samples, stale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

_NO_SIGNATURE = ""
"""No signature equals this one, so that every grade counts as stale."""


def stale_samples(
    benchmark: Benchmark, evaluator: Evaluator, *, systems: Sequence[str] = (), force: bool = False
) -> Query:
    """The samples that an evaluator has to grade.

    Args:
        benchmark: The benchmark, whose other evaluators a composite is made of.
        evaluator: The evaluator, with its parameters.
        systems: The systems; empty: all.
        force: Take every sample, stale or not. Where nothing is graded yet they are the same, and
            a million samples need not be looked up among the grades of others.
    """
    signature = _NO_SIGNATURE if force else evaluator.signature
    narrowed = list(systems) or None
    if isinstance(evaluator, CompositeEvaluator):
        parts = [_part(benchmark, name) for name in evaluator.parts]
        return stale_parts(benchmark.name, evaluator.name, signature, parts, narrowed)
    columns = evaluator.columns | {"error"}
    if force:
        return samples(benchmark.name, columns, narrowed)
    return stale(benchmark.name, evaluator.name, signature, columns, narrowed)


def _part(benchmark: Benchmark, address: str) -> Part:
    """Where the grades of a metric stand; those of an evaluator not configured here: nowhere."""
    name, _, metric = address.partition(".")
    configured = next((each for each in benchmark.evaluators if each.name == name), None)
    evaluator = configured or catalog.build(name)
    place = [each.name for each in evaluator.sample_metrics].index(metric)
    signature = _NO_SIGNATURE if configured is None else configured.signature
    return Part(address, name, place, signature)
