"""Compare systems with themselves in an earlier publication, question by question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.analysis.publication_notes import notes_on_inputs, notes_on_metrics
from assets.analysis.statements import share_of_level
from assets.leaderboard.benchmark_scores import load_question_index
from assets.leaderboard.slice_statistics import COMPARISONS_SCHEMA
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.comparisons import BETTER, NOT_ENOUGH, TIED, WORSE, compare
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.power import detectable_difference
from warehouse.errors import WarehouseError
from warehouse.queries.publications import (
    answers_then_and_now,
    missing_rows,
    paired_evaluators,
    readers_of_changed_documents,
    results_then_and_now,
    scores_then_and_now,
    unchanged_systems,
    version_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from assets.analysis.publications import Publication
    from assets.leaderboard.score_matrix import QuestionIndex
    from assets.project import Benchmark
    from evaluators.statistics.arrays import Floats
    from evaluators.statistics.clusters import Groups
    from warehouse.queries.benchmarks import Source

NOT_COMPARABLE = "not_comparable"

_NUMBERS = (
    *("n_pairs", "n_clusters", "difference", "ci_low", "ci_high", "p_value", "p_adjusted"),
    *("p_page", "verdict", "detectable_difference"),
)

RESULT_SCHEMA = {
    **dict.fromkeys(("system", "evaluator", "metric"), pl.String),
    **dict.fromkeys(("before", "now"), pl.Float64),
    **{name: (COMPARISONS_SCHEMA | {"p_page": pl.Float64})[name] for name in _NUMBERS},
    "best": pl.String,
    "reason": pl.String,
}
"""The columns of `PublicationChanges.results`."""

QUESTIONS_SCHEMA = {
    **dict.fromkeys(("system", "evaluator", "metric", "question_id"), pl.String),
    **dict.fromkeys(("before", "now"), pl.Float64),
    "flipped": pl.Boolean,
    **dict.fromkeys(("answer_before", "answer_now"), pl.String),
}
"""The columns of `PublicationChanges.questions`."""


class NotKept(WarehouseError):  # noqa: N818 - the name says what is the matter
    """The scores of a publication are not kept, or not completely."""


@dataclass(frozen=True, slots=True)
class PublicationChanges:
    """What has changed since a publication.

    Attributes:
        results: One row per system and metric: the means `before` and `now`, the paired difference
            (now minus before) with the columns of `comparisons`, and the `reason` where they are
            not comparable. `p_adjusted` is adjusted for all systems with other predictions than
            then (Holm), `p_page` and the verdict also for all metrics, the statements of the
            report's pages, and the publications since the last tag.
        questions: One row per system, metric and question whose score has changed, the largest
            changes first. It has `flipped` from a pass to a failure or back: across the threshold,
            or without one from the best to the worst value.
        notes: What else has changed, in sentences.
    """

    results: pl.DataFrame
    questions: pl.DataFrame
    notes: list[str]


def compare_publication(
    source: Source,
    benchmark: Benchmark,
    publication: Publication,
    systems: Collection[str] = (),
    metrics: Collection[str] = (),
) -> PublicationChanges:
    """Compare systems now with what they were in an earlier publication.

    Only questions that ask and expect the same as then count.

    Args:
        source: The published copy.
        benchmark: The benchmark.
        publication: The earlier publication.
        systems: The systems; none: all.
        metrics: Addresses such as `citation.f1`; none: the primary metrics.

    Raises:
        NotKept: The benchmark was not published then, or its scores are not kept.
    """
    version = _find_version(source, benchmark.name, publication)
    rows = source.fetch(*results_then_and_now(benchmark.name, version))
    address = pl.concat_str("evaluator", "metric", separator=".")
    is_chosen = address.is_in(list(metrics)) if metrics else pl.col("is_primary") == 1
    rows = rows.filter(is_chosen)
    _require_kept(source, benchmark.name, version, publication)
    index = load_question_index(source, benchmark)
    unchanged = source.fetch(*unchanged_systems(benchmark.name, version))["system"].to_list()
    because = dict.fromkeys(
        source.fetch(*readers_of_changed_documents(benchmark.name, version))["evaluator"],
        "the documents that it reads have changed",
    ) | dict.fromkeys(
        source.fetch(*paired_evaluators(benchmark.name))["evaluator"],
        "it depends on the answers of all systems",
    )
    share = share_of_level(source, benchmark.name, version, rows.select(address).n_unique())
    results: list[dict[str, Any]] = []
    changed = [pl.DataFrame(schema=QUESTIONS_SCHEMA)]
    for (evaluator,), own in rows.partition_by(
        "evaluator", as_dict=True, maintain_order=True
    ).items():
        reason = _why_not(own) or because.get(evaluator)
        if reason is not None:
            results += [_not_comparable(row, reason) for row in own.iter_rows(named=True)]
            continue
        query = scores_then_and_now(benchmark.name, version, str(evaluator), own["signature"][0])
        scores = source.fetch(*query)
        for metric in own.partition_by("metric", maintain_order=True):
            compared, questions = _compare_metric(
                metric.rows(named=True), scores, index, unchanged, share
            )
            results += compared
            changed.append(questions)
    found = pl.DataFrame(results, schema=RESULT_SCHEMA)
    questions = pl.concat(changed, how="diagonal")
    if systems:
        is_named = pl.col("system").is_in(list(systems))
        found, questions = found.filter(is_named), questions.filter(is_named)
    return PublicationChanges(
        found,
        _add_answers(source, benchmark.name, version, questions),
        [
            *notes_on_inputs(source, benchmark.name, version, systems),
            *notes_on_metrics(source, benchmark.name, version, metrics),
        ],
    )


def _find_version(source: Source, benchmark: str, publication: Publication) -> datetime:
    """Return the leaderboard of a benchmark in a publication."""
    found = source.fetch(*version_of(benchmark, publication.published_at))
    if found.is_empty():
        raise NotKept(f"{benchmark!r} was not published yet in {publication}")
    version: datetime = found.item()
    return version


def _require_kept(
    source: Source, benchmark: str, version: datetime, publication: Publication
) -> None:
    """Check that the questions, answers and scores of a leaderboard are complete."""
    data = source.fetch(
        "SELECT count(*) FROM publication_data "
        "WHERE benchmark = $benchmark AND published_at = $version",
        {"benchmark": benchmark, "version": version},
    )
    if not data.item():
        raise NotKept(
            f"the scores of {benchmark!r} in {publication} are not kept: an earlier version of "
            "Scoreline published it"
        )
    missing = source.fetch(*missing_rows(benchmark, version))
    if missing.is_empty():
        return
    if not missing["kept"].sum():
        raise NotKept(
            f"the scores of {benchmark!r} in {publication} are not kept: `history` in "
            "scoreline.yaml says of how many publications, and up to which size; publications "
            "with a tag keep theirs"
        )
    row = missing.row(0, named=True)
    named = " ".join(row[name] for name in ("kind", "system", "evaluator") if row[name])
    raise NotKept(
        f"what is kept of {benchmark!r} in {publication} is damaged: {row['kept']} of "
        f"{row['rows']} rows of {named} are there"
    )


def _why_not(rows: pl.DataFrame) -> str | None:
    """Return why the scores of an evaluator that has changed are not comparable with then."""
    before, now = rows["signature_before"][0], rows["signature"][0]
    if before != now:
        same = [each for each in before.split("|") if not each.startswith("judge:")]
        is_judge = same == [each for each in now.split("|") if not each.startswith("judge:")]
        return f"the {'judge' if is_judge else 'evaluator'} has changed"
    return None


def _not_comparable(row: Mapping[str, Any], reason: str) -> dict[str, Any]:
    shown = {name: row[name] for name in RESULT_SCHEMA if name in row}
    return {**shown, "verdict": NOT_COMPARABLE, "reason": reason}


def _compare_metric(
    rows: Sequence[Mapping[str, Any]],
    scores: pl.DataFrame,
    index: QuestionIndex,
    unchanged: Collection[str],
    share: int,
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Compare all systems by one metric.

    Args:
        rows: The row of each system, as `results_then_and_now` selects them.
        scores: The scores of the evaluator, as `scores_then_and_now` selects them.
        index: The clusters of the questions.
        unchanged: The systems with the same predictions as then: there is nothing to test, so they
            do not count in the adjustment of the others' p-values.
        share: The result of `share_of_level`.

    Returns:
        The results, and the questions whose scores have changed.
    """
    nothing = pl.DataFrame(schema=QUESTIONS_SCHEMA)
    if rows[0]["place"] is None:
        reason = "it has no score for each question"
        return [_not_comparable(row, reason) for row in rows], nothing
    own = scores.select(
        "system",
        "question",
        "question_id",
        *(pl.col(name).list.get(rows[0]["place"]) for name in ("before", "now")),
    )
    questions = np.unique(own["question"].to_numpy())
    groups = index.groups(questions)
    present = set(own["system"])
    numbers: dict[str, dict[str, Any]] = {}
    for is_same in (False, True):
        family = [name for name in sorted(present) if (name in unchanged) == is_same]
        values = np.full((len(questions), 2 * len(family)), np.nan)
        for at, system in enumerate(family):
            part = own.filter(pl.col("system") == system)
            places = np.searchsorted(questions, part["question"].to_numpy())
            values[places, 2 * at] = part["now"].to_numpy()
            values[places, 2 * at + 1] = part["before"].to_numpy()
        if family:
            compared = _compare_values(rows[0], values, groups, share).rows(named=True)
            numbers |= dict(zip(family, compared, strict=True))
    results = [
        {name: row[name] for name in RESULT_SCHEMA if name in row} | numbers[row["system"]]
        if row["system"] in numbers
        else _not_comparable(row, "no question is the same as then")
        for row in rows
    ]
    return results, _changed_questions(rows[0], own)


