"""Metrics of a benchmark by the names that users give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evaluators.errors import EvaluatorError
from evaluators.metric import ATTEMPTS
from records.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric


class UnknownMetric(EvaluatorError):  # noqa: N818
    """A benchmark has no metric of a given name."""


def select_metrics(
    benchmark: Benchmark, wanted: Sequence[str], *, with_system_metrics: bool = False
) -> list[tuple[Evaluator, Metric]]:
    """Return the metrics that the names stand for, or the primary ones without names.

    Args:
        benchmark: The benchmark.
        wanted: `evaluator.metric`, an evaluator (its primary metric), or a metric's name; also
            those of questions with several answers.
        with_system_metrics: Whether metrics of a whole system count too, not only those of samples.

    Raises:
        UnknownMetric: One of them does not exist; the message suggests a similar name.
    """
    every = {
        f"{evaluator.name}.{metric.name}": (evaluator, metric)
        for evaluator in benchmark.evaluators
        for metric in (evaluator.measured() if with_system_metrics else evaluator.sample_metrics)
    }
    if not wanted:
        return [(evaluator, metric) for evaluator, metric in every.values() if metric.primary]
    every |= {
        f"{evaluator.name}.{each.metric.name}": (
            replace(evaluator, repeats=max(evaluator.repeats, each.answers), least_repeats=None),
            each.metric,
        )
        for evaluator in benchmark.evaluators
        for each in evaluator.repeated_metrics(ATTEMPTS[-1])
    }
    selected: dict[str, tuple[Evaluator, Metric]] = {}
    for name in wanted:
        matching = {
            address: (evaluator, metric)
            for address, (evaluator, metric) in every.items()
            if name in (address, metric.name) or (name == evaluator.name and metric.primary)
        }
        if not matching:
            names = list(every)
            if "." not in name:
                names += [part for address in every for part in address.split(".")]
            kind = "metric" if with_system_metrics else "sample metric"
            raise UnknownMetric(
                f"{benchmark.name!r} has no {kind} {name!r}{did_you_mean(name, names)}"
            )
        selected |= matching
    return list(selected.values())
