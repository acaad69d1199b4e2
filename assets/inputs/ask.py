"""Ask systems the questions of benchmarks, as far as the ledger lacks their answers."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from assets.engines import WarehouseLedger
from assets.fingerprints.digests import QUESTIONS, answers_fingerprint, answers_stage
from calls.http.loop_thread import LoopThread
from records.error_messages import RecordError
from records.prediction import Prediction
from systems.answering import SystemCalls, answer_questions, gather_or_cancel
from warehouse.ledger.open import open_ledger
from warehouse.queries.answers import fetch_questions, mark_incomplete, replace_answers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from systems.answering import AnsweredQuestions
    from systems.settings import SystemSettings
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingResult:
    """What asking one system the questions of one benchmark came to.

    Attributes:
        asked: Calls made in this run.
        held: Answers that were there before.
        errors: Calls made that the system answered with an error or with a wrong shape.
        failed: Calls made that got no answer; the next run asks again.
        over_budget: Calls that the budget did not allow.
        cost_usd: The cost of the calls made; None when unknown.
        reason: The most frequent reason why there is no answer; None if all are there.
    """

    asked: int = 0
    held: int = 0
    errors: int = 0
    failed: int = 0
    over_budget: int = 0
    cost_usd: float | None = None
    reason: str | None = None


def ask_systems(
    warehouse: Warehouse,
    pairs: Sequence[tuple[str, SystemSettings]],
    repeats: Mapping[str, int],
    *,
    run_id: str,
    force: bool = False,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
    before: Callable[[], None] | None = None,
) -> list[AskingResult]:
    """Ask systems, all at the same time, and store their answers in the warehouse.

    Args:
        warehouse: The warehouse with the questions and the ledger.
        pairs: Benchmarks, and the systems that each asks.
        repeats: How often each question is asked, by benchmark.
        run_id: The run, recorded with every answer.
        force: Whether to ask again for answers that are there.
        limit: How many questions of each benchmark are asked; None for all.
        progress: Called with 1 for each finished call.
        before: Called before a system is asked for an answer that the ledger lacks; what it raises
            ends the run.

    Returns:
        The result of each pair.

    Raises:
        SystemRefused: A system cannot be asked, or its first answer has a wrong shape; answers
            received before are kept.
    """
    questions = {name: fetch_questions(warehouse, name) for name in {name for name, _ in pairs}}
    fingerprints = warehouse.all_fingerprints(list(questions))
    expected = [
        answers_fingerprint(system, fingerprints[name].get(QUESTIONS), repeats[name])
        for name, system in pairs
    ]
    stale = [
        force
        or limit is not None
        or not fingerprints[name].get(answers_stage(system.name), "").startswith(f"{stage} ")
        for (name, system), stage in zip(pairs, expected, strict=True)
    ]
    if force:
        # If this run is broken off, the next one uses the new answers that were stored.
        mark_incomplete(warehouse, [(name, answers_stage(system.name)) for name, system in pairs])
    found: list[AnsweredQuestions | None] = [None] * len(pairs)
    with ExitStack() as stack:
        # One ledger for each system, so that each has a budget of its own.
        ledgers = {
            system.name: stack.enter_context(
                open_ledger(warehouse, run_id, spender=f"{run_id}/{system.name}")
            )
            for (_, system), is_stale in zip(pairs, stale, strict=True)
            if is_stale
        }

        # No system's latency must include that another one loads its libraries.
        all_opened = asyncio.Barrier(len(ledgers) or 1)

        async def ask(system: SystemSettings) -> None:
            ledger = WarehouseLedger(ledgers[system.name])
            opened: Callable[[], Awaitable[object]] | None = all_opened.wait
            # Benchmarks that share a call ask it again once.
            forced: set[str] | None = set() if force else None
            for index, (name, each) in enumerate(pairs):
                if each.name == system.name and stale[index]:
                    calls = SystemCalls(system, questions[name], repeats[name])
                    found[index] = await answer_questions(
                        calls,
                        ledger,
                        fault_of,
                        forced=forced,
                        limit=limit,
                        progress=progress,
                        before=before,
                        opened=opened,
                    )
                    opened = None

        try:
            if ledgers:
                systems = {system.name: system for _, system in pairs if system.name in ledgers}
                _wait_for(gather_or_cancel(map(ask, systems.values())))
        finally:
            for ledger in ledgers.values():
                ledger.flush()
    results = []
    for (name, system), stage, answered in zip(pairs, expected, found, strict=True):
        results.append(_store(warehouse, (name, system), stage, answered, run_id, limit))
    return results


def fault_of(fields: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the fields of a prediction; None if nothing is."""
    try:
        Prediction.read({"question_id": "of the answer", **fields})
        json.dumps(fields, allow_nan=False)
        orjson.dumps(fields)  # refuses numbers and depths that files of predictions cannot hold
    except (RecordError, TypeError, ValueError, RecursionError) as error:
        return str(error)
    return None


def _wait_for(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine on a loop of its own: the caller may have a running one, as notebooks do."""
    thread = LoopThread("systems")
    try:
        thread.submit(coroutine).result()
    finally:
        thread.stop()


def _store(
    warehouse: Warehouse,
    pair: tuple[str, SystemSettings],
    fingerprint: str,
    answered: AnsweredQuestions | None,
    run_id: str,
    limit: int | None,
) -> AskingResult:
    """Store which calls are the answers; return what asking came to."""
    name, system = pair
    values = {"benchmark": name, "system": system.name}
    if answered is None:
        count = "SELECT count(*) FROM answers WHERE benchmark = $benchmark AND system = $system"
        return AskingResult(held=int(warehouse.fetch(count, values).item()))
    tally = answered.tally
    is_complete = limit is None and not (tally["failed"] or tally["over_budget"])
    replace_answers(
        warehouse,
        name,
        system.name,
        answered.digests,
        answers_stage(system.name),
        fingerprint if is_complete else None,
    )
    cost = warehouse.fetch(
        "SELECT sum(cost_usd) FROM answers "
        "WHERE benchmark = $benchmark AND system = $system AND run_id = $run_id",
        {**values, "run_id": run_id},
    )
    reasons = warehouse.fetch(
        "SELECT error FROM answers WHERE benchmark = $benchmark AND system = $system "
        "AND error IS NOT NULL GROUP BY error ORDER BY count(*) DESC, error LIMIT 1",
        values,
    )["error"]
    reason = None if reasons.is_empty() else str(reasons[0])
    counted = ("asked", "held", "errors", "failed", "over_budget")
    return AskingResult(
        cost_usd=cost.item(), reason=reason, **{each: tally[each] for each in counted}
    )
