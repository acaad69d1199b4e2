"""The verdict by a metric: which system is significantly best, or why none is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.statistics.arrays import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Row = Mapping[str, Any]

MAX_SYSTEMS = 5
"""How many systems a sentence names; it counts the others."""


def best_systems(rows: Sequence[Row]) -> list[str]:
    """Return the systems to mark as the best: those that no other system is better than.

    A mark on every system would say nothing: there is none unless at least one system is
    significantly worse. Exploratory rows have no marks.

    Args:
        rows: Rows of the leaderboard by one metric on one slice: system, rank and mark.
    """
    ranked = [row for row in rows if row["rank"] is not None]
    if all(row.get("mark") != "worse" for row in ranked):
        return []
    return [row["system"] for row in ranked if _is_tied(row)]


def find_winner(rows: Sequence[Row]) -> str | None:
    """Return the system whose comparison with every other one is significant; None without one.

    Args:
        rows: Rows of the leaderboard by one metric on one slice: system and mark.
    """
    return next((row["system"] for row in rows if row.get("mark") == "best"), None)


def is_exploratory(rows: Sequence[Row]) -> bool:
    """Return whether rows have no marks although their systems could be compared.

    Args:
        rows: Rows of the leaderboard by one metric on one slice: rank, mark and tied_with_best.
    """
    ranked = [row for row in rows if row["rank"] is not None]
    return len(ranked) > 1 and all(
        row.get("mark") is None and row["tied_with_best"] is not None for row in ranked
    )


def describe_winner(rows: Sequence[Row], write_name: Callable[[str], str] = str) -> str | None:
    """Say which system is best by a metric and by how much, or why none is.

    A system is best if it is significantly better than all others, at a level that all statements
    of the report's pages share. Slices and metrics that are not primary have no winner. The
    values are those that are compared: means over the questions that all systems were asked.

    Args:
        rows: Rows of the leaderboard by one metric on one slice.
        write_name: Formats the name of a system.

    Returns:
        A sentence; None if no system has a rank.
    """
    ranked = sorted((row for row in rows if row["rank"] is not None), key=lambda row: row["rank"])
    if not ranked:
        return None

    def write(listed: Sequence[Row]) -> str:
        return join_names([f"{write_name(row['system'])} ({_value(row)})" for row in listed])

    if is_exploratory(ranked):
        return _describe_exploration(ranked[0])
    metric = "{evaluator}.{metric}".format(**ranked[0])
    metric += " (lower is better)" if ranked[0]["best"] == "low" else ""
    if find_winner(rows) is not None:
        second = write([row for row in ranked if row["rank"] == ranked[1]["rank"]])
        first = write(ranked[:1])
        return f"{first} is best on {metric}, before {second}: the difference is significant."
    return f"No winner on {metric}: {_describe_tie(ranked, write)}."


def _describe_exploration(row: Row) -> str:
    if row["slice"] != "all":
        return (
            f"No marks on {row['slice']}: slices are exploratory, because among many of them some "
            "differ by chance."
        )
    return (
        f"No marks for {row['evaluator']}.{row['metric']}: metrics that are not primary are "
        "exploratory, because among many of them some differ by chance."
    )


def _describe_tie(ranked: Sequence[Row], write: Callable[[Sequence[Row]], str]) -> str:
    """Say why no system is significantly better than all others.

    Args:
        ranked: The systems with a rank, sorted by it.
        write: Lists systems with their values.
    """
    if len(ranked) == 1:
        return f"{write(ranked)} is the only system with a value"
    if any(row["tied_with_best"] is None for row in ranked):
        return f"the differences between {write(ranked)} cannot be tested"
    tied = [row for row in ranked if _is_tied(row)]
    if all(row["rank"] == 1 for row in tied):
        is_one = f"{write(tied)} is not significantly better than every other system"
        return is_one if len(tied) == 1 else f"{write(tied)} are equal"
    too_few = f"{_count_questions(ranked)} too few"
    clusters = max(row["n_clusters"] or 0 for row in ranked)
    pairs = len(ranked) * (len(ranked) - 1) // 2
    # The smallest p-value of a comparison, which Holm's adjustment multiplies by the number of
    # pairs; without `least_p`, so that `scoreline leaderboard` does without NumPy.
    if 2.0 ** (1 - clusters) * pairs >= LEVEL:
        return f"{too_few} for any significant difference between {write(tied)}"
    if len({_value(row) for row in tied}) == 1:
        return f"{write(tied)} are not significantly different"
    first = [row for row in tied if row["rank"] == 1]
    return f"{too_few} to tell {write(first)} from {write(tied[len(first) :])}"


def _count_questions(ranked: Sequence[Row]) -> str:
    """Return the number of questions that are compared, and of their clusters, with a verb."""
    if any(row["n_not_asked"] for row in ranked):
        return f"{ranked[0]['n_common']:,} common questions are"
    n, clusters = (max(row[name] or 0 for row in ranked) for name in ("n_scored", "n_clusters"))
    if n == 1:
        return "1 question is"
    if clusters >= n:
        return f"{n:,} questions are"
    return f"{n:,} questions in {clusters:,} cluster{'' if clusters == 1 else 's'} are"


def _value(row: Row) -> str:
    value = row["common_mean"]
    return f"{value:.2f}{row['unit']}" if row.get("unit") else f"{value:.3f}"


def join_names(names: Sequence[str], limit: int = MAX_SYSTEMS) -> str:
    """Return names as an enumeration; only the number of those beyond the limit."""
    more = len(names) - limit
    shown = list(names) if more <= 0 else [*names[:limit], f"{more:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _is_tied(row: Row) -> bool:
    return row.get("mark") in ("best", "tied")
