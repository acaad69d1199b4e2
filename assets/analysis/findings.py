"""Refresh the tables `problems` and `insights` of benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from assets.analysis.trace_patterns import find_trace_insights
from assets.fingerprints.digests import is_out_of_date
from assets.leaderboard.winner import describe_winner, find_winner
from assets.project import is_judged
from evaluators import catalog
from evaluators.kinds.pass_fail import PassFailEvaluator
from evaluators.sample import ANSWER_COLUMNS
from evaluators.statistics.intervals import FEW_CLUSTERS
from warehouse.foreign_text import describe_twins
from warehouse.queries.problems import find_insights, find_problems
from warehouse.queries.twins import Twins, fetch_twins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.store import Warehouse

LEAKING = "privacy"
"""The family of evaluators that detect leaks of private data."""

RETRIEVAL = "retrieval"
"""The family of evaluators that measure retrieval."""

TRACE = "trace"
"""The family of evaluators with the TRACE metrics."""

ANSWERS = frozenset({"answer", "label", "choice_logprobs"})
"""The columns that can hold the answer itself, and not what it rests on."""


def refresh_problems(warehouse: Warehouse, benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """Write the table `problems` for benchmarks and return the number of rows of each."""
    named = [(each.name, metric) for each in benchmarks for metric in each.thresholds]
    names = [each.name for each in benchmarks]
    known = warehouse.all_fingerprints(names)
    pairs = {
        "judged": _pairs(benchmarks, lambda _, own: is_judged(own)),
        "leaking": _pairs(benchmarks, lambda _, own: catalog.family_of(own) == LEAKING),
        "named": named,
        "answering": [(each.name, name) for each in benchmarks for name in _answering(each)],
        "stale": _pairs(benchmarks, lambda each, own: is_out_of_date(own, known[each.name])),
    }
    query = find_problems(names, pairs, FEW_CLUSTERS)
    found = [warehouse.fetch(*query), *map(_describe_twins, fetch_twins(warehouse, names))]
    return _replace(warehouse, "problems", pl.concat(found, how="diagonal_relaxed"), names)


def _describe_twins(twins: Twins) -> pl.DataFrame:
    """Return the problem that names of a benchmark look alike."""
    more = f"; and {twins.count - 1:,} more such groups" if twins.count > 1 else ""
    return pl.DataFrame(
        {
            "benchmark": twins.benchmark,
            "kind": f"similar_{twins.what}",
            "severity": "low",
            "value": float(twins.count),
            "message": f"two {twins.what} look alike: {describe_twins(twins.names)}{more}",
        }
    )


def refresh_insights(warehouse: Warehouse, benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """Write the table `insights` for benchmarks and return the number of rows of each."""
    names = [each.name for each in benchmarks]
    retrieving = _pairs(benchmarks, lambda _, own: catalog.family_of(own) == RETRIEVAL)
    judging = _pairs(benchmarks, lambda _, own: _judges_context(own))
    found = warehouse.fetch(*find_insights(names, retrieving, judging))
    headlines = warehouse.fetch(
        "SELECT * FROM leaderboard WHERE list_contains($names, benchmark) AND slice = 'all' "
        "AND is_headline = 1 ORDER BY rank, system",
        {"names": names},
    ).partition_by("benchmark", as_dict=True)
    winners = [_describe_winner(rows.to_dicts()) for rows in headlines.values()]
    winners = [row for row in winners if row is not None]
    diagnoses = [
        row
        for benchmark in benchmarks
        for evaluator in benchmark.evaluators
        if catalog.family_of(evaluator) == TRACE
        for row in find_trace_insights(warehouse, benchmark, evaluator)
    ]
    # Many winners in a row may have no system: the type of a column is that of all its rows.
    own = [pl.DataFrame(rows, infer_schema_length=None) for rows in (winners, diagnoses)]
    found = pl.concat([*own, found], how="diagonal_relaxed")
    return _replace(warehouse, "insights", found, names)


def _judges_context(evaluator: Evaluator) -> bool:
    return isinstance(evaluator, PassFailEvaluator) and evaluator.judges_context


def _answering(benchmark: Benchmark) -> list[str]:
    """Return the columns of answers that evaluators read; what was retrieved if they read none."""
    read = frozenset[str]().union(*(each.columns for each in benchmark.evaluators)) & ANSWER_COLUMNS
    return sorted(read & ANSWERS or read)


def _describe_winner(headline: Sequence[Mapping[str, Any]]) -> dict[str, object] | None:
    """Return the insight `winner`: the winner by the headline metric, or why there is none."""
    sentence = describe_winner(headline)
    if sentence is None:
        return None
    first = headline[0]
    return {
        **{column: first[column] for column in ("benchmark", "evaluator", "metric")},
        "kind": "winner",
        "system": find_winner(headline),
        "value": first["mean"],
        "message": sentence,
    }


def _replace(
    warehouse: Warehouse, table: str, rows: pl.DataFrame, benchmarks: Sequence[str]
) -> dict[str, int]:
    """Replace the rows of benchmarks and return the number of rows of each."""
    warehouse.replace(table, rows, where={"benchmark": list(benchmarks)})
    counted = dict(rows["benchmark"].value_counts().iter_rows())
    return {name: counted.get(name, 0) for name in benchmarks}


def _pairs(
    benchmarks: Iterable[Benchmark], is_chosen: Callable[[Benchmark, Evaluator], bool]
) -> list[tuple[str, str]]:
    """Return benchmarks with those of their evaluators that are chosen."""
    return [
        (benchmark.name, each.name)
        for benchmark in benchmarks
        for each in benchmark.evaluators
        if is_chosen(benchmark, each)
    ]
