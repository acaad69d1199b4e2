"""Notes on what differs from an earlier publication besides the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.queries.publications import question_changes, systems_then

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from warehouse.queries.benchmarks import Source

_METRICS: Final = """
WITH before AS (
    SELECT DISTINCT evaluator, metric FROM leaderboard_history
    WHERE benchmark = $benchmark AND slice = 'all' AND published_at = $version
),

now AS (
    SELECT evaluator, metric, max(is_primary) AS is_primary, min(position) AS position
    FROM leaderboard WHERE benchmark = $benchmark AND slice = 'all'
    GROUP BY evaluator, metric
)

SELECT
    evaluator,
    metric,
    now.metric IS NOT NULL AS is_new,
    coalesce(is_primary, 1) AS is_primary
FROM now FULL JOIN before USING (evaluator, metric)
WHERE now.metric IS NULL OR before.metric IS NULL
ORDER BY position, evaluator, metric
"""
"""The metrics that only one of two leaderboards has."""


def notes_on_inputs(
    source: Source, benchmark: str, version: datetime, systems: Collection[str]
) -> Iterator[str]:
    """Yield notes on questions, documents and systems that are not those of then."""
    row = source.fetch(*question_changes(benchmark, version)).row(0, named=True)
    changes = {"changed": row["n_changed"], "new": row["n_added"], "gone": row["n_removed"]}
    if any(changes.values()):
        said = ", ".join(f"{count} {what}" for what, count in changes.items() if count)
        yield (
            f"the questions have changed ({said}): differences are over the {row['n_same']} that "
            "stayed the same, means over all"
        )
    documents = source.fetch(
        "SELECT count(DISTINCT digest) FROM publication_data WHERE kind = 'documents' "
        "AND evaluator IS NULL AND benchmark = $benchmark AND published_at IN "
        "($version, (SELECT max(published_at) FROM leaderboard WHERE benchmark = $benchmark))",
        {"benchmark": benchmark, "version": version},
    )
    if documents.item() > 1:
        yield "the documents have changed"
    before = set(source.fetch(*systems_then(benchmark, version))["system"])
    now = set(
        source.fetch(
            "SELECT DISTINCT system FROM leaderboard WHERE benchmark = $benchmark",
            {"benchmark": benchmark},
        )["system"]
    )
    for name in sorted(before ^ now):
        if not systems or name in systems:
            yield f"{name!r} {'is new' if name in now else 'is gone'}"


def notes_on_metrics(
    source: Source, benchmark: str, version: datetime, metrics: Collection[str]
) -> Iterator[str]:
    """Yield a note on the metrics that are new, and on those that are gone."""
    parameters = {"benchmark": benchmark, "version": version}
    found = source.fetch(_METRICS, parameters).iter_rows(named=True)
    names: dict[bool, list[str]] = {True: [], False: []}
    for row in found:
        address = f"{row['evaluator']}.{row['metric']}"
        if address in metrics if metrics and row["is_new"] else row["is_primary"] != 0:
            names[row["is_new"]].append(address)
    if names[True]:
        yield f"no value then, so not compared: {', '.join(names[True])}"
    if names[False]:
        yield f"no value now, so not compared: {', '.join(names[False])}"
