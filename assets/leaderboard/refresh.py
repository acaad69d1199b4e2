"""Refresh the leaderboards of benchmarks whose scores have changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from assets.fingerprints.digests import GATES, LEADERBOARD, leaderboard_fingerprint
from assets.leaderboard.common_questions import CommonQuestions, every_question
from assets.leaderboard.marks import add_marks, add_page_p, adjust_threshold_p
from assets.leaderboard.metric_facts import mark_headline, metric_facts
from assets.leaderboard.pseudo_values import PseudoValues
from assets.leaderboard.ranking import RANK_KEY, rank_systems, reconcile_ranks
from assets.leaderboard.score_matrix import BenchmarkScores, sorted_unique
from assets.leaderboard.score_variance import variance_rows, with_repeats
from assets.leaderboard.slices import add_shrunken_means
from assets.leaderboard.system_pairs import PAIRWISE_SCHEMA, aggregate_slices
from assets.leaderboard.uncertainty import measure_uncertainty
from evaluators import scoring
from evaluators.kinds.pairwise import PairwiseEvaluator, is_paired
from evaluators.outcome import Status, Unscored
from evaluators.statistics.arrays import DRAWS, SEED
from warehouse.queries.benchmarks import split_benchmarks
from warehouse.queries.leaderboard import aggregate_scores, partly_lost_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assets.leaderboard.score_matrix import Keys
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Graded
    from evaluators.statistics.arrays import Integers
    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

HISTORY_COLUMNS = (
    *("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    *("mean", "ci_low", "ci_high", "n_scored", "signature"),
)

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

RANDOMNESS = {
    "bootstrap_draws": DRAWS,
    "random_seed": SEED,
}
"""The parameters of all random draws behind intervals and p-values."""


def refresh_leaderboards(
    warehouse: Warehouse, benchmarks: Iterable[Benchmark], *, force: bool = False
) -> dict[str, int]:
    """Aggregate the scores of benchmarks into their leaderboards, unless they are up to date.

    Only scores with the configured signature count: scores of different configurations are not
    comparable. Small benchmarks are read together and written in one transaction.

    Returns:
        The number of rows written for each benchmark; 0 where the leaderboard was up to date.
    """
    by_name = {benchmark.name: benchmark for benchmark in benchmarks}
    known = warehouse.all_fingerprints(list(by_name))
    due = {}
    for name, benchmark in by_name.items():
        fingerprint = leaderboard_fingerprint(benchmark, known[name])
        if force or known[name].get(LEADERBOARD) != fingerprint:
            due[name] = fingerprint
    written = dict.fromkeys(by_name, 0)
    for names, _ in split_benchmarks(warehouse, list(due)):
        found = compute_leaderboards(warehouse, [by_name[name] for name in names])
        _write(warehouse, found, {name: due[name] for name in names})
        written |= dict(found.rows["benchmark"].value_counts().iter_rows())
    return written


def _write(warehouse: Warehouse, found: Leaderboards, fingerprints: Mapping[str, str]) -> None:
    where = {"benchmark": list(fingerprints)}

    def write(transaction: Transaction) -> None:
        # Also later than every publication, so that it belongs to none of them.
        now = max(
            transaction.next_timestamp("leaderboard_history", "published_at", where),
            transaction.next_timestamp("publications", "published_at", {}),
        )
        dated = found.rows.with_columns(published_at=pl.lit(now))
        transaction.replace("leaderboard", dated, where=where)
        transaction.replace("system_scores", found.system_scores, where=where)
        transaction.replace("comparisons", found.comparisons, where=where)
        transaction.replace("pairwise", found.pairwise, where=where)
        transaction.replace("variance", found.variance, where=where)
        transaction.replace("meta", randomness_rows(), where={"name": list(RANDOMNESS)})
        transaction.append("leaderboard_history", dated.select(HISTORY_COLUMNS))
        transaction.record_fingerprints(LEADERBOARD, fingerprints)
        # The new rows have no verdicts of gates.
        transaction.delete("marks", {**where, "stage": GATES})

    warehouse.write(write)


class Leaderboards(NamedTuple):
    """The rows of `leaderboard`, `system_scores`, `comparisons`, `pairwise` and `variance`."""

    rows: pl.DataFrame
    system_scores: pl.DataFrame
    comparisons: pl.DataFrame
    pairwise: pl.DataFrame
    variance: pl.DataFrame


def compute_leaderboards(source: Source, benchmarks: Sequence[Benchmark]) -> Leaderboards:
    """Aggregate the scores of benchmarks, which are read together.

    Returns:
        The rows without `published_at`.
    """
    benchmarks = with_repeats(source, benchmarks)
    scores = BenchmarkScores(source, benchmarks)
    pairs = [pl.DataFrame(schema=PAIRWISE_SCHEMA)]
    pseudo: dict[str, PseudoValues] = {}
    # The SQL aggregation and the matrix computations are independent of each other.
    with ThreadPoolExecutor(1) as executor:
        aggregation = executor.submit(_aggregate, source, benchmarks)
        for benchmark in benchmarks:
            pseudo[benchmark.name] = PseudoValues(scores.question_index(benchmark))
        system_scores, system_means = compute_system_scores(scores, benchmarks, pseudo)
        for benchmark in benchmarks:
            pairs += pseudo[benchmark.name].pair_rows(benchmark)
        uncertainty, comparisons = measure_uncertainty(scores, pseudo)
    comparisons = add_page_p(comparisons, benchmarks)
    facts = pl.concat(
        metric_facts(each.evaluators, each).with_columns(benchmark=pl.lit(each.name))
        for each in benchmarks
    )
    common = {
        each.name: CommonQuestions.load(source, each, pseudo[each.name].questions)
        for each in benchmarks
        if each.missing.may_skip
    }
    rows = (
        rank_systems(
            pl.concat([*aggregation.result(), system_means], how="diagonal"),
            facts,
            partial(_add_common_means, common),
        )
        .join(uncertainty, on=[*RANK_KEY, "system"], how="left")
        .pipe(reconcile_ranks)
        .pipe(add_shrunken_means)
        .pipe(mark_headline)
        .pipe(add_marks, comparisons)
        .pipe(adjust_threshold_p, benchmarks)
        .sort("benchmark", maintain_order=True)
    )
    return Leaderboards(
        rows,
        system_scores,
        comparisons,
        pl.concat(pairs),
        variance_rows(source, benchmarks),
    )


def _add_common_means(common: Mapping[str, CommonQuestions], rows: pl.DataFrame) -> pl.DataFrame:
    """Add the means over common questions, by which systems are ranked."""
    if not common:
        return every_question(rows)
    parts = rows.partition_by("benchmark", as_dict=True, maintain_order=True)
    return pl.concat(
        common[str(name)].add_means(part) if name in common else every_question(part)
        for (name,), part in parts.items()
    )


def _aggregate(source: Source, benchmarks: Sequence[Benchmark]) -> list[pl.DataFrame]:
    """Return the means of the sample metrics; one query for all benchmarks with equal slices."""
    by_slices: dict[tuple[str, ...], list[Benchmark]] = {}
    for benchmark in benchmarks:
        by_slices.setdefault(benchmark.slices, []).append(benchmark)
    found = []
    for slices, group in by_slices.items():
        metrics = [len(each.sample_metrics) for own in group for each in own.evaluators]
        names = [each.name for each in group]
        means = source.fetch(*aggregate_scores(names, slices, max(metrics, default=0)))
        several = [each.name for each in group if any(e.repeats > 1 for e in each.evaluators)]
        if several:
            lost = source.fetch(*partly_lost_scores(several, slices))
            key = [*RANK_KEY, "system", "signature"]
            means = means.join(lost, on=key, how="left", maintain_order="left")
        found.append(means)
    return found


def randomness_rows() -> pl.DataFrame:
    """Return `RANDOMNESS` as rows of the table `meta`."""
    return pl.DataFrame([{"name": name, "value": str(n)} for name, n in RANDOMNESS.items()])


def compute_system_scores(
    scores: BenchmarkScores, benchmarks: Sequence[Benchmark], pseudo: Mapping[str, PseudoValues]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute the system-level metrics of each system and slice.

    Args:
        scores: The scores of the benchmarks.
        benchmarks: The benchmarks, with the evaluators.
        pseudo: Collects the pseudo-values of these metrics, by benchmark.

    Returns:
        The columns of the table `system_scores`, and the metrics as means with their counts.
    """
    rows = [
        row
        for benchmark in benchmarks
        for evaluator in benchmark.evaluators
        if evaluator.system_metrics
        for row in _evaluator_system_scores(scores, benchmark, evaluator, pseudo[benchmark.name])
    ]
    found = pl.DataFrame(rows, schema=SYSTEM_SCORES_SCHEMA | SYSTEM_MEANS_SCHEMA)
    means = found.select(
        *("benchmark", "slice", "system", "evaluator", "metric", "signature"),
        *SYSTEM_MEANS_SCHEMA,
        mean="value",
    )
    return found.select(SYSTEM_SCORES_SCHEMA.keys()), means


