"""Assertions for tests of your own systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from scoreline.errors import ScorelineError

if TYPE_CHECKING:
    from scoreline.results import Results


def assert_metric(
    results: Results,
    metric: str,
    *,
    min: float | None = None,  # noqa: A002 - the names of the configuration
    max: float | None = None,  # noqa: A002
    system: str | None = None,
    benchmark: str | None = None,
) -> None:
    """Check that the mean of a metric over all questions reaches a number.

    Args:
        results: The results.
        metric: The metric, such as `citation.f1`.
        min: The mean must be at least this number.
        max: The mean must be at most this number.
        system: The system; all of them unless given.
        benchmark: The benchmark; may be left out where there is one.

    Raises:
        AssertionError: The mean of a system does not reach it, or has no value; the message names
            each system with its mean and interval.
        ScorelineError: There is no such system or metric, or neither `min` nor `max` is given.
    """
    limits = [pair for pair in ((min, None), (None, max)) if pair != (None, None)]
    if not limits:
        raise ScorelineError("expected `min`, `max` or both")
    rows = results.leaderboard.filter(pl.col("slice") == "all")
    systems = rows["system"].unique().sort().to_list() if system is None else [system]
    found = [
        results.gate(name, metric=metric, benchmark=benchmark, min=least, max=most)
        for name in systems
        for least, most in limits
    ]
    failed = [each.message for each in found if not each.passed]
    if failed:
        raise AssertionError("\n".join(failed))
