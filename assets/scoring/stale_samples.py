"""The samples that an evaluator has to score: those whose inputs or evaluator have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators import catalog
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.pairwise import is_paired
from warehouse.queries.composite_samples import Part, select_stale_composite_samples
from warehouse.queries.samples import Query, samples, select_stale_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

_NO_SIGNATURE = ""
"""No evaluator has this signature, so every score counts as stale."""


def stale_samples(
    benchmarks: Sequence[Benchmark],
    evaluator: Evaluator,
    *,
    systems: Sequence[str] = (),
    force: bool = False,
    every_answer: bool = False,
) -> Query:
    """Return a query for the samples that an evaluator has to score.

    Args:
        benchmarks: The benchmarks; a single one, with the evaluators to combine, for a composite.
        evaluator: The evaluator, with its parameters.
        systems: The systems; empty for all.
        force: Select all samples. When no sample has a score yet, this gives the same samples
            without a join.
        every_answer: Whether all answers to a question are samples, or only the first one;
            systems are compared with each other by their first answers.
    """
    signature = _NO_SIGNATURE if force else evaluator.signature
    only = list(systems) or None
    if isinstance(evaluator, CompositeEvaluator):
        (benchmark,) = benchmarks
        parts = [_part(benchmark, name) for name in evaluator.parts]
        return select_stale_composite_samples(
            benchmark.name, evaluator.name, signature, parts, only, every_answer=every_answer
        )
    every_answer = every_answer and not is_paired(evaluator)
    columns, names = evaluator.columns | {"error"}, [each.name for each in benchmarks]
    opponents = evaluator.opponents if is_paired(evaluator) else None
    if force:
        return samples(names, columns, only, opponents, every_answer=every_answer)
    return select_stale_samples(
        names,
        evaluator.name,
        signature,
        columns,
        only,
        opponents,
        every_answer=every_answer,
    )


def _part(benchmark: Benchmark, address: str) -> Part:
    """Return the composite part of a metric; without scores if its evaluator is not configured."""
    name, _, metric = address.partition(".")
    configured = next((each for each in benchmark.evaluators if each.name == name), None)
    evaluator = configured or catalog.build(name)
    index = [each.name for each in evaluator.sample_metrics].index(metric)
    signature = _NO_SIGNATURE if configured is None else configured.signature
    return Part(address, name, index, signature)
