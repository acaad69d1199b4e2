"""Panels: the sections of a benchmark's page, and the data of the benchmark that they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from assets.charts import sort_order
from assets.publishing.report import panels
from warehouse.queries import report as report_queries
from warehouse.queries.benchmarks import fill_in
from warehouse.queries.publications import LAST_CHANGES
from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from assets.charts.style import Spec
    from assets.publishing.report.part import ReportPart

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
WHERE l.benchmark IN ({benchmarks})
ORDER BY l.slice <> 'all', l.slice, l.position, l.rank NULLS LAST, l.system
"""

_TOTALS = """
SELECT benchmark, coalesce(questions, 0) AS questions, coalesce(failed, 0) AS failed,
    coalesce(problems, 0) AS problems, coalesce(high_problems, 0) AS high_problems,
    coalesce(rejects, 0) AS rejects
FROM (
    SELECT benchmark, count(*) AS questions
    FROM questions
    WHERE benchmark IN ({benchmarks})
    GROUP BY benchmark
)
FULL JOIN (
    SELECT benchmark, count(*) AS failed
    FROM predictions
    WHERE benchmark IN ({benchmarks}) AND error IS NOT NULL
    GROUP BY benchmark
) USING (benchmark)
FULL JOIN (
    SELECT benchmark, count(*) AS problems, count(*) FILTER (severity = 'high') AS high_problems
    FROM v_problems
    WHERE benchmark IN ({benchmarks})
    GROUP BY benchmark
) USING (benchmark)
FULL JOIN (
    SELECT benchmark, count(*) AS rejects
    FROM rejects
    WHERE benchmark IN ({benchmarks})
    GROUP BY benchmark
) USING (benchmark)
"""


_HIGH_PROBLEMS = """
SELECT *
FROM v_problems
WHERE benchmark IN ({benchmarks}) AND severity = 'high'
ORDER BY list_contains(kinds, 'gate') DESC, system, evaluator
"""

_MISSING = """
SELECT benchmark, evaluator, reason, count(*) AS n
FROM scores
WHERE benchmark IN ({benchmarks}) AND value IS NULL
GROUP BY ALL
ORDER BY benchmark, n DESC, evaluator, reason
"""

_UNVALIDATED = """
SELECT *
FROM problems
WHERE benchmark IN ({benchmarks}) AND kind = 'uncalibrated_judge'
"""

_GATES = """
SELECT *
FROM gates
WHERE benchmark IN ({benchmarks})
ORDER BY passed, system, evaluator, metric, kind, baseline
"""


