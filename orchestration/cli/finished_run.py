"""A finished run, and sums over what its assets reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from assets.judging.call_judge import JudgingResult
    from orchestration.runs.events import RunRecord
    from warehouse.publish.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run.

    Attributes:
        copy: The published copy.
        benchmarks: The benchmarks of the run.
        record: The record of the run; None when nothing has changed since the last one.
        report: The first page of the report.
        notes: Notes on the configuration.
    """

    copy: Snapshot
    benchmarks: Sequence[str]
    record: RunRecord | None
    report: Path
    notes: Sequence[str]


def total(record: RunRecord, key: str) -> int:
    """Return the sum of a metadata value over all assets."""
    return sum(int(metadata.get(key) or 0) for metadata in record.metadata.values())


def describe_judge_calls(record: RunRecord) -> str | None:
    """Return the number of judge calls, their failures and their cost; None without calls."""
    from assets.judging.call_judge import JudgingResult

    calls = total(record, "judge calls")
    costs = [metadata.get("cost in US dollars") for metadata in record.metadata.values()]
    known = [cost for cost in costs if cost is not None]
    result = JudgingResult(
        calls=calls,
        cached=total(record, "replies from the ledger"),
        parse_failures=total(record, "parse failures"),
        judge_errors=total(record, "judge errors"),
        tokens=total(record, "tokens"),
        cost_usd=sum(known) if known else None,
    )
    return describe_calls(result) if calls else None


def describe_silent_judge(record: RunRecord) -> str | None:
    """Return that the judge gave no usable reply to any call, and why; None if it gave one."""
    calls = total(record, "judge calls")
    failed = total(record, "parse failures") + total(record, "judge errors")
    if not calls or failed < calls:
        return None
    reasons = [
        str(metadata["most frequent reason"])
        for (asset, _), metadata in record.metadata.items()
        if asset.startswith("judgments/") and metadata.get("most frequent reason")
    ]
    why = f", most often: {max(reasons, key=reasons.count)}" if reasons else ""
    return (
        f"the judge gave no usable reply to any of {calls:,} calls{why}; `scoreline run --retry` "
        "asks again"
    )


def describe_calls(result: JudgingResult) -> str:
    """Return the number of judge calls, their failures and their cost.

    An unknown price is never counted as 0.
    """
    from calls.budget import format_usd

    failures = {
        "without a usable reply": result.parse_failures,
        "without any reply": result.judge_errors,
    }
    failed = "".join(f", {count:,} {kind}" for kind, count in failures.items() if count)
    from_ledger = f", {result.cached:,} from the ledger" if result.cached else ""
    if not result.calls:
        return f"judge: 0 calls{from_ledger}"
    counted = f"; {result.tokens:,} tokens" if result.tokens else ""
    cost = result.cost_usd
    price = "the price is unknown" if cost is None else f"{format_usd(cost)} US dollars"
    return f"judge: {result.calls:,} calls{failed}{from_ledger}{counted}; {price}"


def describe_answers(record: RunRecord) -> Iterator[str]:
    """Yield a line on each benchmark that systems were asked: questions, failures and cost."""
    from calls.budget import format_usd

    for (asset, benchmark), metadata in record.metadata.items():
        stage, _, system = asset.partition("/")
        if stage != "answers":
            continue
        asked = metadata.get("questions asked") or 0
        held = metadata.get("answers from the ledger") or 0
        counts = {
            "with an error of the system": metadata.get("errors of the system"),
            "without an answer": metadata.get("questions without an answer"),
        }
        failed = "".join(f", {count:,} {kind}" for kind, count in counts.items() if count)
        refused = metadata.get("questions over budget")
        if not (asked or refused):
            continue
        from_ledger = f", {held:,} from the ledger" if held else ""
        cost = metadata.get("cost of answers in US dollars")
        price = "" if cost is None else f"; {format_usd(cost)} US dollars"
        over = f"; {refused:,} not asked: its budget was reached" if refused else ""
        why = metadata.get("most frequent reason") if failed else None
        reason = f"; most often: {why}" if why else ""
        yield f"{system}, {benchmark}: {asked:,} asked{failed}{from_ledger}{price}{over}{reason}"


def describe_budget(record: RunRecord) -> str | None:
    """Return how many judge calls the budget did not allow; None if it allowed all."""
    from calls.budget import format_usd

    refused = total(record, "calls over budget")
    if not refused:
        return None
    judged = [each for each in record.metadata.values() if "budget" in each]
    budget, spent, aside = (
        format_usd(max(each.get(name, 0.0) for each in judged))
        for name in ("budget", "spent of the budget", "set aside for the next call")
    )
    calls = refused + total(record, "judge calls")
    return (
        f"budget of {budget} US dollars reached at {spent} spent, with {aside} to set aside for "
        f"the next call: {refused:,} of {calls:,} judge calls not made; run again to go on"
    )
