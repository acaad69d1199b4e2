"""Oversights: what a configuration and its files probably do not say as they were meant to.

None of this stands in the way of a run, and all of it would otherwise show only as something that
is not there: an evaluator without a number, a slice without a row, a field that nobody reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.errors import nearest
from orchestration.published import copy
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question
from warehouse.queries.score_matrices import sliced_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assets.project import Benchmark, Project
    from warehouse.formats.records.record import Record
    from warehouse.publish.snapshot import HeldSnapshot

LOOKED_AT = 10_000
"""The rows of a table in which unread fields are looked for."""

TOLD = 3
"""The reasons that are told of an evaluator, the most frequent first."""

FIELDS: Mapping[str, type[Record]] = {"questions": Question, "predictions": Prediction}

SILENT = """
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


def oversights(project: Project, benchmarks: Iterable[str]) -> list[str]:
    """What was probably overlooked in some benchmarks, in sentences that begin with their names.

    Raises:
        NothingPublished: The project has not been run.
    """
    with copy(project).held() as held:
        return [
            f"{name}: {text}"
            for name in benchmarks
            for text in _found(held, project.benchmarks[name])
        ]


def _found(held: HeldSnapshot, benchmark: Benchmark) -> Iterator[str]:
    unread = {table: _unread(held, benchmark, table) for table in FIELDS}
    silent = _silent(held, benchmark.name)
    for reason, names in silent.items():
        yield f"no number from {', '.join(names)}: {reason}"
    for table, model in FIELDS.items():
        known = sorted(model.model_fields.keys() - {"extra"})
        for field in unread[table]:
            hint = nearest(field, known)
            if hint or silent:
                yield f"nothing reads the field {field!r} of the {table}{hint}"
    yield from _absent_tags(held, benchmark, unread["questions"])


def _silent(held: HeldSnapshot, benchmark: str) -> dict[str, list[str]]:
    """The evaluators that have no number for any system, by why they have none."""
    found: dict[str, list[str]] = {}
    for name, reason, _ in held.fetch(SILENT, {"benchmark": benchmark}).iter_rows():
        found.setdefault(name, []).append(str(reason))
    groups: dict[str, list[str]] = {}
    for name, reasons in found.items():
        more = f"; and {len(reasons) - TOLD} other reasons" if len(reasons) > TOLD else ""
        groups.setdefault("; ".join(reasons[:TOLD]) + more, []).append(name)
    return groups


def _unread(held: HeldSnapshot, benchmark: Benchmark, table: str) -> list[str]:
    """The fields of the canonical input that no column is for; other formats have more of them."""
    if benchmark.format != "canonical":
        return []
    found = held.fetch(
        f"SELECT DISTINCT unnest(json_keys(extra)) AS field FROM (SELECT extra FROM {table} "  # noqa: S608 - a table of ours
        f"WHERE benchmark = $benchmark AND extra IS NOT NULL LIMIT {LOOKED_AT}) ORDER BY field",
        {"benchmark": benchmark.name},
    )
    return [str(name) for name in found["field"]]


def _absent_tags(held: HeldSnapshot, benchmark: Benchmark, unread: list[str]) -> Iterator[str]:
    """The tags that slices and clusters are made by, although no question has them."""
    wanted = [("slices", name) for name in benchmark.slices]
    wanted += [("cluster", benchmark.cluster)] if benchmark.cluster else []
    for key, name in wanted:
        query = sliced_questions(benchmark.name, [name])
        if not held.fetch(f"{query.sql} LIMIT 1", query.parameters).is_empty():
            continue
        tags = held.fetch(
            "SELECT DISTINCT unnest(map_keys(tags)) AS tag FROM questions "
            "WHERE benchmark = $benchmark ORDER BY tag",
            {"benchmark": benchmark.name},
        )
        hint = nearest(name, [str(tag) for tag in tags["tag"]])
        if name in unread:
            hint = f"; the field {name!r} stands beside `tags`, not in it"
        yield f"{key}: no question has the tag or field {name!r}{hint}"