def _evaluator_system_scores(
    scores: BenchmarkScores,
    benchmark: Benchmark,
    evaluator: Evaluator,
    pseudo: PseudoValues,
) -> list[dict[str, object]]:
    """Compute one evaluator's system metrics, as rows of the table `system_scores`."""
    scored = scores.samples(benchmark, evaluator)
    by_system = _split_systems(scored)
    questions = _counted_questions(scored)
    rows: list[dict[str, object]] = []
    together: dict[tuple[object, ...], Graded] = {}
    if is_paired(evaluator):
        together = _aggregate_systems(evaluator, by_system, questions, pseudo)
    nothing: Keys = np.empty(0, dtype=np.uint64)
    for slice_, keys in groupby(sorted(by_system), itemgetter(0)):
        samples = {str(system): by_system.pop((slice_, system)) for _, system in keys}
        if together:
            graded = {system: together[slice_, system] for system in samples}
        else:
            graded = {
                system: scoring.aggregate_unpacked(evaluator, own)
                for system, own in samples.items()
            }
        if not together:
            counted = {system: scoring.counted_rows(own) for system, own in samples.items()}
            pseudo.add(evaluator, str(slice_), counted, graded, questions.get(slice_, nothing))
        for system, result in graded.items():
            rows += _result_rows(
                {
                    "benchmark": benchmark.name,
                    "system": system,
                    "slice": slice_,
                    "evaluator": evaluator.name,
                    "signature": evaluator.signature,
                },
                samples[system],
                result,
            )
    return rows


