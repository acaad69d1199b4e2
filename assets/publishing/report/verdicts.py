"""The first lines of a page: which system is best by each primary metric, or why none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.leaderboard.winner import describe_winner
from assets.publishing.report.formatting import isolate

if TYPE_CHECKING:
    from assets.publishing.report.panel import BenchmarkData

MAX_VERDICTS = 8
"""The metrics with a verdict above a page; the leaderboard has all of them."""


def describe_verdicts(data: BenchmarkData, limit: int = MAX_VERDICTS) -> list[str]:
    """Return a sentence for each primary metric of a benchmark, the headline metric first."""
    verdicts = [
        describe_winner(data.metric_rows(*name).to_dicts(), isolate)
        for name in data.shown_metrics[:limit]
    ]
    return [verdict for verdict in verdicts if verdict is not None]
