"""Render charts as images, and bundle the scripts that draw them in a browser."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assets.fingerprints.digests import digest_of
from warehouse.storage.atomic import fsync, replace_file

SCALE = 2.0
"""Pixels of a PNG per unit of the chart: sharp on high-density screens."""

SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""The only name that the bundle exports to a page."""

CHART_CONFIG: dict[str, Any] = {
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
"""The Vega configuration of images; charts in a page take their colours from the page."""


def bundle_name() -> str:
    """Return the file name of the bundle; it changes with the version of the libraries."""
    return f"vega-{digest_of(version('vl-convert-python'), SNIPPET)[:12]}.js"


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that loads nothing else.

    Bundling takes more than a second and gives the same script for every project. The script is
    kept in the user's cache if there is one.
    """
    # A RuntimeError: the user has no home directory.
    with suppress(OSError, RuntimeError):
        return (cache_folder() / bundle_name()).read_text(encoding="utf-8")
    import vl_convert

    script: str = vl_convert.javascript_bundle(SNIPPET)
    with suppress(OSError, RuntimeError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with replace_file(cache_folder() / bundle_name()) as partial:
            partial.write_text(script, encoding="utf-8")
            # Half a script after a power cut would be in every later report.
            fsync(partial)
    return script


def cache_folder() -> Path:
    """Return the user's cache folder of Scoreline.

    Raises:
        RuntimeError: The user has no home directory.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scoreline")


def render_svg(spec: dict[str, Any]) -> str:
    """Render a chart in Vega-Lite, with its data, as SVG."""
    import vl_convert

    image: str = vl_convert.vegalite_to_svg(json.dumps({**spec, "config": CHART_CONFIG}))
    return image


def render_png(svg: str, scale: float = SCALE) -> bytes:
    """Render an SVG as PNG, with a scale in pixels per unit of the chart."""
    import vl_convert

    image: bytes = vl_convert.svg_to_png(svg, scale=scale)
    return image


def write_images(spec: dict[str, Any], folder: Path, name: str) -> None:
    """Write a chart as `<name>.svg` and `<name>.png` into a folder."""
    svg = render_svg(spec)
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    (folder / f"{name}.png").write_bytes(render_png(svg))
