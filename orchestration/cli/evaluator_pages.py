"""What `scoreline evaluators` shows of each evaluator, from the user's cache.

To describe the evaluators, all of them are imported, which takes much longer than to print them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from assets.fingerprints.installed_code import cached_by_code

if TYPE_CHECKING:
    from collections.abc import Iterable

Page: TypeAlias = dict[str, Any]
"""The description of an evaluator as JSON values."""


def load_pages() -> list[Page]:
    """Return the pages of all evaluators, by family and name."""
    pages: list[Page] = cached_by_code("evaluator-pages", _describe_all)
    return pages


def _describe_all() -> list[Page]:
    from evaluators import catalog
    from evaluators.sample import input_fields, input_file

    return [
        {
            "name": each.name,
            "family": each.family,
            "question": each.question,
            "prose": each.prose,
            "primary": each.primary.name,
            "metrics": [
                [m.name, m.best, *m.bounds, m.threshold, m.primary, m.level, m.summary]
                for m in each.metrics
            ],
            "parameters": [[p.name, json.dumps(p.default), p.meaning] for p in each.parameters],
            "fields": _distinct(
                [list(input_fields(column)), input_file(column), column in each.reads]
                for column in (*each.reads, *each.optional)
            ),
            "keys": list(each.engine_keys),
        }
        for each in catalog.describe_all()
    ]


def _distinct(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Return rows without repetitions: two columns may come from one field."""
    found: list[list[Any]] = []
    for row in rows:
        if row not in found:
            found.append(row)
    return found