def _compare_values(
    row: Mapping[str, Any], values: Floats, groups: Groups, share: int
) -> pl.DataFrame:
    """Compare pairs of columns, now and then, of each system."""
    ends = [row["worst_value"], row["best_value"]]
    low, high = ends if row["best"] == "high" else ends[::-1]
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    systems = values.shape[1] // 2
    pass_fail = np.array([is_pass_fail(column) for column in values.T]) & (bounds == (0.0, 1.0))
    found = compare(
        values,
        groups,
        np.arange(2 * systems).reshape(systems, 2),
        best=row["best"],
        pass_fail=pass_fail,
        bounds=bounds,
    )
    p_page = np.minimum(1.0, found.p_adjusted * share)
    # Where not even the clearest outcome would be significant, the questions decide nothing.
    unshown = np.where(found.least_p * share * systems < LEVEL, TIED, NOT_ENOUGH)
    verdicts = [
        verdict if verdict not in (BETTER, WORSE, TIED) or p < LEVEL else instead
        for verdict, p, instead in zip(
            found.verdict, p_page.tolist(), unshown.tolist(), strict=True
        )
    ]
    columns: dict[str, Any] = {
        "n_pairs": found.n_pairs,
        "n_clusters": found.clusters,
        "difference": found.difference,
        "ci_low": found.low,
        "ci_high": found.high,
        "p_value": found.p_value,
        "p_adjusted": found.p_adjusted,
        "p_page": p_page,
        "verdict": verdicts,
        # Without a tested outcome (the share of the level is too small), null.
        "detectable_difference": detectable_difference(
            found.std_error,
            found.clusters,
            found.degrees,
            found.unseen,
            tests=share * systems,
            least=found.least_p,
            pass_fail=bool(pass_fail.all()) and groups.alone,
        ),
    }
    return pl.DataFrame(
        [
            pl.Series(name, each, RESULT_SCHEMA[name], nan_to_null=name != "verdict")
            for name, each in columns.items()
        ]
    )


