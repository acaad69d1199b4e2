"""Several answers to a question: their pass rates as metrics, and what the variance is due to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evaluators.kinds.pairwise import is_paired
from evaluators.statistics.judges.judge_variance import split_score_variance
from warehouse.queries.benchmarks import answers_per_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.leaderboard.benchmark_scores import BenchmarkScores
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
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
                each
                if is_paired(each)
                else replace(
                    each,
                    repeats=repeats[benchmark.name].most,
                    least_repeats=repeats[benchmark.name].least,
                )
                for each in benchmark.evaluators
            ),
        )
        if benchmark.name in repeats
        else benchmark
        for benchmark in benchmarks
    ]


def variance_rows(scores: BenchmarkScores) -> pl.DataFrame:
    """Return the rows of the table `variance`; the benchmarks are the result of `with_repeats`."""
    rows = [
        {"benchmark": benchmark.name, **row}
        for benchmark in scores.benchmarks
        for evaluator in benchmark.evaluators
        if evaluator.repeats > 1
        for row in _evaluator_rows(scores.answers(benchmark, evaluator), evaluator)
    ]
    return pl.DataFrame(rows, schema=VARIANCE_SCHEMA)


def _evaluator_rows(answers: pl.DataFrame, evaluator: Evaluator) -> Iterator[dict[str, object]]:
    metrics = replace(evaluator, repeats=1).sample_metrics
    for (system,), own in answers.partition_by("system", as_dict=True).items():
        _, rows = np.unique(own["question"].to_numpy(), return_inverse=True)
        numbers = own["repeat"].to_numpy()
        for at, metric in enumerate(metrics):
            # Scores of another run may be of more answers than there are now.
            scores = np.full((rows.max() + 1, numbers.max() + 1), np.nan)
            scores[rows, numbers] = own["values"].list.get(at).to_numpy()
            single = _judgments(own, metric)
            judged = None
            if single is not None:
                judged = np.full((*scores.shape, single.shape[1]), np.nan)
                judged[rows, numbers] = single
            found = split_score_variance(scores, judged)
            if found is None:
                continue
            yield {
                "system": system,
                "evaluator": evaluator.name,
                "metric": metric.name,
                "n_questions": found.questions,
                "n_answers": found.answers,
                "question": found.question,
                "answer": found.answer,
                "judge": found.judge,
                "judgments": found.judgments,
            }


def _judgments(answers: pl.DataFrame, metric: Metric) -> Floats | None:
    """Return what the judge gave each answer each time, or the members of a panel did.

    Returns:
        Shape (answers, judgments), NaN where there is none; None where answers were judged once. A
        member of a panel that is more lenient than the others is so for every answer: its values
        are those less its mean difference from the others.
    """
    if metric.primary and answers["replicates"].null_count() < answers.height:
        given = [json.loads(text or "[]") for text in answers["replicates"]]
        return _matrix(given)
    if answers["members"].null_count() == answers.height:
        return None
    by_member = [json.loads(text or "{}") for text in answers["members"]]
    members = list(dict.fromkeys(name for each in by_member for name in each))
    values = _matrix(
        [[each.get(name, {}).get(metric.name) for name in members] for each in by_member]
    )
    if values is None:
        return None
    everyone = values[np.isfinite(values).all(axis=1)]
    shift = everyone.mean(axis=0) - everyone.mean() if len(everyone) else 0.0
    centred: Floats = values - shift
    return centred


def _matrix(given: Sequence[Sequence[object]]) -> Floats | None:
    """Return lists of numbers, or of reasons where there is none, as rows of one length."""
    width = max(map(len, given), default=0)
    if width < 2:  # noqa: PLR2004 - a variance needs two
        return None
    matrix = np.full((len(given), width), np.nan)
    for row, values in enumerate(given):
        matrix[row, : len(values)] = [v if isinstance(v, int | float) else np.nan for v in values]
    return matrix
