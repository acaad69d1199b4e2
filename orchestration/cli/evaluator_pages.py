"""What `scoreline evaluators` shows of each evaluator, from the user's cache.

To describe the evaluators, all of them are imported, which takes much longer than to print them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from orchestration.config.installed_code import digest_code
from warehouse.storage.atomic import replace_file
from warehouse.storage.file_system import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

Page: TypeAlias = dict[str, Any]
"""The description of an evaluator as JSON values."""


def load_pages() -> list[Page]:
    """Return the pages of all evaluators, by family and name.

    They are cached for as long as the installed code is the same.
    """
    code = digest_code()
    try:
        file = cache_folder() / "evaluator-pages.json"
    except RuntimeError:  # the user has no home directory
        return _describe_all()
    with suppress(OSError, ValueError, KeyError, TypeError):
        cached = json.loads(file.read_text(encoding="utf-8"))
        if cached["code"] == code:
            pages: list[Page] = cached["pages"]
            return pages
    # As JSON also where they are new, so that both ways show the same.
    text = json.dumps({"code": code, "pages": _describe_all()})
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as target:
            target.write_text(text, encoding="utf-8")
    new: list[Page] = json.loads(text)["pages"]
    return new


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