def _changed_questions(row: Mapping[str, Any], own: pl.DataFrame) -> pl.DataFrame:
    """Return the questions of a metric whose scores have changed."""
    before, now = pl.col("before"), pl.col("now")
    if row["threshold"] is None:
        extremes = [row["best_value"], row["worst_value"]]
        flipped = before.is_in(extremes) & now.is_in(extremes)
        if None in extremes:
            flipped = pl.lit(value=False)
    elif row["best"] == "high":
        flipped = (before >= row["threshold"]) != (now >= row["threshold"])
    else:
        flipped = (before <= row["threshold"]) != (now <= row["threshold"])
    return (
        own.filter(before.ne_missing(now))
        .with_columns(
            flipped=flipped.fill_null(value=False),
            evaluator=pl.lit(row["evaluator"]),
            metric=pl.lit(row["metric"]),
        )
        .sort((now - before).abs(), "question_id", descending=[True, False], nulls_last=True)
        .drop("question")
    )


def _add_answers(
    source: Source, benchmark: str, version: datetime, questions: pl.DataFrame
) -> pl.DataFrame:
    """Add the answers of then and now, in the order of the columns of `QUESTIONS_SCHEMA`."""
    answers = [
        source.fetch(
            *answers_then_and_now(benchmark, version, str(system), own["question_id"].to_list())
        ).with_columns(system=pl.lit(system))
        for (system,), own in questions.partition_by("system", as_dict=True).items()
    ]
    schema = {name: QUESTIONS_SCHEMA[name] for name in ("question_id", "answer_before")}
    schema |= {name: QUESTIONS_SCHEMA[name] for name in ("answer_now", "system")}
    known = pl.concat([pl.DataFrame(schema=schema), *answers])
    columns = [name for name in questions.columns if not name.startswith("answer_")]
    return (
        questions.select(columns)
        .join(known, on=["system", "question_id"], how="left", maintain_order="left")
        .select(QUESTIONS_SCHEMA.keys())
    )
