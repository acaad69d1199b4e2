"""Ranks lie within their intervals, even if systems have different questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.leaderboard.metric_facts import metric_facts
from assets.leaderboard.ranking import reconcile_ranks
from evaluators import catalog
from tests.assets.leaderboard.test_ranking import rank, row
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop

PLACES = st.none() | st.tuples(st.integers(1, 5), st.integers(1, 5)).map(sorted)
STANDINGS = st.lists(st.tuples(st.none() | st.floats(0, 1), PLACES), min_size=1, max_size=5)


@settings(deadline=None)
@given(STANDINGS)
def test_a_rank_lies_within_its_interval_or_has_none(
    given_: list[tuple[float | None, list[int] | None]],
) -> None:
    facts = metric_facts([catalog.build("citation")]).with_columns(benchmark=pl.lit("b"))
    rows = [row(mean, 9, 9, system=f"s{at}") for at, (mean, _) in enumerate(given_)]
    stood = rank(pl.DataFrame(rows, schema_overrides={"mean": pl.Float64}), facts)
    low, high = ([None if p is None else p[end] for _, p in given_] for end in (0, 1))
    types = {"rank_low": pl.Int32, "rank_high": pl.Int32}
    frame = pl.DataFrame({"rank_low": low, "rank_high": high}, schema=types)
    found = reconcile_ranks(pl.concat([stood, frame], how="horizontal")).to_dicts()
    unknown = sum(mean is not None and sets is None for mean, sets in given_)
    for each, (mean, sets) in zip(found, given_, strict=True):
        known = mean is not None and sets is not None
        assert (each["rank_low"] is not None) == (each["rank_high"] is not None) == known
        if known:
            assert each["rank_low"] <= each["rank"] <= each["rank_high"]
            assert each["rank_high"] >= sets[1] + unknown
            assert each["tied_with_best"] == (each["rank_low"] == 1)
        elif each["rank"] == 1:
            assert each["tied_with_best"] == 1
        else:
            assert each["tied_with_best"] is None


def test_means_that_differ_by_rounding_share_a_rank() -> None:
    facts = metric_facts([catalog.build("citation")]).with_columns(benchmark=pl.lit("b"))
    rows = [row(mean, 3, 3, system=str(mean)) for mean in (0.1 + 0.2, 0.3, 0.2)]
    assert rank(pl.DataFrame(rows), facts)["rank"].to_list() == [1, 1, 3]


@pytest.mark.parametrize("means", [(3.7e-16, -3.7e-16), (0.0, -3.7e-17), (1e6 + 1e-9, 1e6)])
def test_rounding_near_zero_and_of_large_means_decides_no_rank(means: tuple[float, float]) -> None:
    facts = metric_facts([catalog.build("perplexity")]).with_columns(benchmark=pl.lit("b"))
    name = facts["metric"][0]
    key = {"evaluator": "perplexity", "metric": name, "signature": facts["signature"][0]}
    rows = [row(mean, 3, 3, system=str(at)) | key for at, mean in enumerate((*means, means[0] + 1))]
    ranked = rank(pl.DataFrame(rows), facts)
    assert ranked["rank"].to_list() == [1, 1, 3]
    # What is no rounding counts.
    rows[1]["mean"] = means[0] - 1e-3
    assert rank(pl.DataFrame(rows), facts)["rank"].to_list() == [2, 1, 3]


def test_equal_means_are_equal_in_any_order() -> None:
    """Each is within rounding of the next: all share the rank, however they are sorted."""
    facts = metric_facts([catalog.build("citation")]).with_columns(benchmark=pl.lit("b"))
    means = [0.5 + at * 4e-13 for at in range(4)] + [0.2]
    rows = [row(mean, 3, 3, system=str(at)) for at, mean in enumerate(means)]
    for order in (rows, rows[::-1], [rows[at] for at in (2, 4, 0, 3, 1)]):
        found = rank(pl.DataFrame(order), facts)
        assert dict(found.select("system", "rank").iter_rows()) == dict(
            zip("01234", (1, 1, 1, 1, 5), strict=True)
        )


def leaderboard(workshop: Workshop) -> list[dict[str, Any]]:
    return workshop.warehouse.fetch("SELECT * FROM leaderboard").to_dicts()


@pytest.mark.parametrize("narrowed", ["good", pytest.param("poor", marks=takes_minutes)])
def test_new_questions_for_one_system_keep_the_intervals_of_others(
    done: Workshop, narrowed: str
) -> None:
    for at in range(3):
        new = {**done.questions[at], "question_id": f"new{at}"}
        done.questions.append(new)
        answer = {**done.predictions[narrowed][at], "question_id": f"new{at}"}
        done.predictions[narrowed].append(answer)
    done.run(systems=[narrowed])
    rows = leaderboard(done)
    assert {each["n"] for each in rows} == {6, 9}
    for each in rows:
        assert each["n_clusters"] <= each["n"]
        if each["rank"] is not None:
            assert each["rank_low"] <= each["rank"] <= each["rank_high"]
            assert each["ci_low"] <= each["mean"] <= each["ci_high"]
    whole = [each for each in rows if each["evaluator"] == "classification"]
    assert {each["n_clusters"] for each in whole if each["metric"] == "f1"} == {6, 9}
    pairs = done.warehouse.fetch("SELECT DISTINCT n_pairs FROM comparisons")
    assert pairs["n_pairs"].max() == 6
