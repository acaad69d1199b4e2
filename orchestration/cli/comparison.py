"""Compare two systems of the published copy, in numbers and in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from evaluators.statistics.arrays import LEVEL
from orchestration.cli.options import require_known
from orchestration.errors import OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.analysis.compare_publication import PublicationChanges
    from assets.project import Benchmark
    from warehouse.queries.benchmarks import Source

COLUMNS = (
    *("metric", "a", "b", "difference", "ci_low", "ci_high", "p_adjusted", "p_page", "verdict"),
    *("n_pairs", "detectable_difference"),
)
OPTIONAL = ("detectable_difference", "n_pairs")
"""Columns that a narrow terminal does without; the sentences have their numbers."""


_EXPLORATORY = "; exploratory: not corrected for other metrics and slices"

CHANGE_COLUMNS = (
    *("system", "metric", "before", "now", "difference", "ci_low", "ci_high", "p_page"),
    *("verdict", "n_pairs", "detectable_difference"),
)
"""The columns of a table of what has changed since a publication."""


class NotComparable(OrchestrationError):  # noqa: N818
    """Two systems have no score in common."""


def compare_systems(
    copy: Source, benchmark: Benchmark, a: str, b: str, metrics: tuple[str, ...], slice_: str
) -> pl.DataFrame:
    """Compare system `a` with system `b`.

    Comparisons that the table does not have are computed.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        a: The first system.
        b: The second system.
        metrics: `evaluator.metric`, a metric's name, an evaluator, or `all`; empty for the primary
            metrics.
        slice_: The slice.

    Returns:
        One row per metric: metric (`evaluator.metric`), a and b (the two means), and the columns of
        the table `comparisons`, with the signs inverted where the table has the pair as (b, a).

    Raises:
        UnknownName: There is no such metric or slice; the message suggests a similar name.
        NotComparable: The two systems have no score in common.
    """
    key = ["slice", "evaluator", "metric"]
    means = copy.fetch(
        "SELECT slice, evaluator, metric, evaluator || '.' || metric AS address, metric AS name, "
        "one.signature, one.mean AS a, two.mean AS b, one.is_primary, one.best "
        "FROM leaderboard AS one JOIN leaderboard AS two "
        "USING (benchmark, slice, evaluator, metric) "
        "WHERE benchmark = $benchmark AND one.system = $a AND two.system = $b ORDER BY address",
        {"benchmark": benchmark.name, "a": a, "b": b},
    )
    if not means.is_empty():
        require_known("slice", (slice_,), sorted(means["slice"].unique()))
    rows = means.filter(pl.col("slice") == slice_)
    if metrics and "all" not in metrics:
        columns = ("address", "name", "evaluator")
        known = {value for column in columns for value in rows[column]}
        if known:
            require_known("metric", metrics, sorted(known))
        rows = rows.filter(pl.any_horizontal(pl.col(name).is_in(metrics) for name in columns))
    elif not metrics:
        rows = rows.filter(pl.col("is_primary") == 1)
    pairs = copy.fetch(
        "SELECT * EXCLUDE (benchmark) FROM comparisons WHERE benchmark = $benchmark "
        "AND slice = $slice AND least($a, $b) = least(system_a, system_b) "
        "AND greatest($a, $b) = greatest(system_a, system_b)",
        {"benchmark": benchmark.name, "slice": slice_, "a": a, "b": b},
    )
    absent = rows.join(pairs, on=key, how="anti")
    if absent.height:
        pairs = pl.concat(
            [pairs, _compute_absent(copy, benchmark, (a, b), absent)], how="diagonal_relaxed"
        )
    rows = rows.join(pairs, on=key, maintain_order="left").drop("signature", "metric")
    if rows.is_empty():
        raise NotComparable(f"{a!r} and {b!r} have no score in common on {benchmark.name!r}")
    is_inverted = pl.col("system_a") != a
    sign = pl.when(is_inverted).then(-1.0).otherwise(1.0)
    opposite = {"better": "worse", "worse": "better"}
    return rows.with_columns(
        # Adding 0 removes the sign of a negative zero.
        difference=sign * pl.col("difference") + 0.0,
        ci_low=pl.when(is_inverted).then(-pl.col("ci_high")).otherwise("ci_low"),
        ci_high=pl.when(is_inverted).then(-pl.col("ci_low")).otherwise("ci_high"),
        verdict=pl.when(is_inverted).then(pl.col("verdict").replace(opposite)).otherwise("verdict"),
        system_a=pl.lit(a),
        system_b=pl.lit(b),
        metric=pl.col("address"),
    ).drop("address", "name", "is_primary")


def _compute_absent(
    copy: Source, benchmark: Benchmark, systems: tuple[str, str], absent: pl.DataFrame
) -> pl.DataFrame:
    """Compute the comparisons of two systems by metrics that the table lacks.

    Raises:
        NotComparable: An evaluator is not configured as it was when the copy was published.
    """
    from assets.analysis.compare_pair import compare_pair

    configured = {evaluator.name: evaluator.signature for evaluator in benchmark.evaluators}
    for name, signature in absent.select("evaluator", "signature").unique().sort("*").iter_rows():
        if configured.get(name) != signature:
            raise NotComparable(
                f"the evaluator {name!r} of {benchmark.name!r} has changed since the results were "
                "published: run `scoreline run` first"
            )
    metrics = absent.select("evaluator", "metric").rows()
    return compare_pair(copy, benchmark, absent["slice"][0], systems, metrics)


def largest_possible(benchmark: Benchmark) -> dict[str, float]:
    """Return the largest difference that the scale of each metric allows, by address."""
    return {
        f"{evaluator.name}.{metric.name}": metric.bounds[1] - metric.bounds[0]
        for evaluator in benchmark.evaluators
        for metric in evaluator.measured()
    }


def describe_comparison(
    row: Mapping[str, Any],
    a: str,
    b: str,
    largest: float | None = None,
    both: tuple[str, str] = ("for both systems", "for one of the systems"),
) -> str:
    """Describe one row of `compare_systems` in a sentence.

    Args:
        row: The row.
        a: The first system.
        b: The second system.
        largest: The largest difference that the scale of the metric allows; None if it is unknown.
        both: How to say that there is a score for both, and that one has none.
    """
    n, verdict = row["n_pairs"], row["verdict"]
    metric = row["metric"] + (" (lower is better)" if row["best"] == "low" else "")
    questions = "1 question" if n == 1 else f"{n:,} questions"
    if not n:
        return f"{metric}: not enough data: no question has a score {both[0]}."
    if row["difference"] is None:
        return (
            f"{metric}: not comparable: it has no value {both[1]}, or none without some of the "
            "questions."
        )
    if verdict == "not_enough_data":
        return (
            f"{metric}: not enough data: {questions} with scores {both[0]} cannot show a "
            "significant difference."
        )
    shared = row["p_page"]
    adjusted = f"adjusted p {_format_p(row['p_adjusted'] if shared is None else shared)}"
    if verdict in ("better", "worse"):
        return f"{metric}: {a} is {_describe_better(row, b, questions, adjusted)}."
    detectable = row["detectable_difference"]
    if detectable is not None:
        missed = f"a difference below {detectable:.3f}"
        if largest is not None and detectable > largest:
            missed = f"even the largest difference on this scale, {largest:g},"
        return (
            f"{metric}: no significant difference between {a} and {b} on {questions} (difference "
            f"{row['difference']:+.3f}, {adjusted}); {missed} is probably not detectable with so "
            "few questions."
        )
    return (
        f"{metric}: no significant difference between {a} and {b} on {questions}: it is "
        f"{abs(row['difference']):.3f}{_interval(row)}, {adjusted}{_no_variation(row)}."
    )


def _describe_better(row: Mapping[str, Any], b: str, questions: str, adjusted: str) -> str:
    """Say by how much the first system is better or worse, and whether significantly."""
    size = f"{abs(row['difference']):.3f}{_interval(row)} on {questions}"
    constant = _no_variation(row) if row["detectable_difference"] is None else ""
    shared = row["p_page"]
    if shared is not None and shared >= LEVEL:
        return (
            f"{row['verdict']} than {b} by {size}, but not significantly among all statements of "
            f"the report ({adjusted}; alone p {_format_p(row['p_adjusted'])}){constant}"
        )
    exploratory = _EXPLORATORY if shared is None else ""
    return f"significantly {row['verdict']} than {b} by {size} ({adjusted}){constant}{exploratory}"


def _interval(row: Mapping[str, Any]) -> str:
    """Return the interval of the size of the difference, in brackets; empty if there is none."""
    if row["ci_low"] is None:
        return ""
    sign = -1 if row["difference"] < 0 else 1
    ends = sorted(sign * row[end] for end in ("ci_low", "ci_high"))
    return f" (95 % confidence interval {ends[0]:.3f} to {ends[1]:.3f})"


def _no_variation(row: Mapping[str, Any]) -> str:
    """Return the remark that all differences are equal."""
    is_alone = row["n_clusters"] == row["n_pairs"]
    units = "questions" if is_alone else f"{row['n_clusters']:,} clusters of questions"
    return f"; no variation seen between the {units}"


def uses_fewer_questions(row: Mapping[str, Any]) -> bool:
    """Return whether the difference in a row is over fewer questions than its two means."""
    a, b, difference = row["a"], row["b"], row["difference"]
    if None in (a, b, difference):
        return False
    return not math.isclose(difference, a - b, rel_tol=1e-9, abs_tol=1e-9)


def largest_differences(
    copy: Source, benchmark: str, address: str, a: str, b: str, slice_: str, count: int
) -> pl.DataFrame:
    """Return the questions with the largest differences between two systems by one metric.

    Returns:
        question_id, the two scores, the difference, and the beginning of the question; empty for
        system-level metrics.
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


