"""Grading: bring the scores of one evaluator on one benchmark up to date, and no more than that."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringResult:
    """What grading changed.

    Attributes:
        scored: Samples that were graded now.
        current: Samples whose grades were up to date.
        removed: Grades of samples that there are no more.
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
    """Score the samples whose inputs or whose evaluator changed since they were last scored.

    The warehouse is read, then left alone while the evaluator works, then written to once.
    Evaluators whose expressions are as fast as the reading work while it is read.

    Args:
        warehouse: Where samples are fetched and grades are replaced.
        benchmark: The benchmark.
        evaluator: The evaluator, with its parameters.
        run_id: Is noted in every grade that is written.
        engines: What the evaluator may ask.
        systems: The systems to score; empty for all.
        force: Score everything again, changed or not.
    """
    name = benchmark.name
    marks = warehouse.fingerprints(name)
    stage, digest = scores_stage(evaluator.name), scores_fingerprint(evaluator, marks)
    if marks.get(stage) == digest and not force:
        return ScoringResult(scored=0, current=_graded_rows(warehouse, name, evaluator), removed=0)
    every = force or not _graded_rows(warehouse, name, evaluator)
    query = stale_samples(benchmark, evaluator, systems=systems, force=every)
    orphans = delete_orphans(name, evaluator.name)
    by_text = isinstance(evaluator, RowEvaluator)
    now = datetime.now(UTC).replace(tzinfo=None)
    constants: dict[str, str | datetime] = {
        "evaluator": evaluator.name,
        "signature": evaluator.signature,
        "scored_at": now,
        "run_id": run_id,
    }
    with TemporaryDirectory(prefix=".grades-", dir=warehouse.path.parent) as folder:
        if isinstance(evaluator, FrameEvaluator):
            # Expressions keep up with the reading, so that nothing need be written in between.
            with warehouse.stream(query.sql, query.parameters, rows=FRAME_ROWS) as frames:
                scored = score_stream(evaluator, frames, Path(folder))
            unsettled = 0
        else:
            # Equal inputs stand together, so that evaluators of text grade them once.
            ordered = f"{query.sql} ORDER BY input_digest" if by_text else query.sql
            with warehouse.fetch_to_disk(ordered, query.parameters) as samples:
                unsettled = score_batches(evaluator, samples, Path(folder), engines)
                scored = samples.rows

        def keep(transaction: Transaction) -> tuple[int, int]:
            known = _graded_rows(transaction, name, evaluator)
            _describe(transaction, evaluator, now)
            removed = transaction.execute(orphans.sql, orphans.parameters) if known else 0
            if isinstance(evaluator, FlowEvaluator):
                asked = delete_orphans(name, evaluator.name, "asks")
                transaction.execute(asked.sql, asked.parameters)
            if scored:
                if isinstance(evaluator, FrameEvaluator):
                    # What stands in their details is short, unlike what judges say.
                    transaction.disable_text_compression(unless_repeated=True)
                put = transaction.replace if known else transaction.append
                put("grades", Path(folder), constants=constants)
            if unsettled:
                # Not done, since it is to be asked again; what follows sees that it has changed.
                transaction.record_fingerprint(name, stage, f"unsettled {run_id}")
            elif not systems:
                transaction.record_fingerprint(name, stage, digest)
            return removed, _graded_rows(transaction, name, evaluator) - scored

        removed, current = warehouse.write(keep)
    return ScoringResult(scored=scored, current=current, removed=removed)


def _describe(transaction: Transaction, evaluator: Evaluator, now: datetime) -> None:
    """Keep what a signature stands for, once."""
    place = {"evaluator": evaluator.name, "signature": evaluator.signature}
    seen = transaction.fetch(
        "SELECT 1 FROM signatures WHERE evaluator = $evaluator AND signature = $signature", place
    )
    if seen.is_empty():
        described = {
            **place,
            "parameters": json.dumps(evaluator.parameters),
            "version": evaluator.version,
            "metrics": [metric.name for metric in evaluator.sample_metrics],
            "first_seen": now,
        }
        transaction.append("signatures", pl.DataFrame([described]))


def _graded_rows(source: Warehouse | Transaction, benchmark: str, evaluator: Evaluator) -> int:
    counted = source.fetch(
        "SELECT count(*) FROM grades WHERE benchmark = $benchmark AND evaluator = $evaluator",
        {"benchmark": benchmark, "evaluator": evaluator.name},
    )
    return int(counted.item())


_NO_SIGNATURE = ""
"""No signature equals this one, so that every grade counts as stale."""


def stale_samples(
    benchmark: Benchmark, evaluator: Evaluator, *, systems: Sequence[str] = (), force: bool = False
) -> Query:
    """The samples that an evaluator has to grade.

    Args:
        benchmark: The benchmark, whose other evaluators a composite is made of.
        evaluator: The evaluator, with its parameters.
        systems: The systems; empty: all.
        force: Take every sample, stale or not. Where nothing is graded yet they are the same, and
            a million samples need not be looked up among the grades of others.
    """
    signature = _NO_SIGNATURE if force else evaluator.signature
    narrowed = list(systems) or None
    if isinstance(evaluator, CompositeEvaluator):
        parts = [_part(benchmark, name) for name in evaluator.parts]
        return select_stale_composite_samples(
            benchmark.name, evaluator.name, signature, parts, narrowed
        )
    columns = evaluator.columns | {"error"}
    if force:
        return samples(benchmark.name, columns, narrowed)
    return select_stale_samples(benchmark.name, evaluator.name, signature, columns, narrowed)


def _part(benchmark: Benchmark, address: str) -> Part:
    """Where the grades of a metric stand; those of an evaluator not configured here: nowhere."""
    name, _, metric = address.partition(".")
    configured = next((each for each in benchmark.evaluators if each.name == name), None)
    evaluator = configured or catalog.build(name)
    place = [each.name for each in evaluator.sample_metrics].index(metric)
    signature = _NO_SIGNATURE if configured is None else configured.signature
    return Part(address, name, place, signature)
