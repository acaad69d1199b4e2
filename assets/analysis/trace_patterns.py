"""Diagnoses from the TRACE metrics: patterns that most questions of a system show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assets.leaderboard.benchmark_scores import load_question_index, load_score_matrices
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import sum_by_cluster
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import effective_sample_size, wilson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.statistics.arrays import Booleans, Floats
    from evaluators.statistics.clusters import ClusterSums, Groups
    from warehouse.queries.benchmarks import Source

HIGH = 0.7
"""The least value that the source calls high."""

LOW = 0.5
"""The greatest value that the source gives as an example of a low one."""

_RELEVANCE, _UTILIZATION = "context_relevance", "context_utilization"
_COMPLETENESS, _ADHERENCE = "completeness", "adherence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Values of the TRACE metrics of one answer that together say what to change.

    Attributes:
        kind: The kind of the insight.
        metric: The metric that the insight is about.
        at_least: The least value of each metric that must be high.
        at_most: The greatest value of each metric that must be low.
        finding: What a system does on these questions.
        advice: What to do.

    Source: the GPT labelling approach for TRACE metrics, "Common Patterns" and "Complementary
    Metrics".
    """

    kind: str
    metric: str
    at_least: Mapping[str, float]
    at_most: Mapping[str, float]
    finding: str
    advice: str

    @property
    def condition(self) -> str:
        """The values that an answer needs."""
        limits = [
            *(f"{name} at least {least:g}" for name, least in self.at_least.items()),
            *(f"{name} at most {most:g}" for name, most in self.at_most.items()),
        ]
        return ", ".join(limits)

    def matches(self, values: Mapping[str, Floats]) -> Booleans:
        """Return which answers show the pattern; an answer without one of the values does not."""
        conditions = [
            *(values[name] >= least for name, least in self.at_least.items()),
            *(values[name] <= most for name, most in self.at_most.items()),
        ]
        matching: Booleans = np.logical_and.reduce(conditions)
        return matching


PATTERNS = (
    Pattern(
        kind="unused_context",
        metric=_UTILIZATION,
        at_least={_RELEVANCE: HIGH},
        at_most={_UTILIZATION: LOW},
        finding="retrieves relevant context but does not use it",
        advice="improve the instructions of the prompt",
    ),
    Pattern(
        kind="incomplete_but_grounded",
        metric=_COMPLETENESS,
        at_least={_ADHERENCE: 1.0},
        at_most={_COMPLETENESS: LOW},
        finding="is grounded but leaves out relevant information",
        advice="improve the coverage of the retrieval, or the summarization",
    ),
    Pattern(
        kind="complete_and_grounded",
        metric=_ADHERENCE,
        at_least={_RELEVANCE: HIGH, _UTILIZATION: HIGH, _COMPLETENESS: HIGH, _ADHERENCE: 1.0},
        at_most={},
        finding="is comprehensive and grounded",
        advice="monitor and maintain it",
    ),
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A pattern that a system shows on most questions.

    Attributes:
        system: The system.
        pattern: The pattern.
        n_matching: The number of questions with the pattern.
        n: The number of questions with a value of the relevance, which failed answers have.
        interval: Wilson's 95 % interval of the share.
    """

    system: str
    pattern: Pattern
    n_matching: int
    n: int
    interval: tuple[float, float]


def find_trace_insights(
    source: Source, benchmark: Benchmark, evaluator: Evaluator
) -> Iterator[dict[str, object]]:
    """Yield the insights from the TRACE metrics of one evaluator, as rows of `insights`."""
    matrices = load_score_matrices(source, benchmark, evaluator)
    groups = load_question_index(source, benchmark).groups(matrices.questions)
    for found in diagnose(matrices.systems, matrices.values, groups):
        low, high = found.interval
        pattern = found.pattern
        yield {
            "benchmark": benchmark.name,
            "evaluator": evaluator.name,
            "metric": pattern.metric,
            "kind": pattern.kind,
            "system": found.system,
            "value": found.n_matching / found.n,
            "message": f"{found.system} {pattern.finding} on {found.n_matching:,} of {found.n:,} "
            f"questions ({pattern.condition}; 95 % interval of the share {low:.3f} to "
            f"{high:.3f}): {pattern.advice}",
        }


def diagnose(
    systems: Sequence[str], values: Mapping[str, Floats], groups: Groups
) -> list[Diagnosis]:
    """Return the patterns that systems show on significantly more than half of the questions.

    A failed answer shows none, because its relevance and adherence are 0. The tests of all systems
    and patterns are one family (Holm). Questions that the judge could not judge do not count.

    Args:
        systems: The systems.
        values: The TRACE metrics, each of shape (questions, systems); NaN for missing values.
        groups: The clusters of the questions.
    """
    if not systems:
        return []
    is_judged = np.isfinite(values[_RELEVANCE])
    sums = [
        sum_by_cluster(np.where(is_judged, each.matches(values), np.nan), groups)
        for each in PATTERNS
    ]
    p_values = np.concatenate([_p_of_majority(each) for each in sums])
    is_significant = (holm(p_values) < LEVEL).reshape(len(PATTERNS), len(systems))
    intervals = [
        wilson(each.sums.sum(axis=0), each.n, effective_sample_size(each)) for each in sums
    ]
    return [
        Diagnosis(
            system,
            pattern,
            n_matching=int(sums[row].sums[:, column].sum()),
            n=int(sums[row].n[column]),
            interval=(float(intervals[row].low[column]), float(intervals[row].high[column])),
        )
        for column, system in enumerate(systems)
        for row, pattern in enumerate(PATTERNS)
        if is_significant[row, column]
    ]


def _p_of_majority(matching: ClusterSums) -> Floats:
    """Return the p-value of each column for the hypothesis of a share of at most one half.

    Returns:
        Shape (columns,): the tail of the binomial distribution at the effective number of
        questions, which need not be whole; NaN without questions.

    Source: Korn and Graubard 1998, see `effective_sample_size`.
    """
    from scipy.special import betainc

    sizes = effective_sample_size(matching)
    successes = matching.means * sizes
    tail: Floats = betainc(np.maximum(successes, 1e-300), sizes - successes + 1, 0.5)
    return np.where(successes > 0, tail, np.where(matching.n > 0, 1.0, np.nan))
