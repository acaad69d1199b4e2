"""Results of an evaluation: its tables as frames, comparisons, gates and a page."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from scoreline.errors import ScorelineError, converted_errors
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.gates.result import GateResult
    from assets.project import Benchmark
    from warehouse.queries.benchmarks import Source

_LEADERBOARD = (
    "SELECT * FROM leaderboard WHERE list_contains($benchmarks, benchmark) "
    "ORDER BY benchmark, slice <> 'all', slice, position, rank NULLS LAST, system"
)


ONE_OF = "expected exactly one of `baseline`, `min` and `max`"


class Results:
    """The results of one or more benchmarks.

    Frames have the columns of the tables of the same names, which the guide to the warehouse
    describes. They are read when they are first used, and then kept.

    Attributes:
        benchmarks: The names of the benchmarks.
        notes: Notes on inputs and probable mistakes: columns that were read as fields, fields that
            are not used, evaluators without scores and why. Empty for results that were opened.
    """

    def __init__(
        self, source: Source, benchmarks: Mapping[str, Benchmark], notes: Sequence[str] = ()
    ) -> None:
        """Use `evaluate`, `run` or `open` instead.

        Args:
            source: The warehouse or its published copy.
            benchmarks: The benchmarks by name.
            notes: Notes on inputs and probable mistakes.
        """
        self._source = source
        self._benchmarks = benchmarks
        self.benchmarks: Sequence[str] = tuple(benchmarks)
        self.notes: Sequence[str] = tuple(notes)

    @cached_property
    def leaderboard(self) -> pl.DataFrame:
        """The leaderboard, best first: a row for each benchmark, slice, system and metric."""
        return self._fetch(_LEADERBOARD)

    @cached_property
    def scores(self) -> pl.DataFrame:
        """The scores: a row for each sample and metric, with the reason where there is no value."""
        return self._table("scores", "benchmark, system, question_id, evaluator, metric")

    @cached_property
    def comparisons(self) -> pl.DataFrame:
        """The comparisons of systems: a row for each pair, slice and metric."""
        return self._table(
            "comparisons", "benchmark, slice <> 'all', slice, evaluator, metric, system_a, system_b"
        )

    @cached_property
    def problems(self) -> pl.DataFrame:
        """The problems to look at, the worst first."""
        return self._table("problems", "ALL")

    @cached_property
    def history(self) -> pl.DataFrame:
        """The results of all publications, the earliest first; empty if nothing is published.

        `comparable` is false where `changed` names what differs from the publication before.
        """
        from warehouse.queries.publications import HISTORY, HISTORY_COLUMNS

        return self._fetch(
            f"SELECT {', '.join(HISTORY_COLUMNS)} FROM ({HISTORY}) "  # noqa: S608
            "WHERE list_contains($benchmarks, benchmark) "
            "ORDER BY benchmark, evaluator, metric, published_at, system"
        )

    def changes(
        self,
        before: str,
        *systems: str,
        metric: str | None = None,
        benchmark: str | None = None,
    ) -> pl.DataFrame:
        """Compare systems with themselves in an earlier publication, question by question.

        Args:
            before: The tag, the run or the date of the publication.
            systems: The systems; all unless given.
            metric: A metric such as `citation.f1`, an evaluator, or `all`; the primary metrics
                unless given.
            benchmark: The benchmark; may be left out where there is one.

        Returns:
            One row for each system and metric: the means `before` and `now`, the columns of
            `comparisons` for now minus then, the `reason` where they are not comparable, and the
            `questions` whose scores changed, with both answers.

        Raises:
            ScorelineError: There is no such publication, system or metric, or the scores of the
                publication are not kept.
        """
        from assets.analysis.compare_publication import compare_publication
        from assets.analysis.publications import find_publication
        from orchestration.cli.comparison import changed_rows, metric_addresses

        name = self._only(benchmark)
        self._require_systems(name, *systems)
        with converted_errors():
            publication = find_publication(self._source, before)
            metrics = metric_addresses(self._source, name, () if metric is None else (metric,))
            chosen = self._benchmarks[name]
            found = compare_publication(self._source, chosen, publication, systems, metrics)
        return changed_rows(found)

    def sql(self, query: str) -> pl.DataFrame:
        """Return the result of a SELECT over the tables and views of the warehouse.

        Raises:
            ScorelineError: The query is not valid.
        """
        with converted_errors():
            return self._source.fetch(query)

    def compare(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        *,
        slice: str = "all",  # noqa: A002 - the name of the column
        benchmark: str | None = None,
    ) -> pl.DataFrame:
        """Compare system `a` with system `b`, question by question.

        Args:
            a: The first system.
            b: The second system.
            metric: A metric such as `citation.f1`, an evaluator, or `all`; the primary metrics
                unless given.
            slice: The slice.
            benchmark: The benchmark; may be left out where there is one.

        Returns:
            The rows of `comparisons` with `a` first, the two means `a` and `b`, and which is
            `best`: `high` or `low` values.

        Raises:
            ScorelineError: There is no such system, metric or slice, or no score in common.
        """
        from orchestration.cli.comparison import compare_systems

        name = self._only(benchmark)
        self._require_systems(name, a, b)
        metrics = () if metric is None else (metric,)
        with converted_errors():
            found = compare_systems(self._source, self._benchmarks[name], a, b, metrics, slice)
        prefix = pl.col("evaluator") + "."
        found = found.with_columns(
            benchmark=pl.lit(name), metric=pl.col("metric").str.strip_prefix(prefix)
        )
        return found.select(*table_named("comparisons").column_names, "a", "b", "best")

    def gate(
        self,
        system: str | None = None,
        baseline: str | None = None,
        metric: str | None = None,
        *,
        tolerance: float = 0.0,
        min: float | None = None,  # noqa: A002 - the name in the configuration
        max: float | None = None,  # noqa: A002
        confident: bool = False,
        benchmark: str | None = None,
    ) -> GateResult:
        """Check that a system is not worse than a baseline, or reaches a number.

        Args:
            system: The system to check; may be left out where there is one.
            baseline: The system that it is compared with.
            metric: The metric, such as `citation.f1`; the one that orders systems unless given.
            tolerance: How much worse than the baseline it may be, on the metric's scale.
            min: Its mean must be at least this number; without a baseline.
            max: Its mean must be at most this number; without a baseline.
            confident: With `min` or `max`: the end of the 95 % interval must reach it, too.
            benchmark: The benchmark; may be left out where there is one.

        Returns:
            The verdict; `passed` says whether it lets the system pass. Nothing is raised if it
            does not.

        Raises:
            ScorelineError: There is no such system or metric, or not exactly one of `baseline`,
                `min` and `max` is given.
        """
        from assets.analysis.select_metrics import select_metrics
        from assets.gates.limit_verdict import evaluate_limit
        from assets.gates.regression import evaluate_gate

        if sum(each is not None for each in (baseline, min, max)) > 1:
            raise ScorelineError(ONE_OF)
        name = self._only(benchmark)
        if system is None:
            system = self._only_system(name)
        self._require_systems(name, *(each for each in (system, baseline) if each is not None))
        chosen = self._benchmarks[name]
        wanted = [metric or self._headline(name)]
        with converted_errors():
            selected = select_metrics(chosen, wanted, with_system_metrics=baseline is None)
            if len(selected) > 1:
                names = ", ".join(f"{evaluator.name}.{each.name}" for evaluator, each in selected)
                raise ScorelineError(f"{metric!r} is the name of several metrics: {names}")
            if baseline is not None:
                return evaluate_gate(self._source, chosen, system, baseline, selected, tolerance)[0]
            check = partial(evaluate_limit, self._source, chosen, system, confident=confident)
            if max is not None:
                return check("max", max, selected)[0]
            if min is not None:
                return check("min", min, selected)[0]
        raise ScorelineError(ONE_OF)

    def to_html(self, path: str | Path) -> Path:
        """Write leaderboards, notes, comparisons and problems to one HTML file; return its path."""
        from scoreline.page import results_page

        target = Path(path)
        page = results_page(self.leaderboard, self.comparisons, self.problems, self.notes)
        target.write_text(page, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """Show the leaderboards and notes in a notebook."""
        from scoreline.page import leaderboard_tables

        return leaderboard_tables(self.leaderboard, self.notes)

    def __str__(self) -> str:
        """Say which system is best, with means, intervals and counts."""
        from scoreline.summary import describe_results

        return describe_results(self.leaderboard, self.notes)

    def __repr__(self) -> str:
        systems = self.leaderboard["system"].n_unique()
        return f"Results({', '.join(self.benchmarks)}; {systems} systems)"

    def _fetch(self, sql: str) -> pl.DataFrame:
        with converted_errors():
            return self._source.fetch(sql, {"benchmarks": list(self.benchmarks)})

    def _table(self, name: str, order: str) -> pl.DataFrame:
        where = "list_contains($benchmarks, benchmark)"
        return self._fetch(f"SELECT * FROM {name} WHERE {where} ORDER BY {order}")  # noqa: S608

    def _only(self, benchmark: str | None) -> str:
        """Return a benchmark that exists; without a name, the only one."""
        if benchmark is None and len(self.benchmarks) != 1:
            raise ScorelineError(f"expected `benchmark`, one of {', '.join(self.benchmarks)}")
        name = self.benchmarks[0] if benchmark is None else benchmark
        _require_known("benchmark", name, self.benchmarks)
        return name

    def _headline(self, benchmark: str) -> str:
        rows = self.leaderboard.filter(pl.col("benchmark") == benchmark, pl.col("is_headline") == 1)
        if rows.is_empty():
            raise ScorelineError(f"{benchmark!r} has no metric with a value: name one")
        return "{evaluator}.{metric}".format(**rows.row(0, named=True))

    def _systems(self, benchmark: str) -> list[str]:
        rows = self.leaderboard.filter(pl.col("benchmark") == benchmark)
        return rows["system"].unique().sort().to_list()

    def _only_system(self, benchmark: str) -> str:
        systems = self._systems(benchmark)
        if len(systems) != 1:
            raise ScorelineError(f"expected `system`, one of {', '.join(systems)}")
        return systems[0]

    def _require_systems(self, benchmark: str, *names: str) -> None:
        known = self._systems(benchmark)
        for name in names:
            _require_known("system", name, known)


def _require_known(what: str, name: Any, known: Sequence[str]) -> None:
    if name not in known:
        from warehouse.errors import suggest_name

        raise ScorelineError(f"there is no {what} {name!r}{suggest_name(str(name), known)}")
