"""System metrics: numbers about all answers of a system, also those that compare systems."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from assets.leaderboard.pseudo_values import PseudoValues
from assets.leaderboard.score_matrix import ALL, sorted_unique
from evaluators import scoring
from evaluators.kinds.pairwise import is_paired
from evaluators.outcome import Status, Unscored
from evaluators.statistics.pairwise.verdicts import TIE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.leaderboard.benchmark_scores import BenchmarkScores
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.kinds.pairwise import PairedAnswers
    from evaluators.outcome import Graded

SYSTEM_SCORES_SCHEMA = {
    **dict.fromkeys(("benchmark", "system", "slice", "evaluator", "metric"), pl.String),
    **dict.fromkeys(("status", "reason", "detail", "signature"), pl.String),
    "value": pl.Float64,
}

SYSTEM_MEANS_SCHEMA: dict[str, type[pl.DataType]] = {
    "chance": pl.Float64,
    "n": pl.Int64,
    **{f"n_{status.value}": pl.Int64 for status in Status},
}
"""The counts of a system metric, and its chance level."""

PAIRWISE_SCHEMA = {
    **dict.fromkeys(("benchmark", "evaluator", "system_a", "system_b"), pl.String),
    **dict.fromkeys(("wins_a", "wins_b", "ties", "n_judged"), pl.Int64),
    **dict.fromkeys(("n_changed", "prefers_first", "prefers_second"), pl.Int64),
    "signature": pl.String,
}


class SystemMetrics(NamedTuple):
    """The system metrics of benchmarks.

    Attributes:
        rows: The rows of the table `system_scores`.
        means: The metrics as means with their counts.
        pairs: The rows of the table `pairwise`.
        pseudo: The pseudo-values of the metrics, by benchmark.
    """

    rows: pl.DataFrame
    means: pl.DataFrame
    pairs: pl.DataFrame
    pseudo: dict[str, PseudoValues]


def compute_system_metrics(
    scores: BenchmarkScores, benchmarks: Sequence[Benchmark]
) -> SystemMetrics:
    """Compute the system metrics of each system and slice.

    Args:
        scores: The scores of the benchmarks.
        benchmarks: The benchmarks, with the evaluators.
    """
    rows: list[dict[str, object]] = []
    pairs = [pl.DataFrame(schema=PAIRWISE_SCHEMA)]
    pseudo = {each.name: PseudoValues(scores.question_index(each)) for each in benchmarks}
    for benchmark in benchmarks:
        for evaluator in benchmark.evaluators:
            if evaluator.system_metrics:
                own = _compute_evaluator(scores, benchmark, evaluator, pseudo[benchmark.name])
                rows += own.rows
                pairs += own.pairs
    found = pl.DataFrame(rows, schema=SYSTEM_SCORES_SCHEMA | SYSTEM_MEANS_SCHEMA)
    means = found.select(
        *("benchmark", "slice", "system", "evaluator", "metric", "signature"),
        *SYSTEM_MEANS_SCHEMA,
        mean="value",
    )
    return SystemMetrics(found.select(SYSTEM_SCORES_SCHEMA.keys()), means, pl.concat(pairs), pseudo)


class _EvaluatorMetrics(NamedTuple):
    rows: list[dict[str, object]]
    pairs: list[pl.DataFrame]


def _compute_evaluator(
    scores: BenchmarkScores, benchmark: Benchmark, evaluator: Evaluator, pseudo: PseudoValues
) -> _EvaluatorMetrics:
    """Compute one evaluator's system metrics, and collect their pseudo-values."""
    found = _EvaluatorMetrics([], [])
    for slice_, scored in _split(scores.samples(benchmark, evaluator), "slice"):
        by_system = dict(_split(scored, "system"))
        questions = sorted_unique(scored["question"].filter(scored[scoring.COUNTED]).to_numpy())
        graded: Mapping[str, Graded]
        if is_paired(evaluator):
            compared = scoring.aggregate_systems(evaluator, by_system)
            graded = compared.graded
            if len(questions):
                pseudo.add_systems(evaluator, slice_, by_system, compared, questions)
            if slice_ == ALL and len(questions):
                found.pairs.append(pair_rows(benchmark.name, evaluator, compared.paired))
        else:
            graded = {
                system: scoring.aggregate_unpacked(evaluator, samples)
                for system, samples in by_system.items()
            }
            counted = {
                system: scoring.counted_rows(samples) for system, samples in by_system.items()
            }
            pseudo.add(evaluator, slice_, counted, graded, questions)
        for system, samples in by_system.items():
            key = {
                "benchmark": benchmark.name,
                "system": system,
                "slice": slice_,
                "evaluator": evaluator.name,
                "signature": evaluator.signature,
            }
            found.rows.extend(_result_rows(key, samples, graded[system]))
    return found


def _split(rows: pl.DataFrame, name: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each value of a column by which rows are sorted, with its rows.

    They are views: copies of a large benchmark would take gigabytes.
    """
    start = 0
    for length, value in rows[name].rle().struct.unnest().iter_rows():
        yield value, rows.slice(start, length)
        start += length


def _result_rows(
    key: Mapping[str, object], samples: pl.DataFrame, result: Graded
) -> Iterator[dict[str, object]]:
    """Yield a row of the table `system_scores` for each metric of one system on one slice."""
    detail = None if result.detail is None else json.dumps(result.detail, ensure_ascii=False)
    counts: dict[type | None, dict[str, int]] = {}
    for name, score in result.scores.items():
        lost = score if isinstance(score, Unscored) else None
        reason = None if lost is None else type(lost)
        if reason not in counts:
            counts[reason] = scoring.count_samples(samples, score)
        yield {
            **key,
            "metric": name,
            "status": Status.SCORED.value if lost is None else lost.status.value,
            "reason": None if lost is None else lost.reason,
            "detail": detail,
            "value": score if lost is None else None,
            "chance": result.chance[name].level if name in result.chance else None,
            **counts[reason],
        }


def pair_rows(benchmark: str, evaluator: Evaluator, paired: PairedAnswers) -> pl.DataFrame:
    """Count the outcomes of each pair of systems, and the verdicts that the order changed."""
    names = pl.Series(paired.systems, dtype=pl.String)
    outcomes, (shown_first, shown_second) = paired.compared.outcomes, paired.votes.T
    judged = np.isfinite(shown_first)
    # For the answer that is shown second, a verdict for it is -1.
    lean = np.where(judged, shown_first + shown_second, 0.0)
    counted = {
        "wins_a": outcomes > TIE,
        "wins_b": outcomes < TIE,
        "ties": outcomes == TIE,
        "n_judged": judged,
        "n_changed": lean != 0,
        "prefers_first": lean > 0,
        "prefers_second": lean < 0,
    }
    pair = pl.DataFrame(
        {
            "system_a": names.gather(paired.compared.one),
            "system_b": names.gather(paired.compared.other),
            **counted,
        }
    )
    return (
        pair.group_by("system_a", "system_b")
        .agg(pl.col(name).sum().cast(pl.Int64) for name in counted)
        .sort("system_a", "system_b")
        .with_columns(
            benchmark=pl.lit(benchmark),
            evaluator=pl.lit(evaluator.name),
            signature=pl.lit(evaluator.signature),
        )
        .select(PAIRWISE_SCHEMA.keys())
    )
