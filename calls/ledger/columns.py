"""The columns of the ledger's tables, which the tables filled from it share."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

JUDGMENT_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "digest": "VARCHAR",
        "model": "VARCHAR",
        "parameters": "JSON",
        "messages": "JSON",
        "reply_schema": "JSON",
        "replicate": "INTEGER",
        "reply": "VARCHAR",
        "status": "VARCHAR",
        "error": "VARCHAR",
        "attempts": "INTEGER",
        "tokens_in": "BIGINT",
        "tokens_out": "BIGINT",
        "cost_usd": "DOUBLE",
        "latency_s": "DOUBLE",
        "judged_at": "TIMESTAMP",
        "run_id": "VARCHAR",
        "replaced_tokens_in": "BIGINT",
        "replaced_tokens_out": "BIGINT",
        "replaced_usd": "DOUBLE",
    }
)
"""The type in SQL of each column of a call and its outcome, in the order of checksums."""

ASK_COLUMNS: Final = (
    *("benchmark", "system", "question_id", "evaluator", "step", "digest"),
    *("repeat", "member", "replicate", "turn"),
)
"""The columns that say which sample needed which call."""
