"""Two systems of the published copy side by side, in numbers and in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from orchestration.errors import OrchestrationError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warehouse.publish.snapshot import Snapshot

SHOWN = (
    *("metric", "a", "b", "difference", "ci_low", "ci_high", "p_adjusted", "verdict"),
    *("n_pairs", "detectable_difference"),
)


class NotCompared(OrchestrationError):  # noqa: N818 - the name says what it is
    """Two systems have no number in common."""


def compared(
    copy: Snapshot, benchmark: str, a: str, b: str, metrics: Sequence[str], slice_: str
) -> pl.DataFrame:
    """How two systems compare, seen from `a`.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        a: The one system.
        b: The other.
        metrics: `evaluator.metric`, a metric's name, an evaluator, or `all`; none: primary ones.
        slice_: The slice.

    Returns:
        One row a metric: metric (its address), a and b (the two means), and the columns of the
        table `comparisons`, their signs turned where the table has the pair the other way round.

    Raises:
        UnknownName: There is no such metric or slice; a near name is suggested.
        NotCompared: The two have no number in common there.
    """
    rows = copy.fetch(
        "SELECT c.* EXCLUDE (metric), c.evaluator || '.' || c.metric AS address, c.metric AS name, "
        "one.mean AS a, two.mean AS b, one.is_primary, one.best FROM comparisons AS c "
        "JOIN leaderboard AS one ON one.benchmark = c.benchmark AND one.slice = c.slice "
        "AND one.evaluator = c.evaluator AND one.metric = c.metric AND one.system = $a "
        "JOIN leaderboard AS two ON two.benchmark = c.benchmark AND two.slice = c.slice "
        "AND two.evaluator = c.evaluator AND two.metric = c.metric AND two.system = $b "
        "WHERE c.benchmark = $benchmark AND least($a, $b) = least(system_a, system_b) "
        "AND greatest($a, $b) = greatest(system_a, system_b) ORDER BY address",
        {"benchmark": benchmark, "a": a, "b": b},
    )
    _known("slice", [slice_], rows["slice"].unique().to_list())
    rows = rows.filter(pl.col("slice") == slice_)
    if metrics and "all" not in metrics:
        columns = ("address", "name", "evaluator")
        _known("metric", metrics, [each for name in columns for each in rows[name].to_list()])
        rows = rows.filter(pl.any_horizontal(pl.col(name).is_in(metrics) for name in columns))
    elif not metrics:
        rows = rows.filter(pl.col("is_primary") == 1)
    if rows.is_empty():
        raise NotCompared(f"{a!r} and {b!r} have no number in common on {benchmark!r}")
    turned = pl.col("system_a") != a
    sign = pl.when(turned).then(-1.0).otherwise(1.0)
    opposite = {"better": "worse", "worse": "better"}
    return rows.with_columns(
        difference=sign * pl.col("difference"),
        ci_low=pl.when(turned).then(-pl.col("ci_high")).otherwise("ci_low"),
        ci_high=pl.when(turned).then(-pl.col("ci_low")).otherwise("ci_high"),
        verdict=pl.when(turned).then(pl.col("verdict").replace(opposite)).otherwise("verdict"),
        system_a=pl.lit(a),
        system_b=pl.lit(b),
        metric=pl.col("address"),
    ).drop("address", "name", "is_primary")


def sentence(row: Mapping[str, Any], a: str, b: str) -> str:
    """One row of `compared` in a plain sentence."""
    n, verdict = row["n_pairs"], row["verdict"]
    metric = row["metric"] + (" (lower is better)" if row["best"] == "low" else "")
    questions = "1 question" if n == 1 else f"{n:,} questions"
    if not n:
        return f"By {metric} there is not enough data: both have a number for no question."
    if verdict == "not_enough_data":
        return (
            f"By {metric} there is not enough data: {questions} that both have a number for could "
            "not decide, whatever the answers."
        )
    size = abs(row["difference"])
    interval = ""
    if row["ci_low"] is not None:
        sign = 1 if row["difference"] > 0 else -1
        ends = sorted(sign * row[end] for end in ("ci_low", "ci_high"))
        interval = f" (95 % interval {ends[0]:.3f} to {ends[1]:.3f})"
    if verdict in ("better", "worse"):
        return (
            f"By {metric} {a} is {verdict} than {b} by {size:.3f}{interval} on {questions}; that "
            f"is unlikely to be chance (adjusted p = {_p(row['p_adjusted'])})."
        )
    room = ""
    if row["detectable_difference"] is not None:
        room = (
            f": a difference of less than {row['detectable_difference']:.3f} would probably not "
            "show in so few"
        )
    return (
        f"By {metric} {a} and {b} cannot be told apart on {questions} (difference "
        f"{row['difference']:+.3f}, adjusted p = {_p(row['p_adjusted'])}){room}."
    )


def rests_on_fewer(row: Mapping[str, Any]) -> bool:
    """Whether the difference in a row of `compared` is not that of the two means beside it."""
    if row["difference"] is None or row["a"] is None or row["b"] is None:
        return False
    beside: float = row["a"] - row["b"]
    return not math.isclose(row["difference"], beside, rel_tol=1e-9, abs_tol=1e-9)


def most_changed(
    copy: Snapshot, benchmark: str, address: str, a: str, b: str, slice_: str, count: int
) -> pl.DataFrame:
    """The questions on which two systems differ most by one metric, greatest difference first.

    Returns:
        question_id, the two numbers, the difference, and the beginning of the question; empty for
        metrics of whole sets.
    """
    evaluator, _, metric = address.partition(".")
    tag, _, value = slice_.partition("=")
    return copy.fetch(
        "SELECT d.question_id, value_a AS a, value_b AS b, difference, "
        "q.question[:60] AS question FROM v_differences AS d "
        "JOIN questions AS q USING (benchmark, question_id) "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND metric = $metric "
        "AND system_a = $a AND system_b = $b AND difference <> 0 "
        "AND ($slice = 'all' OR coalesce(q.tags[$tag], to_json(q) ->> $tag) = $value) "
        "ORDER BY abs(difference) DESC, d.question_id LIMIT $count",
        {
            "benchmark": benchmark,
            "evaluator": evaluator,
            "metric": metric,
            "a": a,
            "b": b,
            "slice": slice_,
            "tag": tag,
            "value": value,
            "count": count,
        },
    )


def _known(what: str, wanted: Sequence[str], options: Sequence[str]) -> None:
    from evaluators.errors import nearest

    for name in wanted:
        if options and name not in options:
            raise UnknownName(f"there is no {what} {name!r}{nearest(name, options)}")


def _p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004
