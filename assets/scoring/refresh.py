"""Refresh one evaluator's scores on benchmarks; only stale samples are scored."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING

import polars as pl

from assets.fingerprints.digests import UNSETTLED, scores_fingerprint, scores_stage
from assets.scoring.batches import FRAME_ROWS, score_batches, score_stream
from assets.scoring.repeated_answers import fold_answers
from evaluators import catalog
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.pairwise import is_paired
from evaluators.kinds.row import RowEvaluator
from warehouse.queries.benchmarks import answers_per_question, names_in, split_benchmarks
from warehouse.queries.composite_samples import Part, select_stale_composite_samples
from warehouse.queries.samples import (
    Query,
    answers_to_fold,
    delete_orphans,
    samples,
    select_stale_samples,
)
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

FOLDED_ANSWERS = 200_000
"""About how many answers are combined at once: with five metrics, each takes 1.5 KB."""

_NO_SIGNATURE = ""
"""No evaluator has this signature, so every score counts as stale."""


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
    find_repeats: Callable[[], Mapping[str, int]] | None = None,
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
        every = force or not rows
        may_join = isinstance(evaluator, FrameEvaluator | RowEvaluator)
        is_alone = not may_join or name in find_repeats()
        own = (name,) if is_alone else ()
        due.setdefault((evaluator.signature, every, *own), []).append((benchmark, evaluator))
    for (_, is_first, *_), group in due.items():
        evaluator = group[0][1]
        if not is_paired(evaluator):
            evaluator = replace(evaluator, repeats=find_repeats().get(group[0][0].name, 1))
        by_name = {benchmark.name: benchmark for benchmark, _ in group}
        for part in split_benchmarks(warehouse, list(by_name)):
            results |= _score_part(
                warehouse,
                {name: (by_name[name], fingerprints[name]) for name in part.names},
                evaluator,
                run_id,
                engines,
                systems,
                every=bool(is_first),
                is_small=part.is_small,
            )
    return results


def _score_part(
    warehouse: Warehouse,
    benchmarks: Mapping[str, tuple[Benchmark, Mapping[str, str]]],
    evaluator: Evaluator,
    run_id: str,
    engines: Engines,
    systems: Sequence[str],
    *,
    every: bool,
    is_small: bool,
) -> dict[str, ScoringResult]:
    """Score the stale samples of benchmarks, given with their fingerprints, in one transaction.

    A benchmark whose questions have several answers comes alone; `evaluator.repeats` is their
    number.
    """
    combining, evaluator = evaluator, replace(evaluator, repeats=1)
    several = combining.repeats > 1
    names, stage = list(benchmarks), scores_stage(evaluator.name)
    one_or_all = [benchmark for benchmark, _ in benchmarks.values()]
    table = "answer_grades" if several else "grades"
    query = stale_samples(one_or_all, evaluator, systems=systems, force=every, every_answer=several)
    now = datetime.now(UTC).replace(tzinfo=None)
    constants: dict[str, str | datetime] = {
        "evaluator": evaluator.name,
        "signature": evaluator.signature,
        "scored_at": now,
        "run_id": run_id,
    }
    with scratch_folder(warehouse.path.parent) as folder:
        if isinstance(evaluator, FrameEvaluator):
            # Expressions are as fast as the query: no intermediate file is needed.
            # Sums must not depend on which benchmarks are scored together, to the last digit.
            order = " ORDER BY benchmark, system, question_id" if is_small else ""
            ordered = f"{query.sql}{order}"
            with warehouse.stream(ordered, query.parameters, rows=FRAME_ROWS) as frames:
                rows = score_stream(evaluator, frames, folder)
            to_retry = 0
        else:
            # Row evaluators score equal inputs once if they are adjacent.
            is_row = isinstance(evaluator, RowEvaluator)
            keys = "input_digest, benchmark, system, question_id" if is_small else "input_digest"
            ordered = f"{query.sql} ORDER BY {keys}" if is_row else query.sql
            with warehouse.fetch_to_disk(ordered, query.parameters) as stale:
                to_retry = score_batches(evaluator, stale, folder, engines)
                rows = stale.rows
        scored = _count_scored(folder, names, rows)

        def write(transaction: Transaction) -> dict[str, ScoringResult]:
            known = _count_answers(transaction, names, evaluator, table)
            _record_signature(transaction, combining, now)
            removed = dict.fromkeys(names, 0)
            if known:
                transaction.execute(*delete_orphans(names, evaluator.name, table))
                left = _count_answers(transaction, names, evaluator, table)
                removed = {name: known.get(name, 0) - left.get(name, 0) for name in names}
            if isinstance(evaluator, FlowEvaluator):
                transaction.execute(*delete_orphans(names, evaluator.name, "asks"))
            if rows:
                if isinstance(evaluator, FrameEvaluator):
                    # Their details are short, unlike the rationales of judges.
                    transaction.disable_text_compression(unless_repeated=True)
                put = transaction.replace if known else transaction.append
                put(table, folder, constants=constants)
            _combine(transaction, names, combining, constants, systems)
            if to_retry:
                # The stage stays stale for a retry, and later stages see that scores changed.
                unsettled = f"{UNSETTLED} {run_id}"
                transaction.record_fingerprints(stage, dict.fromkeys(names, unsettled))
            elif not systems:
                digests = {
                    name: scores_fingerprint(evaluator, own)
                    for name, (_, own) in benchmarks.items()
                }
                transaction.record_fingerprints(stage, digests)
            total = _count_answers(transaction, names, evaluator, table)
            return {
                name: ScoringResult(
                    scored=scored.get(name, 0),
                    current=total.get(name, 0) - scored.get(name, 0),
                    removed=removed[name],
                )
                for name in names
            }

        return warehouse.write(write)


def _count_scored(folder: Path, names: Sequence[str], rows: int) -> dict[str, int]:
    """Return the number of samples of each benchmark in a folder of Parquet files."""
    if len(names) == 1 or not rows:
        return dict.fromkeys(names, rows)
    files = pl.scan_parquet(folder / "*.parquet")
    return dict(files.group_by("benchmark").len().collect().iter_rows())


def _combine(
    transaction: Transaction,
    benchmarks: Sequence[str],
    evaluator: Evaluator,
    constants: Mapping[str, str | datetime],
    systems: Sequence[str],
) -> None:
    """Replace the scores of questions with several answers by those of the answers combined.

    Systems that are not among those to score keep the scores that they have.
    """
    own = {"benchmark": benchmarks, "evaluator": [evaluator.name]}
    if systems:
        own["system"] = systems
    if evaluator.repeats == 1:
        transaction.delete("answer_grades", own)
        return
    (benchmark,) = benchmarks
    transaction.delete("grades", own)
    transaction.execute(*delete_orphans(benchmark, evaluator.name))
    known = {name: value for name, value in constants.items() if name != "scored_at"}
    rows = _count_answers(transaction, benchmarks, evaluator, "answer_grades").get(benchmark, 0)
    parts = 1 + rows // FOLDED_ANSWERS
    for part in range(parts):
        answers = transaction.fetch(
            *answers_to_fold(benchmark, evaluator.name, evaluator.signature, part, parts)
        )
        if systems:
            answers = answers.filter(pl.col("system").is_in(systems))
        if answers.height:
            folded = fold_answers(evaluator, answers)
            transaction.append("grades", folded, constants={"benchmark": benchmark, **known})


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


def stale_samples(
    benchmarks: Sequence[Benchmark],
    evaluator: Evaluator,
    *,
    systems: Sequence[str] = (),
    force: bool = False,
    every_answer: bool = False,
) -> Query:
    """Return a query for the samples that an evaluator has to score.

    Args:
        benchmarks: The benchmarks; a single one, with the evaluators to combine, for a composite.
        evaluator: The evaluator, with its parameters.
        systems: The systems; empty for all.
        force: Select all samples. When no sample has a score yet, this gives the same samples
            without a join.
        every_answer: Whether all answers to a question are samples, or only the first one;
            systems are compared with each other by their first answers.
    """
    signature = _NO_SIGNATURE if force else evaluator.signature
    only = list(systems) or None
    if isinstance(evaluator, CompositeEvaluator):
        (benchmark,) = benchmarks
        parts = [_part(benchmark, name) for name in evaluator.parts]
        return select_stale_composite_samples(
            benchmark.name, evaluator.name, signature, parts, only, every_answer=every_answer
        )
    every_answer = every_answer and not is_paired(evaluator)
    columns, names = evaluator.columns | {"error"}, [each.name for each in benchmarks]
    opponents = evaluator.opponents if is_paired(evaluator) else None
    if force:
        return samples(names, columns, only, opponents, every_answer=every_answer)
    return select_stale_samples(
        names,
        evaluator.name,
        signature,
        columns,
        only,
        opponents,
        every_answer=every_answer,
    )


def _part(benchmark: Benchmark, address: str) -> Part:
    """Return the composite part of a metric; without scores if its evaluator is not configured."""
    name, _, metric = address.partition(".")
    configured = next((each for each in benchmark.evaluators if each.name == name), None)
    evaluator = configured or catalog.build(name)
    index = [each.name for each in evaluator.sample_metrics].index(metric)
    signature = _NO_SIGNATURE if configured is None else configured.signature
    return Part(address, name, index, signature)
