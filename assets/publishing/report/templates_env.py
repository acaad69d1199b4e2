"""Render pages from templates: with autoescape, and a policy that forbids network access."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assets.fingerprints.digests import digest_of
from assets.publishing.report import formatting
from warehouse.foreign_text import show_hidden_isolated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PACKAGE = __name__.rpartition(".")[0]
PAGE = files(PACKAGE) / "page"

INDEX_SCRIPTS = ("01-elements.js", "03-theme.js", "04-edges.js", "index.js")


def render_page(
    template: str,
    script_parts: Sequence[str] = (),
    *,
    style_file: str | None = None,
    script_files: Sequence[str] = (),
    **values: Any,
) -> str:
    """Render a whole page.

    Args:
        template: The name of its template.
        script_parts: The files in `page/` that make up its inline script.
        style_file: The address of its style sheet; without one, the page contains the style.
        script_files: The addresses of scripts beside the page, which run first.
        values: The variables of the template; texts are escaped.
    """
    script = join_scripts(script_parts) if script_parts else None
    return render(
        template,
        policy=content_security_policy(script, has_files=bool(script_files)),
        style=Markup(_page_file("style.css")),  # noqa: S704 - a file of this package
        style_file=style_file,
        script=None if script is None else Markup(script),  # noqa: S704
        script_files=script_files,
        **values,
    )


def render(template: str, **values: Any) -> Markup:
    """Render a template; texts in its variables are escaped."""
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704


def render_table_page(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a page with one table and no script."""
    return render_page("table_page.html.j2", title=title, heads=heads, rows=rows)


@cache
def page_files(panels: Sequence[str]) -> Mapping[str, str]:
    """Return the style sheet and the script that all pages of benchmarks share, by file name.

    The script consists of the numbered files, in their order, those in `sample/`, then the scripts
    of the panels that have one. A page may lack a panel. The names change with the contents.

    Args:
        panels: The names of all panels, in their order.
    """
    shared = sorted(path.name for path in PAGE.iterdir() if path.name[0].isdigit())
    sample = sorted(f"sample/{path.name}" for path in (PAGE / "sample").iterdir())
    own = [f"panels/{panel}.js" for panel in panels]
    script = join_scripts([*shared, *sample, *(path for path in own if (PAGE / path).is_file())])
    contents = {"css": _page_file("style.css"), "js": script}
    return {f"page-{digest_of(text)[:12]}.{kind}": text for kind, text in contents.items()}


def join_scripts(parts: Sequence[str]) -> str:
    """Return files of `page/` as one script whose names are not visible to other scripts."""
    return '(() => {\n"use strict";\n' + "\n".join(map(_page_file, parts)) + "\n})();"


def content_security_policy(script: str | None, *, has_files: bool) -> str:
    """Return what a page may do: run its inline script and files beside it, and nothing else."""
    sources = ["'self'"] if has_files else []
    if script is not None:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        sources.append(f"'sha256-{digest}'")
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + (" ".join(sources) or "'none'"),
            "style-src " + ("'self' " if has_files else "") + "'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


@cache
def _page_file(name: str) -> str:
    return (PAGE / name).read_text(encoding="utf-8")


def _without_hidden(value: Any) -> Any:
    """Return a text of a variable with escapes in place of characters that cannot be seen."""
    return show_hidden_isolated(value) if type(value) is str else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_without_hidden,
    )
    environment.filters["visible"] = show_hidden_isolated
    for name in ("number", "count", "plural", "time", "breakable"):
        environment.filters[name] = getattr(formatting, f"format_{name}")
    return environment
