"""Batches: score many samples side by side, a bounded number in memory at a time."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import Status
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluators.evaluator import Evaluator
    from warehouse.storage.scratch import ScratchResult

FRAME_ROWS = 50_000
TEXT_ROWS = 5_000
"""Samples in a batch: texts are long, and what was made of each takes room."""

WORTH_PROCESSES = 4 * TEXT_ROWS
"""Texts from which on the start of other processes (half a second) pays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScorer:
    """The work of one evaluator on batches of samples, as a value that other processes can take.

    Attributes:
        evaluator: Scores the samples.
        folder: Receives one Parquet file a batch, with those columns of the table `grades` in
            which samples differ.
        engines: What the evaluator may ask.
    """

    evaluator: Evaluator
    folder: Path
    engines: Engines = NO_ENGINES

    def write(self, number: int, batch: pl.DataFrame) -> int:
        """Score one batch, counted from 0.

        Returns:
            How many of its samples are to be scored again, because they could not be asked about.
        """
        grades = score(self.evaluator, batch, self.engines).frame
        again = self._again()
        unsettled = 0 if again is None else int(grades.select(again.sum()).item())
        if again is not None and unsettled:
            # No inputs have this digest, so that these samples stay stale.
            digest = pl.when(again).then(pl.lit(0, pl.UInt64)).otherwise("input_digest")
            grades = grades.with_columns(digest.alias("input_digest"))
        grades.write_parquet(
            self.folder / f"{number:06d}.parquet", compression="uncompressed", statistics=False
        )
        return unsettled

    def _again(self) -> pl.Expr | None:
        """Which grades are not final; None where all are."""
        if not isinstance(self.evaluator, FlowEvaluator | CompositeEvaluator):
            return None
        unasked = pl.col("statuses").list.contains(Status.JUDGE_ERROR.value)
        if isinstance(self.evaluator, FlowEvaluator) and self.evaluator.is_configured:
            lacking = self.engines.missing_reason(self.evaluator.engine_roles())
            if lacking is not None:
                unasked |= pl.col("reasons").list.contains(lacking)
        return unasked.fill_null(value=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """A spool of samples, scored in batches.

    Attributes:
        writing: What is done with a batch.
        samples: The samples.
        rows: The samples in a batch.
    """

    writing: BatchScorer
    samples: ScratchResult
    rows: int

    def write(self, number: int) -> int:
        """Score the batch of that number; see `Writing.write`."""
        return self.writing.write(number, self.samples.batch(number, self.rows))


def score_batches(
    evaluator: Evaluator,
    samples: ScratchResult,
    folder: Path,
    engines: Engines = NO_ENGINES,
) -> int:
    """Score a spool of samples into Parquet files; see `Writing` for the arguments.

    Evaluators of text work in processes, since Python holds on to its interpreter; expressions in
    threads, since Polars lets go of it; flows one batch after the other, since they wait side by
    side within it.

    Returns:
        How many samples could not be asked about and are to be scored again.
    """
    by_text = isinstance(evaluator, RowEvaluator)
    flows = isinstance(evaluator, FlowEvaluator)
    writing = BatchScorer(evaluator=evaluator, folder=folder, engines=engines)
    rows = TEXT_ROWS if by_text or flows else FRAME_ROWS
    batches = Batches(writing=writing, samples=samples, rows=rows)
    numbers = range(-(-samples.rows // batches.rows))
    if flows:
        return sum(map(batches.write, numbers))
    with _workers(processes=by_text and samples.rows >= WORTH_PROCESSES) as workers:
        # Taking the results also lets an evaluator's exception out.
        return sum(workers.map(batches.write, numbers))


def score_stream(
    evaluator: Evaluator,
    samples: Iterator[pl.DataFrame],
    folder: Path,
) -> int:
    """Score samples into Parquet files while they are being read; see `score_batches`.

    Returns:
        How many samples there were.
    """
    write = BatchScorer(evaluator=evaluator, folder=folder).write
    rows, waiting = 0, deque[Future[int]]()
    with _workers(processes=False) as workers:
        for number, batch in enumerate(samples):
            rows += batch.height
            waiting.append(workers.submit(write, number, batch))
            # Not read faster than it is scored, so that a bounded number is in memory.
            if len(waiting) > 2 * (os.cpu_count() or 1):
                waiting.popleft().result()
        for each in waiting:
            each.result()
    return rows


def _workers(*, processes: bool) -> Executor:
    if processes:
        # Not forked: DuckDB and Polars have threads, which a fork would leave behind.
        return ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"))
    return ThreadPoolExecutor(os.cpu_count())
