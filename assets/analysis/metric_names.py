"""Metrics by their address: `evaluator.metric`, an evaluator, or a metric's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.errors import EvaluatorError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric


class UnknownMetric(EvaluatorError):  # noqa: N818 - the name says what is the matter
    """A metric was named that a benchmark does not have."""


def sample_metrics(benchmark: Benchmark, wanted: Sequence[str]) -> list[tuple[Evaluator, Metric]]:
    """The metrics of single samples that are meant; by default those that are primary.

    Args:
        benchmark: The benchmark.
        wanted: `evaluator.metric`, an evaluator (its primary metric), or a metric's name.

    Raises:
        UnknownMetric: One of them does not exist; a near name is suggested.
    """
    every = [(each, metric) for each in benchmark.evaluators for metric in each.sample_metrics]
    if not wanted:
        return [(evaluator, metric) for evaluator, metric in every if metric.primary]
    found: dict[str, tuple[Evaluator, Metric]] = {}
    for name in wanted:
        meant = {
            f"{evaluator.name}.{metric.name}": (evaluator, metric)
            for evaluator, metric in every
            if name in (f"{evaluator.name}.{metric.name}", metric.name)
            or (name == evaluator.name and metric.primary)
        }
        if not meant:
            names = [f"{evaluator.name}.{metric.name}" for evaluator, metric in every]
            if "." not in name:
                names += [
                    each for evaluator, metric in every for each in (evaluator.name, metric.name)
                ]
            raise UnknownMetric(
                f"{benchmark.name!r} has no metric of single samples {name!r}{nearest(name, names)}"
            )
        found |= meant
    return list(found.values())
