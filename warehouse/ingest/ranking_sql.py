"""SQL that splits the field `retrieved` into one list for each member, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from records.prediction import Prediction, Retrieved
from records.shapes import duckdb_type, shape_of
from warehouse.schema.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MEMBERS: Final = {
    name: duckdb_type(shape_of(each)) for name, each in Retrieved.annotations().items()
}
"""The members of a retrieved document with their DuckDB types."""

_ALWAYS: Final = frozenset({"doc_id", "rank", "score"})
"""The members that are always read, because they order and count the documents."""


def retrieved_type(members: Collection[str] | None = None, others: Sequence[str] = ()) -> str:
    """Return the DuckDB type of `retrieved` with the members that occur (null: all).

    Nothing is done with the unknown `others`, but DuckDB then refuses those that occur twice.
    """
    known = {
        name: type_
        for name, type_ in MEMBERS.items()
        if members is None or name in _ALWAYS or name in members
    }
    types = known | dict.fromkeys(others, "JSON")
    return f"STRUCT({', '.join(f'{quoted(name)} {type_}' for name, type_ in types.items())})[]"


def split_retrieved(source: str, type_: str) -> tuple[str, dict[str, str]]:
    """Split the column `retrieved` of a table expression into one list for each member, best first.

    This is the order in every format. Documents are sorted by rank, or else by score, descending,
    then by id, descending. As in trec_eval, scores are compared as 32-bit numbers and ids byte by
    byte. Otherwise, and without ids, documents keep their order. Most files are already sorted, so
    the SQL checks that first: sorting whole documents is expensive.

    Returns:
        A subquery, and the expression of each member's list (null if no document has a value).
    """
    names = [name for name in MEMBERS if name != "rank" and f"{quoted(name)} " in type_]
    flagged = f"{{'in_order': {_IN_ORDER}, 'documents': retrieved}}"
    lists = ", ".join(f"{quoted(name)}: {_best_first(name)}" for name in names)
    rows = f"(SELECT * REPLACE ({flagged} AS retrieved) FROM {source})"  # noqa: S608
    rows = f"(SELECT * REPLACE ({{{lists}}} AS retrieved) FROM {rows})"  # noqa: S608
    return rows, {name: _known(name) for name in names}


def _each(name: str, documents: str = "retrieved") -> str:
    return f"list_transform({documents}, lambda x: x.{quoted(name)})"


def _single(score: str) -> str:
    """Return a score as trec_eval keeps it, so that close scores tie."""
    return f"coalesce(try_cast({score} AS FLOAT), sign({score}) * 'inf'::FLOAT)"


_RANKS: Final = _each("rank")
_SCORES: Final = f"list_transform(retrieved, lambda x: {_single('x.score')})"
_FALLING: Final = (
    f"list_bool_and(list_transform(list_zip(({_SCORES})[:-2], ({_SCORES})[2:]), "
    "lambda pair: pair[1] > pair[2]))"
)
"""Whether no score ties with the next one; null for a single document."""

_IN_ORDER: Final = f"""
CASE
    WHEN list_count(retrieved) < len(retrieved) THEN error('a retrieved document is null')
    WHEN {_RANKS} = range(1, len(retrieved) + 1) THEN true
    WHEN len(retrieved) = 0 THEN true
    WHEN list_count({_RANKS}) NOT IN (0, len(retrieved))
        OR (list_count({_RANKS}) = 0 AND list_count({_SCORES}) NOT IN (0, len(retrieved)))
        THEN error('some retrieved documents have a rank or score and some have not')
    WHEN list_count({_RANKS}) > 0 THEN CASE
        WHEN list_min({_RANKS}) < 1 OR list_unique({_RANKS}) < len(retrieved)
            THEN error('ranks are not different whole numbers from 1 on')
        ELSE false
    END
    ELSE list_count({_SCORES}) = 0 OR coalesce({_FALLING}, true)
END"""

_SORTED: Final = f"""
list_transform(
    list_reverse_sort(list_transform(retrieved.documents, lambda x, i: {{
        'rank': -x.rank,
        'score': CASE WHEN x.rank IS NULL THEN {_single("x.score")} END,
        'doc_id': x.doc_id,
        'i': -i,
        'x': x
    }})),
    lambda y: y.x
)"""


def _best_first(name: str) -> str:
    return (
        f"CASE WHEN retrieved.in_order THEN {_each(name, 'retrieved.documents')} "
        f"ELSE {_each(name, _SORTED)} END"
    )


def _known(name: str) -> str:
    values = f"retrieved.{quoted(name)}"
    # An empty list says that nothing was retrieved.
    is_empty = f"len({values}) = 0 OR " if name == "doc_id" else ""
    is_partial = f"list_count({values}) NOT IN (0, len({values}))"
    refused = (
        f"WHEN {is_partial} THEN error('some retrieved documents have no {name}') "
        if name in Prediction.whole
        else ""
    )
    return f"CASE {refused}WHEN {is_empty}list_count({values}) > 0 THEN {values} END"
