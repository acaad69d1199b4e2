"""Panels: the sections of a benchmark's page, each declared in a module of `panels/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from assets.publishing.report import panels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assets.charts.style import Spec


@dataclass(frozen=True, kw_only=True)
class Content:
    """What a panel shows.

    Attributes:
        values: The variables of its template.
        charts: Its interactive charts by name; None where there is nothing to draw. Each is also
            written as an image.
        images: Charts that are only written as images.
        page_data: Values for the scripts of the page.
        files: Data that the scripts load on demand, as (name, content).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    charts: Mapping[str, Spec | None] = field(default_factory=dict)
    images: Mapping[str, Spec | None] = field(default_factory=dict)
    page_data: Mapping[str, Any] = field(default_factory=dict)
    files: Iterable[tuple[str, bytes]] = ()


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A section of a benchmark's page.

    Attributes:
        name: The id of the section.
        title: Its heading, and its link in the navigation.
        position: Its place in the page; panels are sorted by it.
        queries: SQL statements by name, each with the parameter `$benchmark`.
        build: Returns the content, or None to hide the panel. It receives the `BenchmarkData`
            and the result of each query as an argument of its name.
        template: The file in `templates/panels/` that renders the content.
    """

    name: str
    title: str
    position: int
    queries: Mapping[str, str] = field(default_factory=dict)
    build: Callable[..., Content | None]
    template: str


@cache
def load_panels() -> tuple[Panel, ...]:
    """Return the panels that the modules of `panels/` declare, in their order in the page."""
    modules = [
        import_module(f"{panels.__name__}.{found.name}") for found in iter_modules(panels.__path__)
    ]
    return tuple(sorted((module.PANEL for module in modules), key=lambda panel: panel.position))
