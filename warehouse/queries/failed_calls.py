"""Calls of judges and systems without a usable outcome, and how they are made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warehouse.ledger.open import has_ledger, open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

_FAILED: Final = """
(j.status IS DISTINCT FROM 'scored' OR list_contains($damaged::VARCHAR[], a.digest))
AND list_contains($benchmarks::VARCHAR[], a.benchmark)
AND (len($systems::VARCHAR[]) = 0 OR list_contains($systems::VARCHAR[], a.system))
"""

_VERDICTS: Final = f"""
SELECT DISTINCT a.benchmark, a.system, a.question_id, a.evaluator, a.digest
FROM asks AS a
LEFT JOIN judgments AS j USING (digest)
WHERE {_FAILED}
AND (len($evaluators::VARCHAR[]) = 0 OR list_contains($evaluators::VARCHAR[], a.evaluator))
AND $judge
"""  # noqa: S608

_ANSWERS: Final = f"""
SELECT DISTINCT a.benchmark, a.system, a.digest
FROM answers AS a
LEFT JOIN judgments AS j USING (digest)
WHERE {_FAILED} AND $ask
"""  # noqa: S608

_ANSWERS_READ: Final = ("damaged", "benchmarks", "systems", "ask")
_VERDICTS_READ: Final = ("damaged", "benchmarks", "systems", "evaluators", "judge")

_STALE: Final = """
UPDATE {table} SET input_digest = 0
WHERE (benchmark, system, question_id, evaluator) IN (
    SELECT (benchmark, system, question_id, evaluator)
    FROM (SELECT unnest($samples, recursive := true))
)
"""
"""No inputs have the digest 0, so these samples are scored again."""


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """Calls without a usable outcome.

    Attributes:
        verdicts: Calls of judges: benchmark, system, question_id, evaluator, digest.
        answers: Calls of systems: benchmark, system, digest.
    """

    verdicts: pl.DataFrame
    answers: pl.DataFrame

    @property
    def digests(self) -> list[str]:
        """The distinct calls."""
        return sorted({*self.verdicts["digest"], *self.answers["digest"]})


def count_failed_verdicts(warehouse: Warehouse, benchmarks: Sequence[str]) -> int:
    """Return how many calls of judges that scores rest on have no usable outcome."""
    every: Mapping[str, Any] = {"systems": [], "evaluators": [], "judge": True}
    values = {"damaged": [], "benchmarks": list(benchmarks), **every}
    return int(warehouse.fetch(_VERDICTS, values)["digest"].n_unique())


def reopen_failed_calls(
    warehouse: Warehouse,
    selection: Mapping[str, Any],
    outdated: Callable[[FailedCalls], Mapping[tuple[str, str], str]],
) -> FailedCalls | None:
    """Let the next run make calls without a usable outcome again; their cost stays recorded.

    Args:
        warehouse: The warehouse.
        selection: `benchmarks`; `systems` and `evaluators`, empty for all; whether calls of judges
            (`judge`) and of systems (`ask`) are made again.
        outdated: Returns the fingerprints to record for stages that rest on these calls, by
            benchmark and stage.

    Returns:
        The calls; None if there are none.
    """
    if not (warehouse.exists() and has_ledger(warehouse)):
        return None
    with open_ledger(warehouse, "retry") as ledger:
        ledger.flush()
        values = {**selection, "damaged": [digest for digest, _ in ledger.check().damaged]}
        failed = FailedCalls(
            warehouse.fetch(_VERDICTS, {name: values[name] for name in _VERDICTS_READ}),
            warehouse.fetch(_ANSWERS, {name: values[name] for name in _ANSWERS_READ}),
        )
        if not failed.digests:
            return None
        ledger.reopen(failed.digests)
        ledger.flush()
    fingerprints = outdated(failed)
    samples = failed.verdicts.drop("digest").unique().to_dicts()

    def mark(transaction: Transaction) -> None:
        for table in ("grades", "answer_grades") if samples else ():
            transaction.execute(_STALE.format(table=table), {"samples": samples})
        for (benchmark, stage), fingerprint in fingerprints.items():
            transaction.record_fingerprint(benchmark, stage, fingerprint)

    warehouse.write(mark)
    return failed
