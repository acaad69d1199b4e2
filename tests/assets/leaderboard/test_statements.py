"""The level that all statements of a page share, and the marks that follow from it, by hand."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import polars as pl
import pytest

from assets.analysis.statements import count_statements, marked_metrics, problem_thresholds
from assets.leaderboard.marks import add_marks, add_page_p, adjust_threshold_p
from assets.project import Benchmark, Gate
from evaluators import catalog


def benchmark(name: str, *evaluators: str, **keys: Any) -> Benchmark:
    return Benchmark(
        name=name,
        questions=None,
        predictions=None,
        evaluators=tuple(catalog.build(each, {}) for each in evaluators),
        **keys,
    )


def count(*benchmarks: Benchmark, has_history: bool = True) -> dict[str, int]:
    by_name = MappingProxyType({each.name: each for each in benchmarks})
    found = count_statements(by_name, has_history=has_history)
    return {name: each.statements for name, each in found.items()}


def test_all_statements_of_the_first_page_and_of_the_own_page_count() -> None:
    one = benchmark("one", "citation")
    # Which system is best, and what has changed.
    assert count(one) == {"one": 2}
    assert count(one, has_history=False) == {"one": 1}
    # Two primary metrics: the page of the benchmark states both by the second one, too.
    assert count(benchmark("two", "citation", "rouge")) == {"two": 4}
    # 2 + 2 + 1 for thresholds + 2 gates with a baseline, and 2 for the other metric of `b`.
    gates = (
        Gate(system="x", baseline="y"),
        Gate(system="x", baseline="z"),
        Gate(min=0.5, metrics=("citation.f1",)),
    )
    b = benchmark("b", "citation", "rouge", thresholds={"citation.f1": 0.5}, gates=gates)
    assert count(one, b) == {"one": 7, "b": 9}


def test_a_metric_that_ranks_is_marked_like_a_primary_one() -> None:
    assert marked_metrics(benchmark("b", "citation", rank_by="citation.recall")) == [
        *("citation.recall", "citation.f1")
    ]


def test_thresholds_of_primary_metrics_and_those_set_by_name_are_tested() -> None:
    b = benchmark("b", "citation", thresholds={"citation.recall": 0.5}, default_threshold="none")
    assert [metric.name for _, metric in problem_thresholds(b)] == ["recall"]


def pair(a: str, b: str, verdict: str, p: float, slice_: str = "all") -> dict[str, Any]:
    key = {"benchmark": "b", "slice": slice_, "evaluator": "citation", "metric": "f1"}
    return {**key, "system_a": a, "system_b": b, "verdict": verdict, "p_adjusted": p}


@pytest.mark.parametrize(
    ("statements", "p", "marks"),
    [
        (1, 0.03, ["best", "worse", "worse"]),
        # 2 * 0.03 is no longer below 0.05.
        (2, 0.03, ["tied", "tied", "worse"]),
        (2, 0.02, ["best", "worse", "worse"]),
    ],
)
def test_a_system_is_best_if_it_beats_every_other_one_at_the_shared_level(
    statements: int, p: float, marks: list[str]
) -> None:
    rows = pl.DataFrame(
        [
            {"benchmark": "b", "slice": slice_, "evaluator": "citation", "metric": "f1"}
            | {"system": system, "rank": rank}
            for slice_ in ("all", "lang=de")
            for rank, system in enumerate("xyz", 1)
        ]
    )
    pairs = [("x", "y", "better", p), ("x", "z", "better", 0.001), ("y", "z", "tied", 0.4)]
    every = [pair(*each, slice_) for slice_ in ("all", "lang=de") for each in pairs]
    b = benchmark("b", "citation", statements=statements)
    compared = add_page_p(pl.DataFrame(every), [b])
    assert compared["p_page"].to_list()[:3] == pytest.approx(
        [p * statements, 0.001 * statements, min(1.0, 0.4 * statements)]
    )
    # Slices are exploratory.
    assert compared["p_page"].to_list()[3:] == [None, None, None]
    assert add_marks(rows, compared)["mark"].to_list() == [*marks, None, None, None]


def test_a_metric_that_is_not_primary_has_no_marks() -> None:
    recall = {**pair("x", "y", "better", 0.001), "metric": "recall"}
    found = add_page_p(pl.DataFrame([recall]), [benchmark("b", "citation")])
    assert found["p_page"].to_list() == [None]


def test_thresholds_are_corrected_within_their_benchmark() -> None:
    rows = pl.DataFrame(
        {"benchmark": ["b", "b", "b", "c", "c"], "threshold_p": [0.01, 0.02, None, 0.02, 0.5]}
    )
    found = adjust_threshold_p(rows, [benchmark("b", statements=3), benchmark("c", statements=1)])
    # Holm: 2 * 0.01 and 0.02, each for three statements; then 2 * 0.02 and 0.5.
    assert found["threshold_p"].to_list() == pytest.approx([0.06, 0.06, None, 0.04, 0.5])
