"""Refresh the leaderboards of benchmarks whose scores have changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from assets.fingerprints.digests import GATES, LEADERBOARD, leaderboard_fingerprint
from assets.leaderboard.benchmark_scores import BenchmarkScores
from assets.leaderboard.common_questions import add_common_means
from assets.leaderboard.marks import add_marks, add_page_p, adjust_threshold_p
from assets.leaderboard.metric_facts import mark_headline, metric_facts
from assets.leaderboard.ranking import RANK_KEY, add_coverage, rank_systems, reconcile_ranks
from assets.leaderboard.score_variance import variance_rows, with_repeats
from assets.leaderboard.slices import add_shrunken_means
from assets.leaderboard.system_metrics import compute_system_metrics
from assets.leaderboard.uncertainty import measure_uncertainty
from evaluators.statistics.arrays import DRAWS, SEED
from warehouse.queries.benchmarks import split_benchmarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assets.project import Benchmark
    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

HISTORY_COLUMNS = (
    *("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    *("mean", "ci_low", "ci_high", "n_scored", "signature"),
)

RANDOMNESS = {"bootstrap_draws": DRAWS, "random_seed": SEED}
"""The parameters of all random draws behind intervals and p-values: rows of the table `meta`."""


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
    # The SQL aggregation and the matrix computations are independent of each other.
    with ThreadPoolExecutor(1) as executor:
        sample_means = executor.submit(scores.sample_means)
        system = compute_system_metrics(scores, benchmarks)
        uncertainty, comparisons = measure_uncertainty(scores, system.pseudo)
    comparisons = add_page_p(comparisons, benchmarks)
    facts = pl.concat(
        metric_facts(each.evaluators, each).with_columns(benchmark=pl.lit(each.name))
        for each in benchmarks
    )
    questions = {name: pseudo.questions for name, pseudo in system.pseudo.items()}
    rows = (
        pl.concat([sample_means.result(), system.means], how="diagonal")
        .pipe(add_coverage, facts)
        .pipe(add_common_means, scores, questions)
        .pipe(rank_systems)
        .join(uncertainty, on=[*RANK_KEY, "system"], how="left")
        .pipe(reconcile_ranks)
        .pipe(add_shrunken_means)
        .pipe(mark_headline)
        .pipe(add_marks, comparisons)
        .pipe(adjust_threshold_p, benchmarks)
        .sort("benchmark", maintain_order=True)
    )
    variance = variance_rows(scores)
    return Leaderboards(rows, system.rows, comparisons, system.pairs, variance)


def _write(warehouse: Warehouse, found: Leaderboards, fingerprints: Mapping[str, str]) -> None:
    where = {"benchmark": list(fingerprints)}
    randomness = pl.DataFrame([{"name": name, "value": str(n)} for name, n in RANDOMNESS.items()])

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
        transaction.replace("meta", randomness, where={"name": list(RANDOMNESS)})
        transaction.append("leaderboard_history", dated.select(HISTORY_COLUMNS))
        transaction.record_fingerprints(LEADERBOARD, fingerprints)
        # The new rows have no verdicts of gates.
        transaction.delete("marks", {**where, "stage": GATES})

    warehouse.write(write)
