"""Several answers to a question: their pass rates as metrics, and what the variance is due to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evaluators.kinds.pairwise import is_paired
from evaluators.statistics.judges.judge_variance import split_variance
from warehouse.queries.benchmarks import answers_per_question
from warehouse.queries.score_matrices import answer_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.statistics.arrays import Floats
    from warehouse.queries.benchmarks import Source

VARIANCE_SCHEMA = {
    **dict.fromkeys(("benchmark", "system", "evaluator", "metric"), pl.String),
    **dict.fromkeys(("n_questions", "n_answers"), pl.Int64),
    **dict.fromkeys(("question", "answer", "judge", "judgments"), pl.Float64),
}
"""The columns of the table `variance`."""


def with_repeats(source: Source, benchmarks: Sequence[Benchmark]) -> list[Benchmark]:
    """Return benchmarks whose evaluators have the metrics of questions with several answers."""
    repeats = answers_per_question(source, [each.name for each in benchmarks])
    return [
        replace(
            benchmark,
            evaluators=tuple(
                each if is_paired(each) else replace(each, repeats=repeats[benchmark.name])
                for each in benchmark.evaluators
            ),
        )
        if benchmark.name in repeats
        else benchmark
        for benchmark in benchmarks
    ]


def variance_rows(source: Source, benchmarks: Sequence[Benchmark]) -> pl.DataFrame:
    """Return the rows of the table `variance` for the result of `with_repeats`."""
    rows = [
        {"benchmark": benchmark.name, **row}
        for benchmark in benchmarks
        for evaluator in benchmark.evaluators
        if evaluator.repeats > 1
        for row in _evaluator_rows(source, benchmark.name, evaluator)
    ]
    return pl.DataFrame(rows, schema=VARIANCE_SCHEMA)


def _evaluator_rows(
    source: Source, benchmark: str, evaluator: Evaluator
) -> Iterator[dict[str, object]]:
    query = answer_values(benchmark, evaluator.name, evaluator.signature)
    answers = source.fetch(*query)
    metrics = replace(evaluator, repeats=1).sample_metrics
    for (system,), own in answers.partition_by("system", as_dict=True).items():
        _, rows = np.unique(own["question"].to_numpy(), return_inverse=True)
        numbers = own["repeat"].to_numpy()
        judged = _judge_variance(own["replicates"])
        for at, metric in enumerate(metrics):
            # Scores of another run may be of more answers than there are now.
            scores = np.full((rows.max() + 1, numbers.max() + 1), np.nan)
            scores[rows, numbers] = own["values"].list.get(at).to_numpy()
            # Answers to a question vary as judgments of an answer do.
            found = split_variance(scores)
            if found is None:
                continue
            of_judge = judged if metric.primary else None
            variance, judgments = (0.0, 1.0) if of_judge is None else of_judge
            yield {
                "system": system,
                "evaluator": evaluator.name,
                "metric": metric.name,
                "n_questions": found.answers,
                "n_answers": int(np.isfinite(_several(scores)).sum()),
                "question": found.answer_variance,
                "answer": found.judge_variance - variance / judgments,
                "judge": None if of_judge is None else variance,
                "judgments": None if of_judge is None else judgments,
            }


def _several(scores: Floats) -> Floats:
    """Return the rows with two or more values."""
    several: Floats = scores[np.isfinite(scores).sum(axis=1) > 1]
    return several


def _judge_variance(replicates: pl.Series) -> tuple[float, float] | None:
    """Return the variance between judgments of the same answer, and how often each was judged."""
    given = [json.loads(text) for text in replicates.drop_nulls()]
    width = max(map(len, given), default=0)
    if width < 2:  # noqa: PLR2004 - a variance needs two
        return None
    judged = np.full((len(given), width), np.nan)
    for row, values in enumerate(given):
        judged[row, : len(values)] = [v if isinstance(v, int | float) else np.nan for v in values]
    found = split_variance(judged)
    mean_judgments = float(np.isfinite(judged).sum(axis=1).mean())
    return None if found is None else (found.judge_variance, mean_judgments)
