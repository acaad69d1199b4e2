"""Budgets and rates that hold over all processes: amounts set aside, spent, and starts of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import uuid4

from sqlalchemy import text

from calls.ledger.owners import hour

if TYPE_CHECKING:
    from sqlalchemy import Connection

DAY_S: Final = 24 * 3600.0

BURST_S: Final = 1.0
"""A rate may start at once what it allows in this many seconds."""

_OF_JUDGES: Final = "coalesce(run_id, '') NOT LIKE '%/%'"
"""A system has a budget of its own, under the run and its name: `RUN/SYSTEM`."""

_OF_SYSTEM: Final = (
    "substr(run_id, length(run_id) - :size + 1) = :system "
    "AND length(run_id) - length(replace(run_id, '/', '')) = :slashes"
)
"""Names differ in case and may contain `_`, so `LIKE` would find other systems, too.

The names of language models, with their addresses, contain slashes: they may end like another name.
"""

_ROUNDING_S: Final = 1e-6
"""The seconds by which sums of times may be wrong."""


class Reserved(NamedTuple):
    """An amount in US dollars that is set aside under an identity."""

    id: str
    usd: float


def reserve(
    connection: Connection,
    owner: str,
    run_id: str,
    *,
    run_usd: float | None,
    day_usd: float | None,
    least: float,
    enough: float,
    most: float,
) -> Reserved | bool:
    """Set aside the cost of a call, in US dollars.

    It gets its highest possible cost if that is free, or else enough for several long replies. The
    last call gets the rest, as long as a usual reply fits.

    Args:
        connection: The connection, in a transaction.
        owner: The owner of the reservation.
        run_id: The run.
        run_usd: What the run may spend; None for no limit.
        day_usd: What all runs of the project may spend in 24 hours on judges, or on the system of
            this run; None for no limit.
        least: The cost with a reply of the usual length: with less, the call is not made.
        enough: The cost with a reply that is several times longer.
        most: The highest possible cost.

    Returns:
        The amount; or, without one, whether calls in flight may leave enough.
    """
    scopes = []
    if run_usd is not None:
        scopes.append((run_usd, spent_by_run(connection, run_id), "WHERE run_id = :run_id"))
    if day_usd is not None:
        scopes.append((day_usd, spent_last_day(connection, run_id), f"WHERE {_of_all(run_id)}"))
    left, is_alone, may_fit = float("inf"), True, True
    for limit, spent, where in scopes:
        query = f"SELECT count(*), coalesce(sum(usd), 0) FROM ledger_reservations {where}"  # noqa: S608
        in_flight, held = connection.execute(text(query), _values(run_id)).one()
        may_fit = may_fit and spent + least <= limit
        if limit - spent - held < left:
            left, is_alone = limit - spent - held, in_flight == 0
    granted = most if most <= left else min(enough, left)
    if granted < (least if is_alone else enough):
        return may_fit and not is_alone
    reserved = Reserved(uuid4().hex, granted)
    connection.execute(
        text("INSERT INTO ledger_reservations VALUES (:id, :owner, :run_id, :usd)"),
        {"id": reserved.id, "owner": owner, "run_id": run_id, "usd": granted},
    )
    return reserved


def settle(connection: Connection, run_id: str, reservation: str | None, usd: float) -> None:
    """Replace an amount that was set aside, if one was, by the real cost."""
    if reservation is not None:
        statement = text("DELETE FROM ledger_reservations WHERE id = :id")
        connection.execute(statement, {"id": reservation})
    if usd:
        connection.execute(
            text(
                "INSERT INTO ledger_spending VALUES (:run_id, :hour, :usd) "
                "ON CONFLICT (run_id, hour) DO UPDATE SET usd = ledger_spending.usd + excluded.usd"
            ),
            {"run_id": run_id, "hour": hour(), "usd": usd},
        )


def spent_by_run(connection: Connection, run_id: str) -> float:
    """Return what a run has spent, in US dollars."""
    query = text("SELECT coalesce(sum(usd), 0) FROM ledger_spending WHERE run_id = :run_id")
    return float(connection.execute(query, {"run_id": run_id}).scalar_one())


def spent_last_day(connection: Connection, run_id: str) -> float:
    """Return what all runs have spent on judges in 24 hours, to the hour, in US dollars.

    Hours in the future count too, because the clock may have been set back.

    Args:
        connection: The connection.
        run_id: A run; for `RUN/SYSTEM` what all runs have spent on this system.
    """
    query = text(
        "SELECT coalesce(sum(usd), 0) FROM ledger_spending "  # noqa: S608
        f"WHERE hour >= :hour AND {_of_all(run_id)}"
    )
    values = {"hour": hour(DAY_S), **_values(run_id)}
    return float(connection.execute(query, values).scalar_one())


def _of_all(run_id: str) -> str:
    """Return the condition for all runs that share a daily budget with this one."""
    return _OF_SYSTEM if "/" in run_id else _OF_JUDGES


def _values(run_id: str) -> dict[str, str | int]:
    suffix = f"/{run_id.partition('/')[2]}"
    return {"run_id": run_id, "system": suffix, "size": len(suffix), "slashes": suffix.count("/")}


def start(connection: Connection, now: float, name: str, per_minute: float, amount: float) -> float:
    """Take units of a rate; return 0, or how many seconds to wait before trying again.

    Units are spread evenly, but those of `BURST_S` may be taken at once.

    Args:
        connection: The connection, in a transaction.
        now: The time in seconds.
        name: The name of the rate.
        per_minute: The units per minute.
        amount: The units to take.
    """
    found = connection.execute(
        text("SELECT free_at, spacing FROM ledger_rates WHERE name = :name"), {"name": name}
    ).one_or_none()
    free_at = now - BURST_S
    if found is not None:
        # Later than that only if the clock was set back.
        latest = now + max(0.0, found.spacing - BURST_S)
        free_at = max(free_at, min(found.free_at, latest))
    spacing = 60.0 * amount / per_minute
    wait_s = free_at + min(spacing, BURST_S) - now
    if wait_s > _ROUNDING_S:
        return wait_s
    connection.execute(
        text(
            "INSERT INTO ledger_rates VALUES (:name, :free_at, :spacing) ON CONFLICT (name) "
            "DO UPDATE SET free_at = excluded.free_at, spacing = excluded.spacing"
        ),
        {"name": name, "free_at": free_at + spacing, "spacing": spacing},
    )
    return 0.0
