"""Two workers on one lake do nearly twice the judged work of one, within one rate for both."""

from __future__ import annotations

import pytest

from benchmarks.scale_out import CATALOG, measure
from tests.support.services import require, takes_longest

pytestmark = takes_longest

SAMPLES = 2_000
LATENCY_S = 1.0
"""At half a second, two workers, the judge and PostgreSQL use both of two cores entirely."""

PER_MINUTE = 600
LIMITED_SAMPLES = 400
BURST_S = 1.0
"""A rate may start at once what it allows in a second."""


@pytest.mark.timeout(1200)
def test_two_workers_are_nearly_twice_as_fast_as_one() -> None:
    require("PostgreSQL", 5432)
    alone, both = (measure(CATALOG, SAMPLES, workers, LATENCY_S) for workers in (1, 2))
    assert (alone.calls, alone.repeated) == (both.calls, both.repeated)
    assert both.repeated == 0
    assert both.rate >= 1.8 * alone.rate


@pytest.mark.timeout(1200)
def test_the_requests_per_minute_hold_for_both_workers_together() -> None:
    require("PostgreSQL", 5432)
    limited = measure(CATALOG, LIMITED_SAMPLES, 2, 0.0, requests_per_minute=PER_MINUTE)
    # More than a minute, so that a whole one can be counted.
    assert limited.calls > PER_MINUTE
    assert limited.most <= PER_MINUTE * (1 + BURST_S / 60)
