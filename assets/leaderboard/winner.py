"""Which systems are significantly best by a metric, and how to say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.statistics.arrays import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Row = Mapping[str, Any]

MAX_SYSTEMS = 5
"""How many systems a sentence names; it counts the others."""


def best_systems(rows: Sequence[Row]) -> list[str]:
    """Return the systems to mark as the best: first, or tied with the first.

    A mark on every system would say nothing: there is none unless at least one system is
    significantly worse.

    Args:
        rows: Rows of the leaderboard by one metric on one slice: system, rank and tied_with_best.
    """
    ranked = [row for row in rows if row["rank"] is not None]
    if all(row["tied_with_best"] != 0 for row in ranked):
        return []
    return [row["system"] for row in ranked if _is_tied(row)]


def find_winner(rows: Sequence[Row]) -> str | None:
    """Return the system that is significantly better than all others; None without one.

    Args:
        rows: Rows of the leaderboard by one metric on one slice: system, rank and tied_with_best.
    """
    ranked = [row for row in rows if row["rank"] is not None]
    first = [row["system"] for row in ranked if row["rank"] == 1]
    others = [row["tied_with_best"] for row in ranked if row["rank"] != 1]
    has_won = len(first) == 1 and bool(others) and all(tied == 0 for tied in others)
    return first[0] if has_won else None


def describe_winner(rows: Sequence[Row], write_name: Callable[[str], str] = str) -> str | None:
    """Say which system is significantly better than all others, or why none is.

    Args:
        rows: Rows of the leaderboard by one metric on one slice.
        write_name: Formats the name of a system.

    Returns:
        A sentence; None if fewer than two systems have a rank.
    """
    ranked = sorted((row for row in rows if row["rank"] is not None), key=lambda row: row["rank"])
    if len(ranked) < 2:  # noqa: PLR2004 - a winner needs a loser
        return None
    names = join_names([write_name(row["system"]) for row in ranked if _is_tied(row)])
    if find_winner(rows) is not None:
        return f"{names} is significantly better than every other system."
    if any(row["tied_with_best"] is None for row in ranked):
        return "No winner: the differences cannot be tested."
    if all(row["rank"] == 1 for row in ranked if _is_tied(row)):
        return f"No winner: {names} are equal."
    if too_few := _describe_too_few(ranked):
        return f"No winner: {too_few}."
    return f"No winner: {names} are not significantly different."


def join_names(names: Sequence[str], limit: int = MAX_SYSTEMS) -> str:
    """Return names as an enumeration; only the number of those beyond the limit."""
    more = len(names) - limit
    shown = list(names) if more <= 0 else [*names[:limit], f"{more:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_tied(row: Row) -> bool:
    return 1 in (row["rank"], row["tied_with_best"])


def _describe_too_few(ranked: Sequence[Row]) -> str | None:
    """Name the number of independent questions, if no answers to them could be significant."""
    clusters = max((row["n_clusters"] or 0 for row in ranked), default=0)
    pairs = len(ranked) * (len(ranked) - 1) // 2
    # The smallest p-value of a sign-flip test, which Holm's adjustment multiplies by the number of
    # pairs; without `least_p`, so that `scoreline leaderboard` does without NumPy.
    if 2.0 ** (1 - clusters) * pairs < LEVEL:
        return None
    unit = "question" if all(row["n_clusters"] == row["n_scored"] for row in ranked) else "cluster"
    return f"1 {unit} is too few" if clusters == 1 else f"{clusters} {unit}s are too few"
