"""Wobbles: how much of the spread of judged scores is the judge's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluators.kinds.flow import FlowEvaluator
from evaluators.statistics.wobble import wobble
from warehouse.queries.human_labels import repeated_judgements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Benchmark
    from warehouse.store import Warehouse


def wobbles(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """One row for each evaluator whose judge was asked the same several times.

    Judgements of which nothing came are left out; see `repeated_judgements` for where they stand.
    """
    for evaluator in benchmark.evaluators:
        if not isinstance(evaluator, FlowEvaluator):
            continue
        query = repeated_judgements(benchmark.name, evaluator.name, evaluator.signature)
        said = warehouse.fetch(query.sql, query.parameters)["replicates"].to_list()
        repeats = [[_number(each) for each in json.loads(text)] for text in said]
        if not repeats:
            continue
        judged = np.full((len(repeats), max(map(len, repeats))), np.nan)
        for row, numbers in enumerate(repeats):
            judged[row, : len(numbers)] = numbers
        metric = next(metric for metric in evaluator.sample_metrics if metric.primary)
        address = f"{evaluator.name}.{metric.name}"
        threshold = benchmark.thresholds.get(address, metric.threshold)
        found = wobble(judged, threshold, metric.best)
        if found is not None:
            yield {
                "evaluator": evaluator.name,
                "metric": metric.name,
                "n_answers": found.answers,
                "judge_variance": found.judge_variance,
                "answer_variance": found.answer_variance,
                "flip_rate": found.flip_rate,
                "reliability": found.reliability,
            }


def _number(said: object) -> float:
    return float(said) if isinstance(said, int | float) else np.nan
