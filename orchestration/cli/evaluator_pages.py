"""What `scoreline evaluators` shows of each evaluator, from the user's cache.

To describe the evaluators, all of them are imported, which takes much longer than to print them.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from assets.fingerprints.installed_code import cached_by_code

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from evaluators.catalog import EvaluatorDoc

Page: TypeAlias = dict[str, Any]
"""The description of an evaluator as JSON values."""


def load_pages() -> list[Page]:
    """Return the pages of all evaluators, by family and name."""
    pages: list[Page] = cached_by_code("evaluator-pages", _describe_all)
    return pages


def project_pages(config: Path) -> list[Page]:
    """Return the pages of the evaluators that only a project has, by family and name.

    These are the evaluators of its plugins and of installed packages, and those that its benchmarks
    use under names of their own, with their parameters.

    Raises:
        SettingsError: The configuration has faults.
    """
    from evaluators import catalog
    from evaluators.kinds.own import installed, load
    from orchestration.config.load import load_config

    settings = load_config(config)
    home = settings.project.home
    classes = dict(installed())
    for plugin in settings.plugins:
        classes |= load(plugin, home)
    found = {}
    for name, cls in classes.items():
        with suppress(TypeError):  # a parameter without a default
            found[name] = cls()
    used = [each for bench in settings.project.benchmarks.values() for each in bench.evaluators]
    # The first benchmark that uses a name says with which parameters.
    found |= {each.name: each for each in reversed(used)}
    own = [
        catalog.describe(each) for name, each in found.items() if name not in catalog.catalogue()
    ]
    return [_page(each) for each in sorted(own, key=lambda each: (each.family, each.name))]


def _describe_all() -> list[Page]:
    from evaluators import catalog

    return [_page(each) for each in catalog.describe_all()]


def _page(each: EvaluatorDoc) -> Page:
    from evaluators.sample import input_fields, input_file

    return {
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


def _distinct(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Return rows without repetitions: two columns may come from one field."""
    found: list[list[Any]] = []
    for row in rows:
        if row not in found:
            found.append(row)
    return found
