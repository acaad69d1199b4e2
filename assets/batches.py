"""Batches: score many samples side by side, a bounded number in memory at a time."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.kinds.row import RowEvaluator
from evaluators.scoring import score

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from evaluators.evaluator import Evaluator
    from warehouse.spool import Spool

FRAME_ROWS = 50_000
TEXT_ROWS = 5_000
"""Samples in a batch: texts are long, and what was made of each takes room."""

WORTH_PROCESSES = 4 * TEXT_ROWS
"""Texts from which on the start of other processes (half a second) pays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The work of one evaluator on a spool of samples, as a value that other processes can take.

    Attributes:
        evaluator: Scores the samples.
        samples: The samples.
        rows: The samples in a batch.
        run_id: Is noted in every grade.
        scored_at: Is noted in every grade (UTC).
        folder: Receives one Parquet file a batch, with the columns of the table `grades`.
    """

    evaluator: Evaluator
    samples: Spool
    rows: int
    run_id: str
    scored_at: datetime
    folder: Path

    def write(self, number: int) -> None:
        """Score one batch, counted from 0."""
        score(self.evaluator, self.samples.batch(number, self.rows)).frame.with_columns(
            pl.lit(self.evaluator.name).alias("evaluator"),
            pl.lit(self.evaluator.signature).alias("signature"),
            pl.lit(self.scored_at).alias("scored_at"),
            pl.lit(self.run_id).alias("run_id"),
        ).write_parquet(
            self.folder / f"{number:06d}.parquet", compression="uncompressed", statistics=False
        )


def score_batches(
    evaluator: Evaluator, samples: Spool, run_id: str, scored_at: datetime, folder: Path
) -> None:
    """Score a spool of samples into Parquet files; see `Batches` for the arguments.

    Evaluators of text work in processes, since Python holds on to its interpreter; all others in
    threads, since Polars lets go of it.
    """
    by_text = isinstance(evaluator, RowEvaluator)
    batches = Batches(
        evaluator=evaluator,
        samples=samples,
        rows=TEXT_ROWS if by_text else FRAME_ROWS,
        run_id=run_id,
        scored_at=scored_at,
        folder=folder,
    )
    numbers = range(-(-samples.rows // batches.rows))
    with _workers(processes=by_text and samples.rows >= WORTH_PROCESSES) as workers:
        # Taking the results lets an evaluator's exception out.
        list(workers.map(batches.write, numbers))


def _workers(*, processes: bool) -> Executor:
    if processes:
        # Not forked: DuckDB and Polars have threads, which a fork would leave behind.
        return ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn"))
    return ThreadPoolExecutor(os.cpu_count())
