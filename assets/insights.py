"""Insights: what the scores of a benchmark tell as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators import catalog
from warehouse.queries.leaderboard import found_insights

if TYPE_CHECKING:
    from assets.project import Benchmark
    from warehouse.store import Warehouse

RETRIEVAL = "retrieval"
"""The family of evaluators by which systems retrieve well or badly."""


def tell(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Fill the table `insights` for one benchmark; returns the number of rows."""
    names = [evaluator.name for evaluator in benchmark.evaluators]
    retrieving = [name for name in names if catalog.family(name) == RETRIEVAL]
    query = found_insights(benchmark.name, retrieving)
    found = warehouse.fetch(query.sql, query.parameters)
    warehouse.replace("insights", found, where={"benchmark": benchmark.name})
    return found.height
