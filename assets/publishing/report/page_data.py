"""What a benchmark's page is made of, read from the published copy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.charts import sort_order
from assets.publishing.report import queries
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from warehouse.publish.snapshot import OpenSnapshot
    from warehouse.queries.samples import Query

ALL = "all"
"""The slice of all questions."""

MOST_QUESTIONS = 10_000
"""Questions whose answers are shown one by one; of more, those that systems did worst on."""

MOST_SAMPLES = 200_000
"""Answers that are shown one by one."""

MOST_ROWS = 20_000
"""Rows of comparisons that stand in a page."""

MOST_PROBLEMS = 500
"""Problems that stand in a page; the rest is in the table."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything about one benchmark that its page shows, apart from single answers.

    Attributes:
        benchmark: The benchmark's name.
        digest: A short text that differs as soon as the page would.
        n_questions: How many questions the benchmark has.
        questions: The questions that are shown one by one: question_id, question, hardness.
        systems: The systems, by name.
        board: The rows of the table `leaderboard`, with summary, family, level and scale.
        evaluators: How each evaluator was configured; see `overviews.current`.
        comparisons: Pairs of systems by primary metrics over all questions.
        system_scores: The rows of the table `system_scores` over all questions.
        problems: What should be looked at, the gravest first.
        insights: What the scores tell as a whole.
        spending: One row a system: what its answers cost and how long they took.
        curves: The steps of phi and delta; see the view `option_confidence_curves`.
        noise: The accuracy by the share of irrelevant passages.
        judging: One row an evaluator and judge model: calls, failures, tokens, cost.
        marks: The digests of what each stage was made from.
        rejects: Rows of input files that could not be used.
    """

    benchmark: str
    digest: str
    n_questions: int
    questions: pl.DataFrame
    systems: list[str]
    board: pl.DataFrame
    evaluators: pl.DataFrame
    comparisons: pl.DataFrame
    system_scores: pl.DataFrame
    problems: pl.DataFrame
    insights: pl.DataFrame
    spending: pl.DataFrame
    curves: pl.DataFrame
    noise: pl.DataFrame
    judging: pl.DataFrame
    marks: pl.DataFrame
    rejects: pl.DataFrame
    totals: dict[str, int] = field(default_factory=dict)

    @property
    def whole(self) -> pl.DataFrame:
        """The leaderboard over all questions."""
        return sort_order.whole(self.board)

    @property
    def primaries(self) -> list[tuple[str, str]]:
        """The primary metrics that some system has a number for, as (evaluator, metric)."""
        return sort_order.primaries(self.board)

    @property
    def order(self) -> list[str]:
        """The systems by their mean rank in the primary metrics; those without any come last."""
        return sort_order.best_first(self.board)


class Reader:
    """Reads about one benchmark.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
    """

    def __init__(self, copy: OpenSnapshot, benchmark: str) -> None:
        self._copy = copy
        self.benchmark = benchmark

    def rows(self, sql: str, **parameters: Any) -> pl.DataFrame:
        """The result of a query that has `$benchmark` in it."""
        return self._copy.fetch(sql, {"benchmark": self.benchmark, **parameters})

    def query(self, query: Query) -> pl.DataFrame:
        """The result of a query of the warehouse."""
        return self._copy.fetch(query.sql, query.parameters)


def benchmarks(copy: OpenSnapshot) -> list[str]:
    """The benchmarks that have been scored, by name."""
    found = copy.fetch("SELECT DISTINCT benchmark FROM leaderboard ORDER BY benchmark")
    return found["benchmark"].to_list()


def digest(copy: OpenSnapshot, benchmark: str) -> str:
    """A short text that differs as soon as anything about a benchmark differs."""
    import hashlib

    query = report_queries.report_fingerprint(benchmark)
    row = copy.fetch(query.sql, query.parameters).row(0)
    return hashlib.blake2b(repr(row).encode(), digest_size=6).hexdigest()


def gather(copy: OpenSnapshot, benchmark: str, digest_: str) -> Facts:
    """Read all that the page of a benchmark shows.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        digest_: What `digest` says.
    """
    reader = Reader(copy, benchmark)
    board = reader.rows(queries.BOARD)
    systems = sorted(board["system"].unique().to_list())
    most = min(MOST_QUESTIONS, max(1, MOST_SAMPLES // max(1, len(systems))))
    totals = reader.rows(queries.TOTALS).row(0, named=True)
    return Facts(
        benchmark=benchmark,
        digest=digest_,
        n_questions=totals["questions"],
        questions=reader.query(report_queries.hardest_questions(benchmark, most)),
        systems=systems,
        board=board,
        evaluators=reader.query(report_queries.current_signatures(benchmark)),
        comparisons=reader.rows(queries.COMPARISONS, most=MOST_ROWS),
        system_scores=reader.rows(queries.SYSTEM_SCORES),
        problems=reader.rows(queries.PROBLEMS, most=MOST_PROBLEMS),
        insights=reader.rows(queries.INSIGHTS),
        spending=reader.rows(queries.SPENDING),
        curves=reader.rows(queries.CURVES),
        noise=reader.rows(queries.NOISE),
        judging=reader.rows(queries.JUDGING),
        marks=reader.rows(queries.MARKS),
        rejects=reader.rows(queries.REJECTS),
        totals=totals,
    )