@dataclass(frozen=True)
class BenchmarkData:
    """One benchmark of a published copy. Each property is read once, when a panel needs it.

    Attributes:
        part: The benchmarks that are read together.
        benchmark: The benchmark.
        digest: The digest of everything that its page shows.
    """

    part: ReportPart
    benchmark: str
    digest: str

    @property
    def folder(self) -> str:
        """The name of the folder of its page."""
        return folder_name(self.benchmark, self.digest)

    def fetch(self, sql: str) -> pl.DataFrame:
        """Return the benchmark's rows of a statement with `{benchmarks}`."""
        return self.fetch_query(Query(fill_in(sql, self.part.benchmarks), {}))

    def fetch_query(self, query: Query) -> pl.DataFrame:
        """Return the benchmark's rows of a query for all benchmarks of the part."""
        return self.part.fetch(self.benchmark, query)

    def fetch_by_question(self, query: Query) -> pl.DataFrame:
        """Return the benchmark's rows of a query, by `question` and, if they have one, `system`.

        `question` is the position of the question in `questions`, in place of `question_id`.
        """
        return self.part.fetch(self.benchmark, query, self._number_questions)

    def _number_questions(self, found: pl.DataFrame) -> pl.DataFrame:
        keys = ["question", *(name for name in ("system",) if name in found.columns)]
        return (
            found.join(self._numbered, on=["benchmark", "question_id"], maintain_order="left")
            .drop("question_id")
            .sort(*keys, maintain_order=True)
        )

    @property
    def _numbered(self) -> pl.DataFrame:
        """The positions of the questions of the whole part: benchmark, question_id, question."""
        if self.part.is_shared:
            return self.part.fetch_all(self._questions_query, _number_rows)
        return _number_rows(self.questions.with_columns(benchmark=pl.lit(self.benchmark)))

    @cached_property
    def totals(self) -> dict[str, int]:
        """Counts of questions, failed answers, problems and rejected rows."""
        return self.fetch(_TOTALS).row(0, named=True)

    @cached_property
    def gates(self) -> pl.DataFrame:
        """The rows of the table `gates`, failed ones first."""
        return self.fetch(_GATES)

    @cached_property
    def high_problems(self) -> pl.DataFrame:
        """The rows of the view `v_problems` with high severity, failed gates first."""
        return self.fetch(_HIGH_PROBLEMS)

    @cached_property
    def without_scores(self) -> str | None:
        """That no metric has a value, and the most frequent reason; None if one has."""
        if self.shown_metrics:
            return None
        reasons = self.fetch(_MISSING).head(1).iter_rows(named=True)
        first = ["{evaluator}: {reason}".format(**row) for row in reasons]
        return ": ".join(["No metric has a value", *first])

    @property
    def unvalidated_judge(self) -> str | None:
        """What the judge of the headline metric lacks to be calibrated; None without a lack."""
        found = self.fetch(_UNVALIDATED).rows_by_key(("evaluator", "metric"), named=True)
        rows = found.get(self.shown_metrics[0]) if self.shown_metrics else None
        return rows[0]["message"] if rows else None

    @cached_property
    def last_changes(self) -> pl.DataFrame:
        """How much means differ from those of the publication before; see `LAST_CHANGES`."""
        return self.fetch(LAST_CHANGES)

    @cached_property
    def board(self) -> pl.DataFrame:
        """The rows of the table `leaderboard`, with summary, family, level and scale."""
        return self.fetch(_BOARD)

    @property
    def published_at(self) -> datetime:
        """When the leaderboard was published."""
        return cast("datetime", self.board["published_at"].max())

    @cached_property
    def overall(self) -> list[dict[str, Any]]:
        """The rows of the leaderboard over all questions."""
        return self.board.filter(self.board["slice"] == ALL).to_dicts()

    @cached_property
    def rows_of_slice(self) -> dict[str, pl.DataFrame]:
        """The rows of the leaderboard by slice, all questions first."""
        parts = self.board.partition_by("slice", as_dict=True, maintain_order=True)
        return {str(name): rows for (name,), rows in parts.items()}

    @property
    def slices(self) -> list[str]:
        """The slices of the leaderboard, all questions first."""
        return list(self.rows_of_slice)

    @cached_property
    def systems(self) -> list[str]:
        """The systems by name; their index identifies them in data files."""
        return sorted(self.board["system"].unique().to_list())

    @cached_property
    def ranked_systems(self) -> list[str]:
        """The systems by their rank in the headline metric."""
        return sort_order.systems_best_first(self.overall)

    @cached_property
    def shown_metrics(self) -> list[tuple[str, str]]:
        """The headline metric and the primary ones that have a value, as (evaluator, metric)."""
        return sort_order.shown_metrics(self.overall)

    def metric_rows(self, evaluator: str, metric: str) -> list[dict[str, Any]]:
        """Return the leaderboard of a metric over all questions, without missing means."""
        own = (row for row in self.overall if row["mean"] is not None)
        return [row for row in own if (row["evaluator"], row["metric"]) == (evaluator, metric)]

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the leaderboard, as the scripts of the page read them.

        Without any value, all count as measured, so that answers and reasons can be read.
        """
        first: dict[tuple[str, str], dict[str, Any]] = {}
        for row in self.overall:
            first.setdefault((row["evaluator"], row["metric"]), row)
        measured = {
            (row["evaluator"], row["metric"]) for row in self.overall if row["mean"] is not None
        }
        return [
            {
                **{name: row[name] for name in ("best", "threshold", "level")},
                "measured": not measured or name in measured,
                "e": row["evaluator"],
                "m": row["metric"],
                "low": row["scale_low"],
                "high": row["scale_high"],
                "primary": row["is_primary"] == 1,
                "headline": row["is_headline"] == 1,
                "summary": row["summary"] or "",
            }
            for name, row in first.items()
        ]

    @cached_property
    def metric_index(self) -> dict[tuple[str, str], int]:
        """The position of each metric in `metrics`, by (evaluator, metric)."""
        return {(metric["e"], metric["m"]): at for at, metric in enumerate(self.metrics)}

    @cached_property
    def evaluators(self) -> dict[str, dict[str, Any]]:
        """The rows of `current_signatures` by evaluator, in the order of the metrics."""
        found = self.fetch_query(report_queries.current_signatures(self.part.benchmarks))
        rows = {row["evaluator"]: row for row in found.iter_rows(named=True)}
        order = sort_order.evaluators_in_order(self.overall)
        others = [name for name in rows if name not in order]
        return {name: rows[name] for name in (*others, *order) if name in rows}

    @cached_property
    def questions(self) -> pl.DataFrame:
        """The questions whose answers the report shows; see `hardest_questions`."""
        return self.fetch_query(self._questions_query)

    @property
    def _questions_query(self) -> Query:
        # Several benchmarks have so few answers together that all are shown.
        systems = 1 if self.part.is_shared else len(self.systems)
        limit = min(MAX_QUESTIONS, max(1, MAX_ANSWERS // max(1, systems)))
        return report_queries.hardest_questions(self.part.benchmarks, limit)

    @cached_property
    def question_numbers(self) -> dict[str, int]:
        """The positions of the questions in `questions`."""
        return {name: at for at, name in enumerate(self.questions["question_id"])}


def _number_rows(questions: pl.DataFrame) -> pl.DataFrame:
    return questions.select(
        "benchmark",
        "question_id",
        question=pl.int_range(pl.len(), dtype=pl.Int64).over("benchmark"),
    )


def folder_name(benchmark: str, digest: str) -> str:
    """Return the name of the folder of a benchmark's page."""
    return f"{benchmark}-{digest}"


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a panel shows.

    Attributes:
        values: The variables of its template.
        charts: Its interactive charts by name; None where there is nothing to draw.
        images: Charts that are only drawn as images, when a reader downloads them.
        page_data: Values for the scripts of the page.
        files: Data that the scripts load on demand, as (name, content).
        card: Values that the first page shows of the benchmark, which outlive the making of the
            page.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    charts: Mapping[str, Spec | None] = field(default_factory=dict)
    images: Mapping[str, Spec | None] = field(default_factory=dict)
    page_data: Mapping[str, Any] = field(default_factory=dict)
    files: Iterable[tuple[str, bytes]] = ()
    card: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A section of a benchmark's page.

    Its module names it: the id of the section, its template `templates/panels/<name>.html.j2` and
    its script `page/panels/<name>.js`. A panel without interaction needs no script.

    Attributes:
        title: Its heading, and its link in the navigation.
        position: Its place in the page; panels are sorted by it.
        build: Returns the content, or None to hide the panel. It receives the `BenchmarkData`
            and the result of each query as an argument of its name.
        queries: SQL statements by name, each with the column `benchmark` and the condition
            `benchmark IN ({benchmarks})`.
    """

    title: str
    position: int
    build: Callable[..., Content | None]
    queries: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its module."""
        return self.build.__module__.rpartition(".")[2]


@cache
def load_panels() -> tuple[Panel, ...]:
    """Return the panels that the modules of `panels/` declare, in their order in the page."""
    modules = [
        import_module(f"{panels.__name__}.{found.name}") for found in iter_modules(panels.__path__)
    ]
    return tuple(sorted((module.PANEL for module in modules), key=lambda panel: panel.position))
