"""Refresh one evaluator's scores on one benchmark; only stale samples are scored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from assets.fingerprints.digests import scores_fingerprint, scores_stage
from assets.scoring.batches import FRAME_ROWS, score_batches, score_stream
from evaluators import catalog
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.row import RowEvaluator
from warehouse.queries.composite_samples import Part, select_stale_composite_samples
from warehouse.queries.samples import Query, delete_orphans, samples, select_stale_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

_NO_SIGNATURE = ""
"""No evaluator has this signature, so every score counts as stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringResult:
    """What a refresh changed.

    Attributes:
        scored: Samples that were scored.
        current: Samples whose scores were up to date.
        removed: Removed scores of samples that no longer exist.
    """

    scored: int
    current: int
    removed: int


def refresh_scores(
    warehouse: Warehouse,
    benchmark: Benchmark,
    evaluator: Evaluator,
    *,
    run_id: str,
    engines: Engines = NO_ENGINES,
    systems: Sequence[str] = (),
    force: bool = False,
) -> ScoringResult:
    """Score the samples whose inputs or evaluator changed since they were last scored.

    Reads the warehouse, releases it while the evaluator works, and writes once at the end. Frame
    evaluators are as fast as the query and work while it is read.

    Args:
        warehouse: The warehouse with samples and scores.
        benchmark: The benchmark.
        evaluator: The evaluator, with its parameters.
        run_id: The run, recorded with every score.
        engines: The engines that the evaluator may call.
        systems: The systems to score; empty for all.
        force: Score all samples, even if they are up to date.
    """
    name = benchmark.name
    fingerprints = warehouse.fingerprints(name)
    stage, fingerprint = scores_stage(evaluator.name), scores_fingerprint(evaluator, fingerprints)
    if fingerprints.get(stage) == fingerprint and not force:
        return ScoringResult(scored=0, current=_graded_rows(warehouse, name, evaluator), removed=0)
    every = force or not _graded_rows(warehouse, name, evaluator)
    query = stale_samples(benchmark, evaluator, systems=systems, force=every)
    now = datetime.now(UTC).replace(tzinfo=None)
    constants: dict[str, str | datetime] = {
        "evaluator": evaluator.name,
        "signature": evaluator.signature,
        "scored_at": now,
        "run_id": run_id,
    }
    with TemporaryDirectory(prefix=".grades-", dir=warehouse.path.parent) as folder:
        if isinstance(evaluator, FrameEvaluator):
            # Expressions are as fast as the query: no intermediate file is needed.
            with warehouse.stream(*query, rows=FRAME_ROWS) as frames:
                scored = score_stream(evaluator, frames, Path(folder))
            to_retry = 0
        else:
            # Row evaluators score equal inputs once if they are adjacent.
            is_row = isinstance(evaluator, RowEvaluator)
            ordered = f"{query.sql} ORDER BY input_digest" if is_row else query.sql
            with warehouse.fetch_to_disk(ordered, query.parameters) as stale:
                to_retry = score_batches(evaluator, stale, Path(folder), engines)
                scored = stale.rows

        def write(transaction: Transaction) -> tuple[int, int]:
            known = _graded_rows(transaction, name, evaluator)
            _record_signature(transaction, evaluator, now)
            orphans = delete_orphans(name, evaluator.name)
            removed = transaction.execute(*orphans) if known else 0
            if isinstance(evaluator, FlowEvaluator):
                transaction.execute(*delete_orphans(name, evaluator.name, "asks"))
            if scored:
                if isinstance(evaluator, FrameEvaluator):
                    # Their details are short, unlike the rationales of judges.
                    transaction.disable_text_compression(unless_repeated=True)
                put = transaction.replace if known else transaction.append
                put("grades", Path(folder), constants=constants)
            if to_retry:
                # The stage stays stale for a retry, and later stages see that scores changed.
                transaction.record_fingerprint(name, stage, f"unsettled {run_id}")
            elif not systems:
                transaction.record_fingerprint(name, stage, fingerprint)
            return removed, _graded_rows(transaction, name, evaluator) - scored

        removed, current = warehouse.write(write)
    return ScoringResult(scored=scored, current=current, removed=removed)


def _record_signature(transaction: Transaction, evaluator: Evaluator, now: datetime) -> None:
    """Add a new signature to the table `signatures`."""
    key = {"evaluator": evaluator.name, "signature": evaluator.signature}
    known = transaction.fetch(
        "SELECT 1 FROM signatures WHERE evaluator = $evaluator AND signature = $signature", key
    )
    if known.is_empty():
        row = {
            **key,
            "parameters": json.dumps(evaluator.parameters),
            "version": evaluator.version,
            "metrics": [metric.name for metric in evaluator.sample_metrics],
            "first_seen": now,
        }
        transaction.append("signatures", pl.DataFrame([row]))


def _graded_rows(source: Warehouse | Transaction, benchmark: str, evaluator: Evaluator) -> int:
    count = source.fetch(
        "SELECT count(*) FROM grades WHERE benchmark = $benchmark AND evaluator = $evaluator",
        {"benchmark": benchmark, "evaluator": evaluator.name},
    )
    return int(count.item())


def stale_samples(
    benchmark: Benchmark, evaluator: Evaluator, *, systems: Sequence[str] = (), force: bool = False
) -> Query:
    """Return a query for the samples that an evaluator has to score.

    Args:
        benchmark: The benchmark, with the evaluators that a composite combines.
        evaluator: The evaluator, with its parameters.
        systems: The systems; empty for all.
        force: Select all samples. When no sample has a score yet, this gives the same samples
            without a join.
    """
    signature = _NO_SIGNATURE if force else evaluator.signature
    only = list(systems) or None
    if isinstance(evaluator, CompositeEvaluator):
        parts = [_part(benchmark, name) for name in evaluator.parts]
        return select_stale_composite_samples(
            benchmark.name, evaluator.name, signature, parts, only
        )
    columns = evaluator.columns | {"error"}
    if force:
        return samples(benchmark.name, columns, only)
    return select_stale_samples(benchmark.name, evaluator.name, signature, columns, only)


def _part(benchmark: Benchmark, address: str) -> Part:
    """Return the composite part of a metric; without scores if its evaluator is not configured."""
    name, _, metric = address.partition(".")
    configured = next((each for each in benchmark.evaluators if each.name == name), None)
    evaluator = configured or catalog.build(name)
    index = [each.name for each in evaluator.sample_metrics].index(metric)
    signature = _NO_SIGNATURE if configured is None else configured.signature
    return Part(address, name, index, signature)
