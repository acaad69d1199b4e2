"""Rows of judgments and asks."""

from __future__ import annotations

from typing import Any


def digest(number: int) -> str:
    """A digest."""
    return f"{number:064x}"


def judgment(number: int, **columns: Any) -> dict[str, Any]:
    """A row of `judgments`, as the ledger takes it."""
    return {
        "digest": digest(number),
        "model": "m",
        "parameters": '{"temperature":0}',
        "messages": '[{"role":"user","content":"?"}]',
        "reply_schema": "{}",
        "replicate": 0,
        "reply": f"reply {number}",
        "status": "scored",
        "error": None,
        "attempts": 1,
        "tokens_in": 10,
        "tokens_out": 5,
        "cost_usd": 0.001,
        "latency_s": 0.5,
        "judged_at": "2026-01-02T03:04:05.000006",
    } | columns


def ask(question: str, step: int, number: int, **columns: Any) -> dict[str, Any]:
    """A row of `asks`."""
    return {
        "benchmark": "b",
        "system": "s",
        "question_id": question,
        "evaluator": "e",
        "step": step,
        "digest": digest(number),
        "repeat": 0,
        "member": 0,
        "replicate": 0,
        "turn": 0,
    } | columns
