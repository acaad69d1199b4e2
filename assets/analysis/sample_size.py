"""How many questions it takes to detect a difference between systems."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assets.leaderboard.benchmark_scores import load_question_index, load_score_matrices
from assets.leaderboard.score_matrix import ALL
from evaluators.statistics.arrays import CONFIDENCE
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.power import clusters_needed, spread_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.leaderboard.score_matrix import QuestionIndex, ScoreMatrices
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.comparisons import Comparisons
    from warehouse.queries.benchmarks import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """The questions that it takes to detect a difference by one metric.

    Attributes:
        benchmark: The benchmark.
        metric: `evaluator.metric`.
        pairs: The number of pairs of systems that the numbers are based on.
        questions: The questions with scores of the pair that needs the most; of the pair with the
            most such questions, if nothing is known of any.
        clusters: The clusters of these questions.
        detectable: The smallest difference that this pair detects now; None if unknown.
        needed_median: The questions that half of the pairs need at most; None if unknown.
        needed: The questions that all pairs need at most; None if unknown.
        needed_low: The least that this pair could need, if the spread is at the lower end of its
            95 % interval; None if unknown.
        needed_high: The most that it could need; None if unknown.
        more: How many more questions that are; None if unknown.
        system_a: The first system of that pair; None if unknown.
        system_b: The second system.
        missing: What is missing for an answer; None if there is one.
        answers: The answers to each question; 1 unless questions have several.
        worth: How many more questions would detect what one more answer to each question would;
            None unless questions have several answers.
    """

    benchmark: str
    metric: str
    pairs: int = 0
    questions: int = 0
    clusters: int = 0
    detectable: float | None = None
    needed_median: int | None = None
    needed: int | None = None
    needed_low: int | None = None
    needed_high: int | None = None
    more: int | None = None
    system_a: str | None = None
    system_b: str | None = None
    missing: str | None = None
    answers: int = 1
    worth: int | None = None


def plan_sample_sizes(
    source: Source,
    benchmark: Benchmark,
    metrics: Sequence[tuple[Evaluator, Metric]],
    difference: float,
    systems: Sequence[str] = (),
) -> list[SampleSize]:
    """Compute how many questions a true difference takes to be detected with a power of 80 %.

    The numbers rest on the variance of the present paired differences, and on the level that Holm's
    adjustment for all pairs of systems gives the most significant pair. New questions and clusters
    are assumed to be like the present ones.

    Args:
        source: The warehouse or its published copy.
        benchmark: The benchmark.
        metrics: The sample metrics.
        difference: The true difference, positive, on the scale of the metrics.
        systems: The systems of interest: both of a pair if there are several, one of it if there is
            one; empty for all pairs.

    Returns:
        One result per metric.
    """
    questions = load_question_index(source, benchmark)
    variances = _fetch_variances(source, benchmark)
    loaded: dict[str, ScoreMatrices] = {}
    results = []
    for evaluator, metric in metrics:
        if evaluator.name not in loaded:
            loaded[evaluator.name] = load_score_matrices(source, benchmark, evaluator)
        address = f"{evaluator.name}.{metric.name}"
        results.append(
            _plan(
                SampleSize(benchmark=benchmark.name, metric=address),
                loaded[evaluator.name],
                questions,
                metric,
                difference,
                systems,
                {system: each for (system, of), each in variances.items() if of == address},
            )
        )
    return results


class AnswerVariance(NamedTuple):
    """The variance between answers to the same question, with that of the judge.

    Attributes:
        variance: That of one answer.
        answers: The mean number of answers to a question.
    """

    variance: float
    answers: float

    def less_with_one_more(self) -> float:
        """Return by how much one more answer lowers the variance of a question's mean."""
        return self.variance * (1 / self.answers - 1 / (self.answers + 1))


def _fetch_variances(source: Source, benchmark: Benchmark) -> dict[tuple[str, str], AnswerVariance]:
    """Return the variance between answers by system and metric."""
    found = source.fetch(
        "SELECT system, evaluator || '.' || metric, answer + coalesce(judge, 0), "
        "n_answers / n_questions FROM variance WHERE benchmark = $benchmark",
        {"benchmark": benchmark.name},
    )
    return {
        (system, metric): AnswerVariance(max(0.0, variance), answers)
        for system, metric, variance, answers in found.iter_rows()
    }


