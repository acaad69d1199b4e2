"""Drawing charts without a browser, and the scripts that draw them in one."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from assets.fingerprints.digests import digest_of
from warehouse.storage.atomic import replacing
from warehouse.storage.create import flush

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


@cache
def library() -> str:
    """The scripts of Vega, Vega-Lite and Vega-Embed as one, without any address to fetch from.

    Putting them together takes more than a second and gives the same for every project. So they
    are kept in the user's cache; where that cannot be used, they are put together by each process.
    """
    name = f"charts-{digest_of(version('vl-convert-python'), SNIPPET)}.js"
    # A RuntimeError: nobody knows where the user's home is.
    with suppress(OSError, RuntimeError):
        return (cache_folder() / name).read_text(encoding="utf-8")
    import vl_convert

    scripts: str = vl_convert.javascript_bundle(SNIPPET)
    with suppress(OSError, RuntimeError):
        _keep(scripts, cache_folder() / name)
    return scripts


def cache_folder() -> Path:
    """Where the user's programs keep what they can make again.

    Raises:
        RuntimeError: Nobody knows where the user's home is.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scoreline")


def _keep(text: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
        # Half a script after a power cut would be in every page from then on.
        flush(beside)


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
