"""Configuration lint: probable mistakes in a configuration and its files.

None of them stops a run. Without a message you would only notice that something is missing: the
scores of an evaluator, the rows of a slice, a field that no evaluator reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.errors import did_you_mean
from orchestration.published import open_copy
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question
from warehouse.queries.score_matrices import sliced_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assets.project import Benchmark, Project
    from warehouse.formats.records.record import Record
    from warehouse.publish.snapshot import OpenSnapshot

MAX_ROWS = 10_000
"""How many rows of a table are searched for unused fields."""

MAX_REASONS = 3
"""How many reasons are listed for an evaluator, the most frequent first."""

FIELDS: Mapping[str, type[Record]] = {"questions": Question, "predictions": Prediction}

REASONS_WITHOUT_SCORES = """
SELECT s.evaluator, s.reason, count(*) AS n
FROM scores AS s
JOIN (
    SELECT evaluator, metric, any_value(signature) AS signature
    FROM leaderboard
    WHERE benchmark = $benchmark AND slice = 'all' AND is_primary = 1
    GROUP BY evaluator, metric
    HAVING sum(n_scored) = 0
) USING (evaluator, metric, signature)
WHERE s.benchmark = $benchmark
GROUP BY s.evaluator, s.reason
ORDER BY s.evaluator, n DESC, s.reason
"""


def lint_config(project: Project, benchmarks: Iterable[str]) -> list[str]:
    """Return probable mistakes in the benchmarks, as sentences that begin with their names.

    Raises:
        NotPublished: Nothing is published yet.
    """
    with open_copy(project).open() as held:
        return [
            f"{name}: {message}"
            for name in benchmarks
            for message in _lint_benchmark(held, project.benchmarks[name])
        ]


def _lint_benchmark(held: OpenSnapshot, benchmark: Benchmark) -> Iterator[str]:
    unused = {table: _unused_fields(held, benchmark, table) for table in FIELDS}
    without_scores = _evaluators_without_scores(held, benchmark.name)
    for reasons, names in without_scores.items():
        yield f"no scores from {', '.join(names)}: {reasons}"
    for table, model in FIELDS.items():
        known = sorted(model.model_fields.keys() - {"extra"})
        for field in unused[table]:
            hint = did_you_mean(field, known)
            if hint or without_scores:
                yield f"the field {field!r} of the {table} is not used{hint}"
    yield from _missing_tags(held, benchmark, unused["questions"])


def _evaluators_without_scores(held: OpenSnapshot, benchmark: str) -> dict[str, list[str]]:
    """Return the evaluators without a score for any system, by the reasons."""
    reasons: dict[str, list[str]] = {}
    rows = held.fetch(REASONS_WITHOUT_SCORES, {"benchmark": benchmark})
    for name, reason, _ in rows.iter_rows():
        reasons.setdefault(name, []).append(str(reason))
    groups: dict[str, list[str]] = {}
    for name, listed in reasons.items():
        count = len(listed) - MAX_REASONS
        more = f"; and {count} other reasons" if count > 0 else ""
        groups.setdefault("; ".join(listed[:MAX_REASONS]) + more, []).append(name)
    return groups


def _unused_fields(held: OpenSnapshot, benchmark: Benchmark, table: str) -> list[str]:
    """Return the input fields without a column; only canonical files are expected to have none."""
    if benchmark.format != "canonical":
        return []
    rows = held.fetch(
        f"SELECT DISTINCT unnest(json_keys(extra)) AS field FROM (SELECT extra FROM {table} "  # noqa: S608 - not user input
        f"WHERE benchmark = $benchmark AND extra IS NOT NULL LIMIT {MAX_ROWS}) ORDER BY field",
        {"benchmark": benchmark.name},
    )
    return [str(name) for name in rows["field"]]


def _missing_tags(
    held: OpenSnapshot, benchmark: Benchmark, unused_fields: list[str]
) -> Iterator[str]:
    """Name the tags in `slices` and `cluster` that no question has."""
    wanted = [("slices", name) for name in benchmark.slices]
    wanted += [("cluster", benchmark.cluster)] if benchmark.cluster else []
    for key, name in wanted:
        query = sliced_questions([benchmark.name], [name])
        if not held.fetch(f"{query.sql} LIMIT 1", query.parameters).is_empty():
            continue
        tags = held.fetch(
            "SELECT DISTINCT unnest(map_keys(tags)) AS tag FROM questions "
            "WHERE benchmark = $benchmark ORDER BY tag",
            {"benchmark": benchmark.name},
        )
        hint = did_you_mean(name, [str(tag) for tag in tags["tag"]])
        if name in unused_fields:
            hint = f"; move the field {name!r} into `tags`"
        yield f"{key}: no question has the tag or field {name!r}{hint}"