def _worth_of_answer(n: int, std_error: float, pair: Sequence[AnswerVariance | None]) -> int | None:
    """Return how many more questions are worth one more answer to each of n questions."""
    if None in pair or not std_error > 0:
        return None
    less = sum(each.less_with_one_more() for each in pair if each is not None) / n
    left = std_error**2 - less
    # Rounded, so that the last digits of a quotient add no question.
    return math.ceil(round(n * less / left, 6)) if left > 0 else None


def _plan(
    empty: SampleSize,
    matrices: ScoreMatrices,
    questions: QuestionIndex,
    metric: Metric,
    difference: float,
    systems: Sequence[str],
    variances: Mapping[str, AnswerVariance],
) -> SampleSize:
    width = metric.bounds[1] - metric.bounds[0]
    if difference > width:
        return replace(empty, missing=f"the largest possible difference is {width:g}")
    if len(matrices.systems) < 2:  # noqa: PLR2004 - a pair
        return replace(empty, missing="scores of two systems; `scoreline run` computes them")
    values = matrices.means_of(metric, matrices.rows(ALL, questions))
    groups, pairs = questions.groups(matrices.questions), every_pair(len(matrices.systems))
    pass_fail = metric.bounds == (0.0, 1.0) and is_pass_fail(values)
    found = compare(
        values, groups, pairs, best=metric.best, pass_fail=pass_fail, bounds=metric.bounds
    )
    wanted = _of_interest(found, matrices.systems, systems)
    if not wanted.any():
        return replace(empty, missing="questions with scores of both systems")
    low, needed, high = (
        _questions_needed(found, difference, wanted, error, pass_fail=pass_fail and groups.alone)
        for error in (
            found.std_error / spread_ratio(found.degrees, 0.5 + CONFIDENCE / 2),
            found.std_error,
            found.std_error / spread_ratio(found.degrees, 0.5 - CONFIDENCE / 2),
        )
    )
    worst = int(np.argmax(needed if needed.any() else np.where(wanted, found.n_pairs, -1)))
    counted = replace(
        empty,
        pairs=int(np.count_nonzero(wanted)),
        questions=int(found.n_pairs[worst]),
        clusters=int(found.clusters[worst]),
    )
    if not needed.any():
        return replace(counted, missing=_missing_variation(found, wanted))
    detectable = float(found.detectable[worst])
    names = [matrices.systems[at] for at in pairs[worst]]
    n, std_error = int(found.n_pairs[worst]), float(found.std_error[worst])
    several = [variances[name].answers for name in names if name in variances]
    return replace(
        counted,
        detectable=detectable if np.isfinite(detectable) else None,
        needed_median=int(np.quantile(needed[needed > 0], 0.5, method="inverted_cdf")),
        needed=int(needed[worst]),
        needed_low=int(low[worst]) or None,
        needed_high=int(high[worst]) or None,
        more=max(0, int(needed[worst] - found.n_pairs[worst])),
        system_a=names[0],
        system_b=names[1],
        answers=round(max(several, default=1)),
        worth=_worth_of_answer(n, std_error, [variances.get(name) for name in names]),
    )


def _questions_needed(
    found: Comparisons, difference: float, wanted: Booleans, errors: Floats, *, pass_fail: bool
) -> Integers:
    """Return the questions that each pair needs, given its standard error; 0 if unknown."""
    clusters = clusters_needed(
        difference,
        errors,
        found.clusters,
        found.degrees,
        found.unseen,
        tests=int(np.count_nonzero(found.n_pairs)),
        pass_fail=pass_fail,
    )
    clusters[~wanted] = 0
    # A cluster has as many questions as now, on average.
    questions = clusters * found.n_pairs / np.maximum(1, found.clusters)
    return np.ceil(questions).astype(np.int64)


def _of_interest(found: Comparisons, names: Sequence[str], systems: Sequence[str]) -> Booleans:
    """Return the pairs of the systems of interest that have common questions."""
    chosen = np.isin(names, systems)[found.pairs]
    is_wanted = chosen.sum(axis=1) >= min(2, len(systems))
    wanted: Booleans = is_wanted & (found.n_pairs > 0)
    return wanted


def _missing_variation(found: Comparisons, wanted: Booleans) -> str:
    if (found.clusters[wanted] < 2).all():  # noqa: PLR2004 - a variance needs two
        return "a second question (or cluster of questions)"
    if (found.std_error[wanted] > 0).any():
        return "a larger difference: this one takes over a billion questions"
    return "variation: all differences seen so far are equal"
