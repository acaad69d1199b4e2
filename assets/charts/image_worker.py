"""The image worker: a process that reads charts in Vega-Lite and writes them as SVG and PNG.

`images.ImageWorker` starts it as a separate program, because the library that draws ends its
process on some input.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from typing import Any

SCALE = 2.0
"""Pixels of a PNG per unit of the chart: sharp on high-density screens."""

REQUEST = struct.Struct("<dQ")
"""The limit in seconds, and the length of the chart, which follows."""

REPLY = struct.Struct("<?QQ")
"""Whether the chart was drawn, and the lengths of the SVG (or of the reason why not) and PNG."""

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


def main() -> None:
    """Draw charts until the input ends."""
    # The parent decides what an interrupt ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What the library prints is not a reply.
    os.dup2(2, 1)
    alarm = getattr(signal, "setitimer", None)
    # Loads the scripts of the library while the parent prepares its first chart.
    draw({"mark": "point", "data": {"values": []}})
    while header := requests.read(REQUEST.size):
        limit_s, length = REQUEST.unpack(header)
        spec = json.loads(requests.read(length))
        if alarm:  # ends this process even if its parent is gone
            alarm(signal.ITIMER_REAL, 2 * limit_s)
        is_drawn, text, png = draw(spec)
        if alarm:
            alarm(signal.ITIMER_REAL, 0)
        replies.write(REPLY.pack(is_drawn, len(text), len(png)) + text + png)
        replies.flush()


def draw(spec: dict[str, Any]) -> tuple[bool, bytes, bytes]:
    """Draw a chart.

    Args:
        spec: The chart in Vega-Lite, with its data.

    Returns:
        True, the SVG and the PNG; or False, the reason why it cannot be drawn, and nothing.
    """
    import vl_convert

    try:
        svg: str = vl_convert.vegalite_to_svg(json.dumps({**spec, "config": CHART_CONFIG}))
        return True, svg.encode(), vl_convert.svg_to_png(svg, scale=SCALE)
    except (ValueError, RuntimeError) as error:
        return False, str(error).encode(errors="replace"), b""


if __name__ == "__main__":
    main()
