"""The data of a benchmark that the panels of its page share, read from the published copy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.charts import sort_order
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from warehouse.publish.snapshot import OpenSnapshot

ALL = "all"
"""The slice of all questions."""

MAX_QUESTIONS = 10_000
"""Questions whose answers the report shows; if there are more, the hardest ones."""

MAX_ANSWERS = 200_000
"""Answers that the report shows."""

_BOARD = """
SELECT l.*, m.summary, m.family, m.level, m.bound_low AS scale_low, m.bound_high AS scale_high
FROM leaderboard AS l
LEFT JOIN metrics AS m USING (evaluator, metric)
WHERE l.benchmark = $benchmark
ORDER BY l.slice <> 'all', l.slice, l.evaluator, l.is_primary DESC, l.metric, l.rank NULLS LAST,
    l.system
"""

_TOTALS = """
SELECT
    (SELECT count(*) FROM questions WHERE benchmark = $benchmark) AS questions,
    (SELECT count(*) FROM predictions WHERE benchmark = $benchmark AND error IS NOT NULL) AS failed,
    (SELECT count(*) FROM problems WHERE benchmark = $benchmark) AS problems,
    (SELECT count(*) FROM problems WHERE benchmark = $benchmark AND severity = 'high')
        AS high_problems,
    (SELECT count(*) FROM rejects WHERE benchmark = $benchmark) AS rejects
"""


@dataclass(frozen=True)
class BenchmarkData:
    """One benchmark of a published copy. Each property is read once, when a panel needs it.

    Attributes:
        copy: The published copy.
        benchmark: The benchmark.
        digest: The digest of everything that its page shows.
    """

    copy: OpenSnapshot
    benchmark: str
    digest: str

    def fetch(self, sql: str) -> pl.DataFrame:
        """Return the result of a statement with the parameter `$benchmark`."""
        return self.copy.fetch(sql, {"benchmark": self.benchmark})

    def fetch_query(self, query: report_queries.Query) -> pl.DataFrame:
        """Return the result of a query of the warehouse."""
        return self.copy.fetch(query.sql, query.parameters)

    @cached_property
    def totals(self) -> dict[str, int]:
        """Counts of questions, failed answers, problems and rejected rows."""
        return self.fetch(_TOTALS).row(0, named=True)

    @cached_property
    def board(self) -> pl.DataFrame:
        """The rows of the table `leaderboard`, with summary, family, level and scale."""
        return self.fetch(_BOARD)

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The leaderboard over all questions."""
        return sort_order.overall_rows(self.board)

    @cached_property
    def slices(self) -> list[str]:
        """The slices of the leaderboard, all questions first."""
        return self.board["slice"].unique(maintain_order=True).to_list()

    @cached_property
    def systems(self) -> list[str]:
        """The systems by name; their index identifies them in data files."""
        return sorted(self.board["system"].unique().to_list())

    @cached_property
    def ranked_systems(self) -> list[str]:
        """The systems by their mean rank in the primary metrics."""
        return sort_order.systems_best_first(self.board)

    @cached_property
    def primary_metrics(self) -> list[tuple[str, str]]:
        """The primary metrics that have a value for some system, as (evaluator, metric)."""
        return sort_order.primary_metrics(self.board)

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the leaderboard, as the scripts of the page read them."""
        first = self.overall.group_by("evaluator", "metric", maintain_order=True).agg(
            pl.col("best", "scale_low", "scale_high", "threshold", "is_primary", "summary").first(),
            pl.col("level").first(),
            measured=pl.col("mean").is_not_null().any(),
        )
        return [
            {
                "e": row["evaluator"],
                "m": row["metric"],
                "best": row["best"],
                "low": row["scale_low"],
                "high": row["scale_high"],
                "threshold": row["threshold"],
                "primary": row["is_primary"] == 1,
                "level": row["level"],
                "summary": row["summary"] or "",
                "measured": row["measured"],
            }
            for row in first.iter_rows(named=True)
        ]

    @cached_property
    def metric_index(self) -> dict[tuple[str, str], int]:
        """The position of each metric in `metrics`, by (evaluator, metric)."""
        return {(metric["e"], metric["m"]): at for at, metric in enumerate(self.metrics)}

    @cached_property
    def evaluators(self) -> pl.DataFrame:
        """The signature of each evaluator and its metrics; see `report_queries`."""
        return self.fetch_query(report_queries.current_signatures(self.benchmark))

    @cached_property
    def questions(self) -> pl.DataFrame:
        """The questions whose answers the report shows: question_id, question, hardness."""
        limit = min(MAX_QUESTIONS, max(1, MAX_ANSWERS // max(1, len(self.systems))))
        return self.fetch_query(report_queries.hardest_questions(self.benchmark, limit))


def list_benchmarks(copy: OpenSnapshot) -> list[str]:
    """Return the benchmarks that have a leaderboard, by name."""
    found = copy.fetch("SELECT DISTINCT benchmark FROM leaderboard ORDER BY benchmark")
    return found["benchmark"].to_list()
