"""Coverage, bounds, thresholds and ranks, worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.leaderboard.common_questions import add_own_means
from assets.leaderboard.metric_facts import metric_facts
from assets.leaderboard.ranking import add_coverage, rank_systems
from assets.project import Benchmark
from evaluators import catalog

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

COUNTS = (
    "n_not_applicable",
    "n_undefined",
    "n_parse_failure",
    "n_judge_error",
    "n_target_error",
)


def row(mean: float | None, n: int, n_scored: int, **changes: Any) -> dict[str, Any]:
    """The mean of citation's F1 on the whole benchmark."""
    return {
        "benchmark": "b",
        "slice": "all",
        "system": "s",
        "evaluator": "citation",
        "metric": "f1",
        "signature": catalog.build("citation").signature,
        "mean": mean,
        "n": n,
        "n_scored": n_scored,
        **dict.fromkeys(COUNTS, 0),
        **changes,
    }


def rank(means: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """The ranks of systems that answered every question."""
    return rank_systems(add_own_means(add_coverage(means, facts)))


def ranked(*rows: dict[str, Any], facts: pl.DataFrame | None = None) -> list[dict[str, Any]]:
    """The result of `rank`, in the order of the rows."""
    known = metric_facts([catalog.build("citation")]) if facts is None else facts
    frame = pl.DataFrame(list(rows), schema_overrides={"mean": pl.Float64})
    return rank(frame, known.with_columns(benchmark=pl.lit("b"))).to_dicts()


def test_bounds_are_the_means_that_lost_scores_allow() -> None:
    (found,) = ranked(row(0.8, 10, 5, n_parse_failure=3, n_judge_error=2))
    assert found["coverage"] == 0.5
    assert found["bound_low"] == pytest.approx(0.4)
    assert found["bound_high"] == pytest.approx(0.9)


def test_bounds_exist_even_if_every_score_is_lost() -> None:
    (found,) = ranked(row(None, 4, 0, n_judge_error=4))
    assert (found["bound_low"], found["bound_high"]) == (0.0, 1.0)
    assert (found["rank"], found["passes"], found["coverage"]) == (None, None, 0.0)


def test_samples_that_do_not_apply_do_not_lower_coverage() -> None:
    (found,) = ranked(row(0.5, 24, 22, n_not_applicable=2))
    assert found["coverage"] == 1.0
    assert found["bound_low"] == found["bound_high"] == 0.5


def test_a_metric_that_applies_to_no_sample() -> None:
    (found,) = ranked(row(None, 3, 0, n_not_applicable=3))
    assert [found[name] for name in ("coverage", "bound_low", "rank", "passes")] == [None] * 4


def test_a_system_metric_has_no_bounds_if_scores_are_lost() -> None:
    whole, lossy = ranked(
        row(0.6, 4, 4, metric="micro_f1"),
        row(0.6, 4, 3, metric="micro_f1", n_judge_error=1, system="t"),
    )
    assert (whole["bound_low"], whole["bound_high"]) == (0.6, 0.6)
    assert (lossy["bound_low"], lossy["bound_high"]) == (None, None)


def test_equal_means_share_a_rank_and_no_mean_has_none() -> None:
    means = {"a": 0.9, "b": 0.7, "c": 0.9, "d": None, "e": 0.1}
    found = ranked(*(row(mean, 5, 5 if mean else 0, system=name) for name, mean in means.items()))
    assert {each["system"]: each["rank"] for each in found} == {
        "a": 1, "b": 3, "c": 1, "d": None, "e": 4,
    }  # fmt: skip


def test_ranks_are_per_slice_and_metric() -> None:
    found = ranked(row(0.2, 5, 5), row(0.9, 5, 5, slice="t=x"), row(0.9, 5, 5, metric="recall"))
    assert [each["rank"] for each in found] == [1, 1, 1]


def test_lower_is_better_reverses_ranks_and_thresholds() -> None:
    facts = metric_facts([catalog.build("citation")]).with_columns(
        best=pl.lit("low"), threshold=pl.lit(0.5)
    )
    found = ranked(row(0.5, 5, 5), row(0.6, 5, 5, system="t"), facts=facts)
    assert [(each["rank"], each["passes"]) for each in found] == [(1, 1), (2, 0)]


def test_other_signatures_are_left_out() -> None:
    assert ranked(row(0.5, 5, 5, signature="citation|version:0")) == []


def test_thresholds_of_the_benchmark_override_those_of_the_metric() -> None:
    citation: Evaluator = catalog.build("citation")
    benchmark = Benchmark(
        name="b",
        questions=None,
        predictions=Path("p"),
        evaluators=(citation,),
        thresholds={"citation.f1": 0.4},
    )
    facts = metric_facts([citation], benchmark)
    f1, recall = ranked(row(0.5, 5, 5), row(0.5, 5, 5, metric="recall"), facts=facts)
    assert (f1["threshold"], f1["passes"]) == (0.4, 1)
    assert (recall["threshold"], recall["passes"]) == (None, None)
    facts = metric_facts([citation], replace(benchmark, default_threshold="source"))
    f1, recall = ranked(row(0.5, 5, 5), row(0.5, 5, 5, metric="recall"), facts=facts)
    assert (f1["threshold"], f1["passes"]) == (0.4, 1)
    assert (recall["threshold"], recall["passes"]) == (0.75, 0)


GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "aggregation.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "case",
    [case for case in GOLDEN["cases"] if case["kind"] == "model_mean"],
    ids=lambda c: c["id"],
)
def test_golden_thresholds(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    scored = [value for value in given["values"] if value is not None]
    facts = metric_facts([catalog.build("citation")]).with_columns(
        best=pl.lit("high" if given["higher_is_better"] else "low"),
        threshold=pl.lit(given["threshold"]),
        bound_low=pl.lit(None, pl.Float64),
    )
    folded = row(expected["mean"], len(given["values"]), len(scored))
    (found,) = ranked(folded, facts=facts)
    problem = None if found["passes"] is None else not found["passes"]
    assert problem == expected["problem"]
    assert found["n"] - found["n_scored"] == expected["n_skipped"]


def test_rounding_leads_no_mean_beyond_its_bounds() -> None:
    facts = metric_facts([catalog.build("citation")]).with_columns(
        bound_high=pl.lit(0.1), best_value=pl.lit(0.1)
    )
    mean = (0.1 + 0.1 + 0.1) / 3
    assert mean > 0.1
    whole, partial = ranked(row(mean, 3, 3), row(0.1, 4, 3, n_judge_error=1), facts=facts)
    assert (whole["mean"], whole["bound_low"], whole["bound_high"]) == (0.1, 0.1, 0.1)
    assert (partial["bound_low"], partial["bound_high"]) == (pytest.approx(0.075), 0.1)
