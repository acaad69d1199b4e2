"""The scripts that draw charts in a browser, as one script that loads nothing else.

`vega_bundle.js` is Vega, Vega-Lite and Vega-Embed. `python -m docs.generators.vega` writes it
again after an update of vl-convert, which bundles them and is too large for everyone to install.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from assets.fingerprints.digests import digest_of

FILE: Final = Path(__file__).with_name("vega_bundle.js")


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script; it defines only `vegaEmbed`."""
    return FILE.read_text(encoding="utf-8")


@cache
def bundle_name() -> str:
    """Return the file name of the bundle in a report; it changes with its content."""
    return f"vega-{digest_of(vega_bundle())[:12]}.js"