def _split_systems(scored: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    """Return the samples by slice and system, by which they are sorted.

    They are views: copies of a large benchmark would take gigabytes.
    """
    names = [scored[name] for name in ("slice", "system")]
    return {
        (names[0][start], names[1][start]): scored.slice(start, end - start)
        for start, end in _equal_ranges([each.to_physical().to_numpy() for each in names])
    }


def _counted_questions(scored: pl.DataFrame) -> dict[object, Keys]:
    """Return the questions of each slice that the system metrics count, sorted."""
    slices = scored["slice"]
    questions, counted = scored["question"].to_numpy(), scored[scoring.COUNTED].to_numpy()
    return {
        slices[start]: sorted_unique(questions[start:end][counted[start:end]])
        for start, end in _equal_ranges([slices.to_physical().to_numpy()])
        if counted[start:end].any()
    }


def _equal_ranges(columns: Sequence[Integers]) -> Iterator[tuple[int, int]]:
    """Yield the first row of each range of equal rows, and the row after its last one."""
    changes = np.ones(len(columns[0]) + 1, dtype=np.bool_)
    changes[1:-1] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    yield from pairwise(np.flatnonzero(changes).tolist() if len(columns[0]) else [])


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


def _aggregate_systems(
    evaluator: PairwiseEvaluator,
    by_system: Mapping[tuple[object, ...], pl.DataFrame],
    questions: Mapping[object, Keys],
    pseudo: PseudoValues,
) -> dict[tuple[object, ...], Graded]:
    """Return the system metrics of systems that are compared, by slice and system."""
    found: dict[tuple[object, ...], Graded] = {}
    for slice_, result in aggregate_slices(evaluator, by_system).items():
        own = {str(name): rows for (at, name), rows in by_system.items() if at == slice_}
        found |= {(slice_, system): result.graded[system] for system in own}
        if slice_ in questions:
            pseudo.add_systems(evaluator, slice_, own, result, questions[slice_])
    return found
