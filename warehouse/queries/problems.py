"""Queries that find problems and insights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from records.columns import stored_columns
from records.prediction import Prediction
from records.record import SPACES
from warehouse.errors import MIN_SIMILARITY
from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import Query
from warehouse.schema.quoting import literal, quoted
from warehouse.schema.table import NULL_TEXTS
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from records.columns import StoredColumn

Pair: TypeAlias = tuple[str, str]
"""A benchmark with an evaluator, a metric or a column."""

ANSWER_NAMES: Final = (
    *("answer", "response", "output", "reply", "prediction", "completion", "generat", "result"),
    *("hypothesis", "content", "text", "message"),
)
"""Words in the names that other tools give to the field with the answer."""


def find_problems(
    benchmarks: Sequence[str], pairs: Mapping[str, Iterable[Pair]], few: int
) -> Query:
    """Select the problems of benchmarks, the worst of each first.

    Args:
        benchmarks: The benchmarks.
        pairs: Benchmarks with evaluators under `judged` (those that use a judge model), `leaking`
            (those that detect leaks) and `stale` (those whose scores are out of date), and with
            metrics, such as `citation.f1`, under `named` (those whose threshold the configuration
            sets by name), and with the columns that could hold an answer under `answering`.
        few: The number of independent questions that an interval needs.

    Returns:
        A query with the columns of the table `problems`.
    """
    parameters = {name: list(map(list, each)) for name, each in pairs.items()}
    limits = {"few": few, "near": MIN_SIMILARITY}
    texts = {"null_texts": list(NULL_TEXTS), "answer_names": list(ANSWER_NAMES)}
    empty_answers = sql("empty_answers").replace("{filled}", _filled_fields())
    statement = sql("problems").replace("{empty_answers}", empty_answers)
    return Query(fill_in(statement, benchmarks), {**limits, **texts, **parameters})


def _filled_fields() -> str:
    """Return SQL that lists the name of each field of an answer that is not empty."""
    columns = [each for each in stored_columns(Prediction).values() if each.role == "answer"]
    return ", ".join(
        f"CASE WHEN {_is_filled(each)} THEN {literal(each.name)} END" for each in columns
    )


def _is_filled(column: StoredColumn) -> str:
    name = quoted(column.name)
    if column.type == "VARCHAR":
        return f"NOT list_contains(nothing, trim({name}, {literal(SPACES)}))"
    return f"{name} IS NOT NULL"


def find_insights(
    benchmarks: Sequence[str], retrieving: Iterable[Pair], judging_context: Iterable[Pair]
) -> Query:
    """Select the insights of benchmarks.

    Args:
        benchmarks: The benchmarks.
        retrieving: Benchmarks with the evaluators of retrieval.
        judging_context: Benchmarks with the pass/fail evaluators that check the context, too.

    Returns:
        A query with the columns of the table `insights`.
    """
    parameters = {
        "retrieving": list(map(list, retrieving)),
        "judging_context": list(map(list, judging_context)),
    }
    return Query(fill_in(sql("insights"), benchmarks), parameters)
