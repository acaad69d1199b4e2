"""Means over the questions that all systems were asked, by which systems are ranked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.benchmark_scores import BenchmarkScores
from assets.leaderboard.score_matrix import ALL
from evaluators import scoring
from evaluators.kinds.pairwise import STRENGTH, PairwiseEvaluator, is_paired
from evaluators.outcome import Unscored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.leaderboard.score_matrix import Keys, QuestionIndex
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans

KEY = ("slice", "system", "evaluator", "metric")

SCHEMA = {
    **dict.fromkeys(KEY, pl.String),
    "n_not_asked": pl.Int64,
    "n_common": pl.Int64,
    "common_mean": pl.Float64,
}


def add_common_means(
    rows: pl.DataFrame, scores: BenchmarkScores, questions: Mapping[str, QuestionIndex]
) -> pl.DataFrame:
    """Add the columns of `SCHEMA`: the means by which systems are ranked.

    Args:
        rows: benchmark, slice, system, evaluator, metric, n and mean, null for systems without a
            mean.
        scores: The scores of the benchmarks.
        questions: The clusters and slices of their questions, by benchmark.
    """
    partly_asked = {each.name: each for each in scores.benchmarks if each.missing.may_skip}
    if not partly_asked:
        return add_own_means(rows)
    parts = rows.partition_by("benchmark", as_dict=True, maintain_order=True)
    return pl.concat(
        CommonQuestions(scores, partly_asked[name], questions[name]).add_means(part)
        if name in partly_asked
        else add_own_means(part)
        for (name,), part in parts.items()
    )


def add_own_means(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `SCHEMA` to rows of systems that were asked every question."""
    return rows.with_columns(n_not_asked=pl.lit(0, pl.Int64), n_common="n", common_mean="mean")


@dataclass(frozen=True)
class CommonQuestions:
    """The questions of a benchmark that systems were asked.

    Attributes:
        scores: The scores of several benchmarks.
        benchmark: The benchmark.
        questions: The clusters and slices of its questions.
    """

    scores: BenchmarkScores
    benchmark: Benchmark
    questions: QuestionIndex

    @cached_property
    def not_asked(self) -> dict[str, Keys]:
        """The keys of the questions that each system was not asked, sorted."""
        return self.scores.not_asked(self.benchmark)

    def add_means(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the columns of `SCHEMA` to the rows of the benchmark.

        Args:
            rows: slice, system, evaluator, metric, n and mean, null for systems without a mean.
        """
        groups = rows.partition_by("slice", "evaluator", "metric", as_dict=True)
        found: list[tuple[object, ...]] = []
        for evaluator in self.benchmark.evaluators:
            for slice_, metric, means in self._means(evaluator, groups):
                found += [(slice_, system, evaluator.name, metric, *each) for system, each in means]
        columns = pl.DataFrame(found, schema=SCHEMA, orient="row")
        same_questions = pl.col("n_common") == pl.col("n") - pl.col("n_not_asked")
        # A strength depends on the questions of all systems.
        paired = [each.name for each in self.benchmark.evaluators if is_paired(each)]
        is_strength = pl.col("evaluator").is_in(paired) & (pl.col("metric") == STRENGTH)
        return (
            rows.join(columns, on=list(KEY), how="left", maintain_order="left")
            # The same questions have the same mean, to the last digit.
            .with_columns(
                common_mean=pl.when(same_questions & ~is_strength)
                .then("mean")
                .otherwise("common_mean")
            )
        )

    def _means(
        self, evaluator: Evaluator, groups: dict[tuple[object, ...], pl.DataFrame]
    ) -> Iterator[tuple[str, str, list[tuple[str, tuple[int, int, float | None]]]]]:
        """Yield slice and metric, and for each system its counts and its mean."""
        scores = BenchmarkScores(self.scores.source, [self.benchmark])
        matrices = scores.matrices(self.benchmark, evaluator)
        samples = (
            scores.samples(self.benchmark, evaluator).partition_by("slice", "system", as_dict=True)
            if evaluator.system_metrics
            else {}
        )
        for slice_ in (ALL, *self.questions.slices):
            if not matrices.systems:
                return
            rows = np.arange(len(matrices.questions))[matrices.rows(slice_, self.questions)]
            keys = matrices.questions[rows]
            asked = {system: self._is_asked(system, keys) for system in matrices.systems}
            for metric in (*evaluator.sample_metrics, *evaluator.system_metrics):
                group = groups.get((slice_, evaluator.name, metric.name))
                if group is None:
                    continue
                ranked = group.filter(pl.col("mean").is_not_null())["system"].to_list()
                common = np.ones(len(keys), dtype=np.bool_)
                for system in ranked:
                    common &= asked[system]
                if metric.level == "sample":
                    values = matrices.means_of(metric, rows[common])
                    means = dict(zip(matrices.systems, values.T.tolist(), strict=True))
                    found = {system: _mean(metric, means[system]) for system in ranked}
                elif is_paired(evaluator):
                    found = _aggregate_systems(
                        evaluator, samples, slice_, metric.name, keys[common]
                    )
                else:
                    found = {
                        system: _aggregate(
                            evaluator, samples[slice_, system], metric.name, keys[common]
                        )
                        for system in ranked
                    }
                yield (
                    slice_,
                    metric.name,
                    [
                        (
                            system,
                            (
                                int(np.count_nonzero(~asked[system])),
                                int(np.count_nonzero(common)),
                                found.get(system),
                            ),
                        )
                        for system in group["system"].to_list()
                    ],
                )

    def _is_asked(self, system: str, keys: Keys) -> Booleans:
        without = self.not_asked.get(system)
        if without is None:
            return np.ones(len(keys), dtype=np.bool_)
        return ~np.isin(keys, without)


def _mean(metric: Metric, values: Sequence[float]) -> float | None:
    scored = [value for value in values if not np.isnan(value)]
    return metric.settle(float(np.mean(scored))) if scored else None


def _aggregate_systems(
    evaluator: PairwiseEvaluator,
    samples: Mapping[tuple[object, ...], pl.DataFrame],
    slice_: str,
    metric: str,
    questions: Keys,
) -> dict[str, float | None]:
    """Return a metric of systems that are compared with each other, on some questions."""
    common = {
        str(system): rows.filter(np.isin(rows["question"].to_numpy(), questions))
        for (own_slice, system), rows in samples.items()
        if own_slice == slice_
    }
    graded = scoring.aggregate_systems(evaluator, common).graded
    found = {system: each.scores[metric] for system, each in graded.items()}
    return {
        system: None if isinstance(score, Unscored) else score for system, score in found.items()
    }


def _aggregate(
    evaluator: Evaluator, samples: pl.DataFrame, metric: str, questions: Keys
) -> float | None:
    """Return a system metric on some questions; null if it has no value there."""
    common = samples.filter(np.isin(samples["question"].to_numpy(), questions))
    score = scoring.aggregate_unpacked(evaluator, common).scores[metric]
    return None if isinstance(score, Unscored) else score
