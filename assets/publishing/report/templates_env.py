"""Pages from templates: escaped by default, and forbidden to fetch anything by their own policy."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

SCRIPTS = (
    *("01-elements.js", "02-data.js", "03-theme.js", "04-table.js", "05-leaderboard.js"),
    *("06-charts.js", "07-heat.js", "08-compare.js", "09-evidence.js", "10-sample.js"),
    *("11-findings.js", "12-start.js"),
)
"""The parts of a benchmark's page, in the order in which they build on one another."""

NONE = "\u2013"
"""What stands where there is no number."""

INDEX_SCRIPTS = ("01-elements.js", "03-theme.js", "index.js")


def render(template: str, scripts: Sequence[str], **values: Any) -> str:
    """A page.

    Args:
        template: The name of its template.
        scripts: Its scripts, each a text of this project or of a library.
        values: What the template shows; text is escaped.
    """
    page: str = (
        _environment()
        .get_template(template)
        .render(
            policy=policy(scripts),
            style=Markup(_part("look.css")),  # noqa: S704 - a file of this project
            scripts=[Markup(script) for script in scripts],  # noqa: S704
            **values,
        )
    )
    return page


def plain_page(name: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A page with one table and no script."""
    return render("plain.html.j2", [], name=name, heads=heads, rows=rows)


def script(names: Sequence[str]) -> str:
    """Some files of this project as one script, whose names no other script can see."""
    return '(() => {\n"use strict";\n' + "\n".join(map(_part, names)) + "\n})();"


def policy(scripts: Sequence[str]) -> str:
    """What a page may do: run its own scripts, load files beside it, and reach nothing else."""
    digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
    known = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' {' '.join(known)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def short(value: float | None, digits: int = 3) -> str:
    """A number with so many digits after the point; a dash where there is none."""
    return NONE if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share as a percentage; a dash where there is none."""
    return NONE if value is None else f"{100 * value:.1f} %"


def count(value: int | None) -> str:
    """A whole number with its thousands apart."""
    return NONE if value is None else f"{value:,}"


def plural(n: int, noun: str) -> str:
    """A number of things."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def moment(time: datetime | None) -> str:
    """A time to the minute."""
    return NONE if time is None else f"{time:%Y-%m-%d %H:%M}"


@cache
def _part(name: str) -> str:
    return (files("assets.publishing.report") / "page" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("assets.publishing.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {
        "short": short,
        "percent": percent,
        "count": count,
        "plural": plural,
        "moment": moment,
    }
    return environment
