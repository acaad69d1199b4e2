"""Grading: bring the scores of one evaluator on one benchmark up to date, and no more than that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from assets.fingerprints import stages
from assets.fingerprints.digests import scores_digest
from assets.scoring.batches import FRAME_ROWS, score_batches, score_stream
from assets.scoring.stale_samples import stale_samples
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.row import RowEvaluator
from warehouse.queries.samples import delete_orphans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """What grading changed.

    Attributes:
        scored: Samples that were graded now.
        current: Samples whose grades were up to date.
        removed: Grades of samples that there are no more.
    """

    scored: int
    current: int
    removed: int


def grade(
    warehouse: Warehouse,
    benchmark: Benchmark,
    evaluator: Evaluator,
    *,
    run_id: str,
    engines: Engines = NO_ENGINES,
    systems: Sequence[str] = (),
    force: bool = False,
) -> Graded:
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
    marks = warehouse.marks(name)
    stage, digest = stages.scores(evaluator.name), scores_digest(evaluator, marks)
    if marks.get(stage) == digest and not force:
        return Graded(scored=0, current=_graded_rows(warehouse, name, evaluator), removed=0)
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
            with warehouse.spool(ordered, query.parameters) as samples:
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
                    transaction.keep_text_plain(unless_repeated=True)
                put = transaction.replace if known else transaction.append
                put("grades", Path(folder), constants=constants)
            if unsettled:
                # Not done, since it is to be asked again; what follows sees that it has changed.
                transaction.mark(name, stage, f"unsettled {run_id}")
            elif not systems:
                transaction.mark(name, stage, digest)
            return removed, _graded_rows(transaction, name, evaluator) - scored

        removed, current = warehouse.write(keep)
    return Graded(scored=scored, current=current, removed=removed)


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
