"""Drawing charts without a browser, and the scripts that draw them in one."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from pathlib import Path

SCALE = 2.0
"""Pixels of a PNG for each unit of the chart: sharp on screens of twice the usual density."""


SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""What the page needs of the library; everything else of it stays inside."""

LOOK: dict[str, Any] = {
    "background": "white",
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "labelFlush": False,
        "labelOverlap": True,
        "labelSeparation": 6,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {"labelFontSize": 12, "titleFontSize": 12},
    "header": {"labelFontSize": 13},
}
"""How drawn charts look; those in the page take their colours from it."""


def library(folder: Path) -> str:
    """The scripts of Vega, Vega-Lite and Vega-Embed as one, without any address to fetch from.

    Args:
        folder: Where they are kept, because putting them together takes more than a second.
    """
    kept = folder / f".vega-{version('vl-convert-python')}.js"
    if not kept.is_file():
        beside = folder / f"{kept.name}.{uuid4().hex}.tmp"
        beside.write_text(_bundle(), encoding="utf-8")
        beside.replace(kept)
    return kept.read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    import vl_convert

    scripts: str = vl_convert.javascript_bundle(SNIPPET)
    return scripts


def svg(spec: dict[str, Any]) -> str:
    """A chart as SVG.

    Args:
        spec: The chart in Vega-Lite, with its data.
    """
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(json.dumps({**spec, "config": LOOK}))
    return drawn


def png(drawn: str, scale: float = SCALE) -> bytes:
    """An SVG as PNG.

    Args:
        drawn: What `svg` returns.
        scale: Pixels for each unit of the chart.
    """
    import vl_convert

    picture: bytes = vl_convert.svg_to_png(drawn, scale=scale)
    return picture


def draw(spec: dict[str, Any], folder: Path, name: str) -> None:
    """Write a chart as `<name>.svg` and `<name>.png` into a folder."""
    drawn = svg(spec)
    (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    (folder / f"{name}.png").write_bytes(png(drawn))
