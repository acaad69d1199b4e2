"""Score samples in concurrent batches, with a bounded number in memory."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

import polars as pl

from evaluators.catalog import is_own
from evaluators.engines.judge.settings import SKIPPED
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import Status
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evaluators.evaluator import Evaluator
    from warehouse.storage.scratch import ScratchResult

FRAME_ROWS = 50_000
TEXT_ROWS = 5_000
"""Samples in a batch: texts and their results take more memory than identifiers."""

WORTH_PROCESSES = 4 * TEXT_ROWS
"""The number of texts from which worker processes, which start in 0.5 seconds, are faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScorer:
    """Scores batches of samples into Parquet files; can be sent to worker processes.

    Attributes:
        evaluator: The evaluator.
        folder: Receives one Parquet file per batch, with the columns of the table `grades` that
            differ between samples.
        engines: The engines that the evaluator may call.
    """

    evaluator: Evaluator
    folder: Path
    engines: Engines = NO_ENGINES

    def score(self, number: int, batch: pl.DataFrame) -> int:
        """Score one batch into the file of its number.

        Returns:
            The number of samples to retry, because an engine did not answer.
        """
        scores = score(self.evaluator, batch, self.engines).frame
        retry = self._retry_condition()
        to_retry = 0 if retry is None else int(scores.select(retry.sum()).item())
        if retry is not None and to_retry:
            # No inputs have the digest 0, so these samples stay stale.
            digest = pl.when(retry).then(pl.lit(0, pl.UInt64)).otherwise("input_digest")
            scores = scores.with_columns(digest.alias("input_digest"))
        scores.write_parquet(
            self.folder / f"{number:06d}.parquet", compression="uncompressed", statistics=False
        )
        return to_retry

    def _retry_condition(self) -> pl.Expr | None:
        """Return the condition under which a sample must be retried; None if it never must."""
        if not isinstance(self.evaluator, FlowEvaluator | CompositeEvaluator):
            return None
        retry = pl.col("statuses").list.contains(Status.JUDGE_ERROR.value)
        if isinstance(self.evaluator, FlowEvaluator) and self.evaluator.is_configured:
            missing = self.engines.missing_reason(self.evaluator.engine_roles())
            if missing is not None:
                retry |= pl.col("reasons").list.contains(missing)
            if self.engines.panel is not None:
                is_incomplete = pl.col("detail").str.json_path_match("$.panel.incomplete")
                retry |= is_incomplete == "true"
            is_skipped = pl.element().str.starts_with(SKIPPED)
            retry |= pl.col("reasons").list.eval(is_skipped).list.any()
        return retry.fill_null(value=False)


def score_batches(
    evaluator: Evaluator,
    samples: ScratchResult,
    folder: Path,
    engines: Engines = NO_ENGINES,
) -> int:
    """Score samples from disk into Parquet files; see `BatchScorer` for the arguments.

    Row evaluators run in processes, because Python code holds the GIL. Expressions run in threads,
    because Polars releases it. Flows run one batch at a time; each batch is concurrent in itself.

    Returns:
        The number of samples to retry.
    """
    is_row = isinstance(evaluator, RowEvaluator)
    is_flow = isinstance(evaluator, FlowEvaluator)
    scorer = BatchScorer(evaluator=evaluator, folder=folder, engines=engines)
    rows = TEXT_ROWS if is_row or is_flow else FRAME_ROWS
    score_batch = partial(_score_batch, scorer, samples, rows)
    numbers = range(-(-samples.rows // rows))
    if is_flow:
        return sum(map(score_batch, numbers))
    # A process could not import evaluators from elsewhere.
    in_processes = is_row and not is_own(evaluator) and samples.rows >= WORTH_PROCESSES
    with _workers(processes=in_processes) as workers, ThreadPoolExecutor(1) as starter:
        # In another thread, so that an interrupt leaves no process half started.
        results = starter.submit(_submit, workers, score_batch, numbers).result()
        # Reading the results also raises the exceptions of the workers.
        return sum(each.result() for each in results)


def _submit(
    workers: Executor, score_batch: Callable[[int], int], numbers: range
) -> list[Future[int]]:
    # Processes start here and inherit the mask: Ctrl-C is for this process, which ends them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return [workers.submit(score_batch, number) for number in numbers]


def _score_batch(scorer: BatchScorer, samples: ScratchResult, rows: int, number: int) -> int:
    return scorer.score(number, samples.batch(number, rows))


def score_stream(
    evaluator: Evaluator,
    samples: Iterator[pl.DataFrame],
    folder: Path,
) -> int:
    """Score samples into Parquet files while they are read; see `BatchScorer`.

    Returns:
        The number of samples.
    """
    scorer = BatchScorer(evaluator=evaluator, folder=folder)
    rows, waiting = 0, deque[Future[int]]()
    with _workers(processes=False) as workers:
        for number, batch in enumerate(samples):
            rows += batch.height
            waiting.append(workers.submit(scorer.score, number, batch))
            # Read no faster than batches are scored, to bound the memory.
            if len(waiting) > 2 * (os.cpu_count() or 1):
                waiting.popleft().result()
        for each in waiting:
            each.result()
    return rows


@contextmanager
def _workers(*, processes: bool) -> Iterator[Executor]:
    """Start workers; after an exception, such as an interrupt, what is queued is dropped."""
    # Spawned: DuckDB and Polars have threads, which a fork would not copy.
    context = multiprocessing.get_context("spawn")
    others = multiprocessing.active_children()
    number = os.cpu_count()
    with (
        ProcessPoolExecutor(number, context, _end_with_parent)
        if processes
        else ThreadPoolExecutor(number)
    ) as workers:
        try:
            yield workers
        except BaseException:
            if processes:
                # Each has begun batches that take seconds.
                for worker in set(multiprocessing.active_children()).difference(others):
                    worker.kill()
            workers.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """End this worker when its parent was killed; the pool itself does not notice that."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
