"""Refresh one evaluator's scores on benchmarks; only stale samples are scored."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from assets.fingerprints.digests import UNSETTLED, scores_fingerprint, scores_stage
from assets.scoring.batches import FRAME_ROWS, score_batches, score_stream
from assets.scoring.repeated_answers import average_repeats
from assets.scoring.stale_samples import stale_samples
from evaluators.evaluator import require_libraries
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.pairwise import is_paired
from evaluators.kinds.row import RowEvaluator
from warehouse.queries.benchmarks import answers_per_question, names_in, split_benchmarks
from warehouse.queries.samples import delete_orphans, repeated_answers
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.queries.benchmarks import AnswerCount
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

AVERAGED_ANSWERS = 200_000
"""About how many answers are averaged at once: with five metrics, each takes 1.5 KB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringResult:
    """What a refresh changed, counted in answers: each of several to a question counts.

    Attributes:
        scored: Answers that were scored.
        current: Answers whose scores were up to date.
        removed: Answers that no longer exist, whose scores were removed.
    """

    scored: int
    current: int
    removed: int


def refresh_scores(
    warehouse: Warehouse,
    used: Sequence[tuple[Benchmark, Evaluator]],
    *,
    run_id: str,
    engines: Engines = NO_ENGINES,
    systems: Sequence[str] = (),
    force: bool = False,
    find_repeats: Callable[[], Mapping[str, AnswerCount]] | None = None,
) -> dict[str, ScoringResult]:
    """Score the samples whose inputs or evaluator changed since they were last scored.

    Reads the warehouse, releases it while the evaluator works, and writes once at the end. Frame
    evaluators are as fast as the query and work while it is read. Small benchmarks are scored and
    written together if the evaluator has the same parameters for them and calls no engine.

    Args:
        warehouse: The warehouse with samples and scores.
        used: Benchmarks, each with the evaluator and its parameters there.
        run_id: The run, recorded with every score.
        engines: The engines that the evaluator may call.
        systems: The systems to score; empty for all.
        force: Score all samples, even if they are up to date.
        find_repeats: The query `answers_per_question`, if its result is shared by several calls;
            it is only called if a score is not up to date.

    Returns:
        The results by benchmark.
    """
    names = [benchmark.name for benchmark, _ in used]
    fingerprints = warehouse.all_fingerprints(names)
    find_repeats = find_repeats or cache(partial(answers_per_question, warehouse, names))
    results: dict[str, ScoringResult] = {}
    due: dict[tuple[object, ...], list[tuple[Benchmark, Evaluator]]] = {}
    graded: dict[str, dict[str, int]] = {}
    for benchmark, evaluator in used:
        name, stage = benchmark.name, scores_stage(evaluator.name)
        if evaluator.name not in graded:
            graded[evaluator.name] = _count_answers(warehouse, names, evaluator)
        rows = graded[evaluator.name].get(name, 0)
        is_current = fingerprints[name].get(stage) == scores_fingerprint(
            evaluator, fingerprints[name]
        )
        if is_current and not force:
            results[name] = ScoringResult(scored=0, current=rows, removed=0)
            continue
        require_libraries([evaluator])
        every = force or not rows
        may_join = isinstance(evaluator, FrameEvaluator | RowEvaluator)
        is_alone = not may_join or name in find_repeats()
        own = (name,) if is_alone else ()
        due.setdefault((evaluator.signature, every, *own), []).append((benchmark, evaluator))
    for (_, is_first, *_), group in due.items():
        evaluator = group[0][1]
        if not is_paired(evaluator):
            most, least = find_repeats().get(group[0][0].name, (1, 1))
            evaluator = replace(evaluator, repeats=most, least_repeats=least)
        by_name = {benchmark.name: benchmark for benchmark, _ in group}
        for part in split_benchmarks(warehouse, list(by_name)):
            refresh = _Refresh(
                benchmarks=[by_name[name] for name in part.names],
                fingerprints=fingerprints,
                averaged=evaluator,
                run_id=run_id,
                systems=systems,
                now=datetime.now(UTC).replace(tzinfo=None),
            )
            results |= _score_part(
                warehouse, refresh, engines, every=bool(is_first), is_small=part.is_small
            )
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refresh:
    """The scores of an evaluator that are refreshed together, in one transaction.

    Attributes:
        benchmarks: The benchmarks. One whose questions have several answers comes alone.
        fingerprints: The fingerprints of each benchmark's stages, from before.
        averaged: The evaluator, whose `repeats` are the answers to a question.
        run_id: The run.
        systems: The systems to score; empty for all.
        now: The time of the scores (UTC).
    """

    benchmarks: Sequence[Benchmark]
    fingerprints: Mapping[str, Mapping[str, str]]
    averaged: Evaluator
    run_id: str
    systems: Sequence[str]
    now: datetime

    @property
    def names(self) -> list[str]:
        """The names of the benchmarks."""
        return [benchmark.name for benchmark in self.benchmarks]

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator of single answers."""
        return replace(self.averaged, repeats=1)

    @property
    def table(self) -> str:
        """The table that has the scores of single answers."""
        return "grades" if self.averaged.repeats == 1 else "answer_grades"

    @property
    def constants(self) -> dict[str, str | datetime]:
        """The columns in which all scores are equal."""
        return {
            "evaluator": self.evaluator.name,
            "signature": self.evaluator.signature,
            "scored_at": self.now,
            "run_id": self.run_id,
        }


class _Scored(NamedTuple):
    """How many samples were scored, by benchmark, and how many of all have to be retried."""

    rows: dict[str, int]
    to_retry: int


def _score_part(
    warehouse: Warehouse, refresh: _Refresh, engines: Engines, *, every: bool, is_small: bool
) -> dict[str, ScoringResult]:
    """Score the stale samples, and write the scores in one transaction."""
    with scratch_folder(warehouse.path.parent) as folder:
        scored = _score_stale(warehouse, refresh, engines, folder, every=every, is_small=is_small)
        return warehouse.write(partial(_write_scores, refresh, scored, folder))


def _score_stale(
    warehouse: Warehouse,
    refresh: _Refresh,
    engines: Engines,
    folder: Path,
    *,
    every: bool,
    is_small: bool,
) -> _Scored:
    """Read the samples whose scores are not up to date, and score them into Parquet files."""
    evaluator = refresh.evaluator
    query = stale_samples(
        refresh.benchmarks,
        evaluator,
        systems=refresh.systems,
        force=every,
        every_answer=refresh.averaged.repeats > 1,
    )
    to_retry = 0
    if isinstance(evaluator, FrameEvaluator):
        # Expressions are as fast as the query: no intermediate file is needed.
        # Sums must not depend on which benchmarks are scored together, to the last digit.
        order = " ORDER BY benchmark, system, question_id" if is_small else ""
        ordered = f"{query.sql}{order}"
        with warehouse.stream(ordered, query.parameters, rows=FRAME_ROWS) as frames:
            rows = score_stream(evaluator, frames, folder)
    else:
        # Row evaluators score equal inputs once if they are adjacent.
        is_row = isinstance(evaluator, RowEvaluator)
        keys = "input_digest, benchmark, system, question_id" if is_small else "input_digest"
        ordered = f"{query.sql} ORDER BY {keys}" if is_row else query.sql
        with warehouse.fetch_to_disk(ordered, query.parameters) as stale:
            to_retry = score_batches(evaluator, stale, folder, engines)
            rows = stale.rows
    if len(refresh.benchmarks) == 1 or not rows:
        return _Scored(dict.fromkeys(refresh.names, rows), to_retry)
    files = pl.scan_parquet(folder / "*.parquet")
    return _Scored(dict(files.group_by("benchmark").len().collect().iter_rows()), to_retry)


def _write_scores(
    refresh: _Refresh, scored: _Scored, folder: Path, transaction: Transaction
) -> dict[str, ScoringResult]:
    """Replace the scores by those in Parquet files, and count what has changed."""
    evaluator, names, table = refresh.evaluator, refresh.names, refresh.table
    known = _count_answers(transaction, names, evaluator, table)
    _record_signature(transaction, refresh.averaged, refresh.now)
    left = known
    if known:
        transaction.execute(*delete_orphans(names, evaluator.name, table))
        left = _count_answers(transaction, names, evaluator, table)
    if isinstance(evaluator, FlowEvaluator):
        transaction.execute(*delete_orphans(names, evaluator.name, "asks"))
    if any(scored.rows.values()):
        if isinstance(evaluator, FrameEvaluator):
            # Their details are short, unlike the rationales of judges.
            transaction.disable_text_compression(unless_repeated=True)
        put = transaction.replace if known else transaction.append
        put(table, folder, constants=refresh.constants)
    _average(transaction, refresh)
    stage = scores_stage(evaluator.name)
    if scored.to_retry:
        # The stage stays stale for a retry, and later stages see that scores changed.
        unsettled = f"{UNSETTLED} {refresh.run_id}"
        transaction.record_fingerprints(stage, dict.fromkeys(names, unsettled))
    elif not refresh.systems:
        digests = {
            name: scores_fingerprint(evaluator, refresh.fingerprints[name]) for name in names
        }
        transaction.record_fingerprints(stage, digests)
    total = _count_answers(transaction, names, evaluator, table)
    return {
        name: ScoringResult(
            scored=scored.rows.get(name, 0),
            current=total.get(name, 0) - scored.rows.get(name, 0),
            removed=known.get(name, 0) - left.get(name, 0),
        )
        for name in names
    }


def _average(transaction: Transaction, refresh: _Refresh) -> None:
    """Replace the scores of questions with several answers by those of the answers averaged.

    Systems that are not among those to score keep the scores that they have.
    """
    evaluator = refresh.averaged
    own: dict[str, Sequence[str]] = {"benchmark": refresh.names, "evaluator": [evaluator.name]}
    if refresh.systems:
        own["system"] = refresh.systems
    if evaluator.repeats == 1:
        transaction.delete("answer_grades", own)
        return
    (benchmark,) = refresh.names
    transaction.delete("grades", own)
    transaction.execute(*delete_orphans(benchmark, evaluator.name))
    known = {name: value for name, value in refresh.constants.items() if name != "scored_at"}
    counts = _count_answers(transaction, refresh.names, evaluator, "answer_grades")
    parts = 1 + counts.get(benchmark, 0) // AVERAGED_ANSWERS
    for part in range(parts):
        answers = transaction.fetch(
            *repeated_answers(benchmark, evaluator.name, evaluator.signature, part, parts)
        )
        if refresh.systems:
            answers = answers.filter(pl.col("system").is_in(refresh.systems))
        if answers.height:
            averaged = average_repeats(evaluator, answers)
            transaction.append("grades", averaged, constants={"benchmark": benchmark, **known})


def _record_signature(transaction: Transaction, evaluator: Evaluator, now: datetime) -> None:
    """Add a new signature to the table `signatures`, or more metrics of a known one."""
    key = {"evaluator": evaluator.name, "signature": evaluator.signature}
    known = transaction.fetch(
        "SELECT len(metrics) FROM signatures "
        "WHERE evaluator = $evaluator AND signature = $signature",
        key,
    )
    if known.is_empty() or known.item() < len(evaluator.sample_metrics):
        row = {
            **key,
            "parameters": json.dumps(evaluator.parameters),
            "version": evaluator.version,
            "metrics": [metric.name for metric in evaluator.sample_metrics],
            "first_seen": now,
        }
        transaction.replace("signatures", pl.DataFrame([row]))


def _count_answers(
    source: Warehouse | Transaction,
    benchmarks: Sequence[str],
    evaluator: Evaluator,
    table: str = "grades",
) -> dict[str, int]:
    """Return the number of graded answers by benchmark, without benchmarks that have none."""
    answers = "sum(coalesce(n_answers, 1))::BIGINT" if table == "grades" else "count(*)"
    found = source.fetch(
        f"SELECT benchmark, {answers} FROM {table} "  # noqa: S608
        f"WHERE benchmark IN ({names_in(benchmarks)}) AND evaluator = $evaluator "
        "GROUP BY benchmark",
        {"evaluator": evaluator.name},
    )
    return dict(found.iter_rows())