def metric_addresses(copy: Source, benchmark: str, metrics: tuple[str, ...]) -> list[str]:
    """Return the addresses of the metrics that some names stand for; without names of none.

    Raises:
        UnknownName: There is no such metric; the message suggests a similar name.
    """
    every = copy.fetch(
        "SELECT DISTINCT evaluator || '.' || metric AS address, metric AS name, evaluator "
        "FROM leaderboard WHERE benchmark = $benchmark ORDER BY address",
        {"benchmark": benchmark},
    )
    if "all" in metrics:
        return every["address"].to_list()
    if metrics:
        require_known("metric", metrics, sorted({name for row in every.rows() for name in row}))
    return every.filter(pl.any_horizontal(pl.all().is_in(metrics)))["address"].to_list()


def changed_rows(found: PublicationChanges) -> pl.DataFrame:
    """Return the results of a comparison with a publication, with the changed questions of each.

    Returns:
        One row per system and metric (`evaluator.metric`): the columns of `RESULT_SCHEMA`,
        n_flipped, n_lost and n_gained (questions with a score only then, or only now) and
        questions, a list of objects with the scores and answers of then and now.
    """
    key = ["system", "evaluator", "metric"]
    counts = ("n_flipped", "n_lost", "n_gained")
    questions = found.questions.group_by(key, maintain_order=True).agg(
        n_flipped=pl.col("flipped").sum().cast(pl.Int64),
        n_lost=pl.col("now").is_null().sum().cast(pl.Int64),
        n_gained=pl.col("before").is_null().sum().cast(pl.Int64),
        questions=pl.struct(pl.exclude(*key)),
    )
    is_compared = pl.col("reason").is_null()
    return (
        found.results.join(questions, on=key, how="left", maintain_order="left")
        .with_columns(
            pl.when(is_compared).then(pl.col(*counts).fill_null(0)),
            metric=pl.concat_str("evaluator", "metric", separator="."),
            questions=pl.when(is_compared).then(pl.col("questions").fill_null([])),
        )
        .drop("evaluator")
    )


