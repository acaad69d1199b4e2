"""Problems: what somebody should look at, found in the leaderboard and in single scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.judging import is_judged
from evaluators import catalog
from evaluators.statistics.intervals import FEW_CLUSTERS
from warehouse.queries.leaderboard import found_problems

if TYPE_CHECKING:
    from assets.project import Benchmark
    from warehouse.store import Warehouse

LEAKING = "privacy"
"""The family of evaluators that look for what an answer must not give away."""


def look(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Fill the table `problems` for one benchmark; returns the number of rows."""
    names = {evaluator.name: evaluator for evaluator in benchmark.evaluators}
    calibrated = warehouse.fetch(
        "SELECT DISTINCT evaluator FROM calibration "
        "WHERE benchmark = $benchmark AND is_calibrated = 1",
        {"benchmark": benchmark.name},
    )["evaluator"]
    query = found_problems(
        benchmark.name,
        judged=[name for name, evaluator in names.items() if is_judged(evaluator)],
        calibrated=calibrated.to_list(),
        leaking=[name for name in names if catalog.family(name) == LEAKING],
        few=FEW_CLUSTERS,
    )
    found = warehouse.fetch(query.sql, query.parameters)
    warehouse.replace("problems", found, where={"benchmark": benchmark.name})
    return found.height
