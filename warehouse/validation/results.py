"""Records the verdicts on expectations, and the rows that break them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Verdict


def record_verdicts(
    warehouse: Warehouse,
    run_id: str,
    verdicts: Sequence[Verdict],
    fingerprints: Sequence[tuple[str, str, str]],
) -> None:
    """Write results, quarantined rows and fingerprints in one transaction.

    The verdicts replace those of the run on the same expectations. A fingerprint is the benchmark,
    stage and digest of what passed.
    """
    results = pl.DataFrame(
        [
            {
                "run_id": run_id,
                "table": each.table,
                "expectation": each.expectation,
                "success": int(each.success),
                "observed": each.observed,
                "unexpected_count": each.unexpected,
                "severity": each.severity,
            }
            for each in verdicts
        ],
        schema_overrides={"observed": pl.String, "unexpected_count": pl.Int64},
        infer_schema_length=None,
    )
    broken = [
        {
            "run_id": run_id,
            "table": each.table,
            "expectation": each.expectation,
            "benchmark": row.get("benchmark"),
            "system": row.get("system"),
            "question_id": row.get("question_id"),
            "row": json.dumps(row, ensure_ascii=False),
            "severity": each.severity,
        }
        for each in verdicts
        for row in each.rows
    ]

    def write(transaction: Transaction) -> None:
        now = transaction.next_timestamp("validations", "validated_at", {})
        if verdicts:
            dated = results.with_columns(pl.lit(now).alias("validated_at"))
            transaction.replace("validations", dated)
        for table in {each.table for each in verdicts}:
            transaction.delete("quarantine", {"run_id": run_id, "table": table})
        if broken:
            named = dict.fromkeys(("benchmark", "system", "question_id"), pl.String)
            rows = pl.DataFrame(broken, schema_overrides=named, infer_schema_length=None)
            transaction.append("quarantine", rows.with_columns(pl.lit(now).alias("quarantined_at")))
        digests: dict[str, dict[str, str]] = {}
        for benchmark, stage, digest in fingerprints:
            digests.setdefault(stage, {})[benchmark] = digest
        for stage, own in digests.items():
            transaction.record_fingerprints(stage, own)

    warehouse.write(write)
