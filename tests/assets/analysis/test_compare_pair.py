"""Pairs that the table does not have are computed, with the numbers of the full table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from assets.analysis.compare_pair import compare_pair
from assets.leaderboard import uncertainty
from assets.leaderboard.refresh import compute_leaderboards
from assets.leaderboard.slice_statistics import SliceStatistics
from evaluators.statistics import comparisons
from evaluators.statistics.arrays import LEVEL
from tests.assets.leaderboard.test_uncertainty import done
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop

__all__ = ["done"]

PRECISION = 1e-6
"""Probabilities are integrated for several pairs at once, to six digits."""

KEY = ["slice", "evaluator", "metric", "system_a", "system_b"]


@takes_minutes
# With 0, small families are compared like those of more than 500 pairs.
@pytest.mark.parametrize("large", [500, 0])
def test_a_pair_that_is_not_stored_has_the_numbers_of_the_full_table(
    done: Workshop, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    benchmark = done.project.benchmarks["trial"]
    for module in (comparisons, uncertainty):
        monkeypatch.setattr(module, "LARGE", large)
    stored = compute_leaderboards(done.warehouse, [benchmark]).comparisons
    with monkeypatch.context() as patched:
        every_pair = property(lambda each: np.ones(len(each._pairs), dtype=bool))
        patched.setattr(SliceStatistics, "is_stored", every_pair)
        every = compute_leaderboards(done.warehouse, [benchmark]).comparisons
    left_out = {"benchmark", "p_interaction", "p_page"}
    if large == 0:
        # Pairs that are certainly not significant and not stored are not computed further.
        left_out.add("p_adjusted")
        both = every.join(stored, on=KEY)
        significant = [both[name] < LEVEL for name in ("p_adjusted", "p_adjusted_right")]
        assert significant[0].equals(significant[1])
        assert significant[0].any()
    columns = [name for name in every.columns if name not in left_out]
    known = every.join(stored, on=KEY, how="semi")
    expected = known.select(columns).sort(KEY)
    assert_frame_equal(stored.select(columns).sort(KEY), expected, rel_tol=PRECISION)
    absent = every.join(stored, on=KEY, how="anti")
    assert set(absent["slice"]) == set(every["slice"])
    on_all = set(absent.filter(slice="all").select("evaluator", "metric").rows())
    assert on_all
    assert not on_all & {("classification", "accuracy"), ("citation", "f1")}
    for (slice_, a, b), group in absent.group_by("slice", "system_a", "system_b"):
        metrics = group.select("evaluator", "metric").rows()
        found = compare_pair(done.warehouse, benchmark, str(slice_), (str(b), str(a)), metrics)
        expected = group.select(columns).sort(KEY)
        assert_frame_equal(found.select(columns).sort(KEY), expected, rel_tol=PRECISION)
