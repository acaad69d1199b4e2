"""Writes outcomes of calls, and which samples needed them, in a transaction of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from calls.ledger.columns import ASK_COLUMNS
from calls.ledger.integrity import COLUMN_NAMES, FIND, checksum, is_damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

_ROW: Final = (*COLUMN_NAMES, "checksum", "seq")

_STORE: Final = text(
    f"INSERT INTO ledger_judgments ({', '.join(_ROW)}) "  # noqa: S608
    f"VALUES ({', '.join(f':{name}' for name in _ROW)}) ON CONFLICT (digest) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _ROW[1:])
)

_PAID: Final = {
    "tokens_in": "replaced_tokens_in",
    "tokens_out": "replaced_tokens_out",
    "cost_usd": "replaced_usd",
}
"""What a call costs, and the column with what its other outcomes have of it."""

_ANSWER: Final = ("benchmark", "system", "question_id", "evaluator", "repeat")
"""The columns that identify an answer and an evaluator."""


def store_judgment(
    connection: Connection, row: Mapping[str, Any], number: int, known: int = -1
) -> None:
    """Store the outcome of a call.

    It replaces a failure and a damaged outcome, and a reply only if its number is at most `known`.
    One of both stays; attempts, tokens and cost are those of both.

    Args:
        connection: The connection, in a transaction.
        row: The columns of `judgments`; some may be missing.
        number: The number of the transaction.
        known: The number of the outcome that the caller wants to replace; -1 for none.
    """
    new = {**dict.fromkeys(COLUMN_NAMES), **row}
    old = connection.execute(FIND, {"digest": new["digest"]}).mappings().one_or_none()
    if old is not None and not is_damaged(old):
        replaces = old["status"] == "judge_error" or old["seq"] <= known
        stays, goes = (new, old) if replaces else (old, new)
        merged = dict(stays)
        for paid, replaced in _PAID.items():
            merged[paid] = _sum(stays[paid], goes[paid])
            merged[replaced] = _sum(stays[replaced], goes[paid])
        merged["attempts"] = _sum(stays["attempts"], goes["attempts"])
        new = merged
    connection.execute(_STORE, {**new, "checksum": checksum(new), "seq": number})


def reopen_judgment(connection: Connection, digest: str, number: int) -> None:
    """Let an outcome count as a failure, which any other outcome replaces; its cost stays.

    A damaged one counts as that already.
    """
    row = connection.execute(FIND, {"digest": digest}).mappings().one_or_none()
    if row is None or is_damaged(row):
        return
    is_of_system = row["status"] == "target_error"
    failed = {"reply": None} if is_of_system else {"status": "judge_error"}
    changed = {**row, **failed}
    connection.execute(_STORE, {**changed, "checksum": checksum(changed), "seq": number})


def seed(connection: Connection, batches: Iterable[list[dict[str, Any]]]) -> None:
    """Store judgments in a new ledger, and what they cost."""
    for rows in batches:
        for row in rows:
            store_judgment(connection, row, 0)
    connection.execute(
        text(
            "INSERT INTO ledger_spending "
            "SELECT run_id, substr(judged_at, 1, 13), sum(cost_usd) FROM ledger_judgments "
            "WHERE cost_usd IS NOT NULL GROUP BY 1, 2"
        )
    )


def store_asks(connection: Connection, number: int, rows: list[Mapping[str, Any]]) -> None:
    """Store which samples needed which calls; the first call of an answer replaces its old rows."""
    restarted = [row for row in rows if row["step"] == row["member"] == row["turn"] == 0]
    if restarted:
        answer = " AND ".join(f"{name} = :{name}" for name in _ANSWER)
        connection.execute(text(f"DELETE FROM ledger_asks WHERE {answer}"), restarted)  # noqa: S608
    names, key = (*ASK_COLUMNS, "seq"), [name for name in ASK_COLUMNS if name != "digest"]
    connection.execute(
        text(
            f"INSERT INTO ledger_asks ({', '.join(names)}) "  # noqa: S608
            f"VALUES ({', '.join(f':{name}' for name in names)}) "
            f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET digest = excluded.digest, "
            "seq = excluded.seq"
        ),
        [{**row, "seq": number} for row in rows],
    )


def _sum(one: float | None, other: float | None) -> float | None:
    known = [each for each in (one, other) if each is not None]
    return sum(known) if known else None
