"""What the evaluation harness scored in its sample logs: of a document, or of one response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warehouse.formats.format import Reject
from warehouse.formats.readers.rows import json_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

READ: Final = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "reported"}
)
HASHES: Final = frozenset({"doc_hash", "prompt_hash", "target_hash"})
NOT_METRICS: Final = HASHES | {"filter", "metrics", "repeat", "system"}


def logged_as(fields: Mapping[str, Any]) -> str:
    """Return what is the same for the rows of a document, one for each filter."""
    return repr((fields.get("doc_id"), fields.get("repeat")))


def responses_of(fields: Mapping[str, Any]) -> tuple[list[list[Any]], int]:
    """Return the responses to each request if there are several, and how many; else 1."""
    given = fields.get("resps")
    lists = given if isinstance(given, list) else []
    counts = {len(each) if isinstance(each, list) else 1 for each in lists}
    several = counts.pop() if len(counts) == 1 else 1
    return (lists, several) if several > 1 else ([], 1)


def _is_one(fields: Mapping[str, Any]) -> bool:
    """Return whether a filter has left one response to each request."""
    lists, _ = responses_of(fields)
    left = fields.get("filtered_resps")
    if not lists or not isinstance(left, list):
        return not lists
    is_pair = isinstance(lists[0][0], list)
    return not any(
        isinstance(each, list) and len(each) != 1 and isinstance((*each, [])[0], list) == is_pair
        for each in left
    )


def scores_of(path: Path) -> Mapping[str, Sequence[tuple[str, object, bool]]]:
    """Return the metrics of each document with whether they are of one response.

    Where a document is logged once for each filter, the metric of a filter is `metric,filter`, as
    in the results of the harness, and `metric` is that of the first filter.
    """
    by_filter: dict[str, dict[str, list[tuple[str, object, bool]]]] = {}
    for row in json_rows(path, key="doc_id"):
        if isinstance(row, Reject):
            continue
        metrics = row.fields.keys() - READ - NOT_METRICS
        of_one = _is_one(row.fields)
        numbers: list[tuple[str, object, bool]] = [
            (name, value, of_one)
            for name, value in row.fields.items()
            if name in metrics and isinstance(value, int | float)
        ]
        by_filter.setdefault(logged_as(row.fields), {}).setdefault(
            str(row.fields.get("filter")), numbers
        )
    return {
        doc: next(iter(own.values()))
        + [
            (f"{metric},{name}", value, of_one)
            for name, numbers in own.items()
            for metric, value, of_one in numbers
            if len(own) > 1
        ]
        for doc, own in by_filter.items()
    }