def describe_change(row: Mapping[str, Any]) -> str:
    """Describe one row of `changed_rows` in sentences."""
    if row["reason"] is not None:
        return f"{row['system']}, {row['metric']}: not comparable with then: {row['reason']}."
    coverage = _describe_coverage(row)
    if row["n_pairs"] and len(row["questions"]) == row["n_lost"] + row["n_gained"]:
        common = f" of the {row['n_pairs']:,} that exist then and now" if coverage else ""
        return f"{row['system']}, {row['metric']}: no score{common} has changed.{coverage}"
    both = ("then and now", "then or now")
    return f"{row['system']}, {describe_comparison(row, 'now', 'then', both=both)}{coverage}"


def _describe_coverage(row: Mapping[str, Any]) -> str:
    """Say how many questions have a score only then, or only now; empty if none has."""
    lost, gained, both = row["n_lost"], row["n_gained"], row["n_pairs"]
    if not lost and not gained:
        return ""
    only = [
        f"{count:,} {'has' if count == 1 else 'have'} one only {when}"
        for count, when in ((lost, "then"), (gained, "now"))
        if count
    ]
    questions = f"{both + gained:,} of these questions have a score now, {both + lost:,} then"
    return f" {questions}: {' and '.join(only)}, which the difference leaves out."


def describe_flips(row: Mapping[str, Any]) -> str:
    """Say how many questions of a row of `changed_rows` have another score, or flipped."""
    lost, gained, flipped = row["n_lost"], row["n_gained"], row["n_flipped"]
    said = f"{len(row['questions']) - lost - gained} of {row['n_pairs']} scores changed"
    if flipped:
        said += f", {flipped} flipped between pass and failure"
    if lost:
        said += f", {lost} of {row['n_pairs'] + lost} are lost"
    return f"{said}, {gained} new" if gained else said


def describe_refusal(rows: pl.DataFrame, benchmark: str, publication: str) -> str:
    """Say why nothing of a benchmark can be compared with a publication."""
    if rows.is_empty():
        return f"no system of {benchmark!r} has a result both now and in {publication}"
    reasons = rows.group_by("reason", maintain_order=True).agg("metric")
    said = "; ".join(
        f"{', '.join(dict.fromkeys(metrics))}: {reason}" for reason, metrics in reasons.iter_rows()
    )
    return f"{benchmark!r} is not comparable with {publication}: {said}"


def _format_p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"= {value:.3f}"  # noqa: PLR2004
