"""Intervals of a system depend on its own scores only, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.benchmark_scores import load_score_matrices
from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.score_matrix import QuestionIndex
from assets.leaderboard.slice_statistics import SliceStatistics
from assets.project import Benchmark
from evaluators import catalog
from evaluators.statistics.intervals import is_pass_fail
from tests.assets.leaderboard.test_uncertainty import larger
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.assets.conftest import Workshop

__all__ = ["larger"]

COLUMNS = ("std_error", "ci_low", "ci_high", "ci_method", "n_clusters", "effective_clusters")
CITATION = catalog.build("citation", {})
NAMES = [metric.name for metric in CITATION.sample_metrics]


class Grades:
    """A warehouse that has only scores."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """Serve these rows."""
        self.rows = rows

    def fetch(self, _sql: str, _parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Return the rows."""
        return self.rows


def grades(system: str, questions: range, seed: int) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    keys = np.random.default_rng(0).integers(0, 2**63, size=1000).astype(np.uint64)
    return pl.DataFrame(
        {
            "benchmark": ["trial"] * len(questions),
            "system": [system] * len(questions),
            "question": keys[list(questions)],
            "values": generator.random((len(questions), len(NAMES))).round(3).tolist(),
            "failed": pl.Series([None] * len(questions), dtype=pl.List(pl.Boolean)),
        },
        schema_overrides={"question": pl.UInt64},
    )


def uncertainty_of(rows: pl.DataFrame, system: str, *, clustered: bool) -> list[tuple[Any, ...]]:
    benchmark = Benchmark(
        name="trial", questions=None, predictions=None, documents=None, evaluators=(CITATION,)
    )
    matrices = load_score_matrices(Grades(rows), benchmark, CITATION)
    questions = QuestionIndex(matrices.questions, matrices.questions // np.uint64(2**57))
    found = []
    for metric in CITATION.sample_metrics:
        values = matrices.values[metric.name]
        slice_ = MetricSlice(
            benchmark="trial",
            name="all",
            evaluator="citation",
            metric=metric,
            systems=matrices.systems,
        )
        part = SliceStatistics(
            slices=[slice_],
            values=values,
            groups=questions.groups(matrices.questions)
            if clustered
            else QuestionIndex.groups(
                QuestionIndex(questions.keys[:0], questions.keys[:0]), matrices.questions
            ),
            pass_fail=np.array([is_pass_fail(column) for column in values.T]),
        )
        frame = part.uncertainty("skew_adjusted_t").filter(system=system)
        found += frame.select(COLUMNS).rows()
    return found


@pytest.mark.parametrize("clustered", [False, True])
def test_neither_order_nor_other_systems_change_an_interval(clustered: bool) -> None:
    one = grades("one", range(200), seed=1)
    alone = uncertainty_of(one, "one", clustered=clustered)
    shuffled = one.sample(fraction=1, shuffle=True, seed=2)
    assert uncertainty_of(shuffled, "one", clustered=clustered) == alone
    others = [grades("other", range(100, 400), seed=3), grades("third", range(200), seed=4)]
    for more in (others[:1], others[1:], others):
        rows = pl.concat([shuffled, *more])
        assert uncertainty_of(rows, "one", clustered=clustered) == alone


def test_another_system_does_not_change_the_method() -> None:
    passes = grades("one", range(60), seed=1).with_columns(
        values=pl.col("values").list.eval(pl.element().round())
    )
    alone = uncertainty_of(passes, "one", clustered=False)
    assert {row[3] for row in alone} == {"wilson"}
    rows = pl.concat([passes, grades("fractional", range(60), seed=2)])
    assert uncertainty_of(rows, "one", clustered=False) == alone


@takes_minutes
def test_a_run_with_another_system_leaves_the_rows_of_the_first(larger: Workshop) -> None:
    larger.cluster = "doc_id"
    larger.evaluators = {"classification": {}, "citation": {}}
    larger.slices = ()
    every = larger.predictions
    larger.predictions = {"fair": every["fair"]}
    larger.run()
    query = f"SELECT evaluator, metric, {', '.join(COLUMNS)} FROM leaderboard WHERE system = 'fair'"
    alone = larger.warehouse.fetch(query + " ORDER BY ALL").rows()
    assert ("citation", "micro_f1") in {row[:2] for row in alone}
    larger.questions.reverse()
    larger.predictions = {"able": every["able"][::-1], "fair": every["fair"][::-1]}
    larger.run()
    assert larger.warehouse.fetch(query + " ORDER BY ALL").rows() == alone
