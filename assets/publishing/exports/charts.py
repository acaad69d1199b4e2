"""Export the charts of one benchmark's report as images."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from assets.charts.images import IMAGES, ImageError
from assets.publishing.report.benchmark_page import build_panels
from assets.publishing.report.panel import BenchmarkData
from assets.publishing.report.part import ReportPart
from records.packages import require_extra

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot


def write_charts(
    snapshot: OpenSnapshot, benchmark: str, folder: Path
) -> tuple[list[Path], list[str]]:
    """Write each chart of a benchmark's page as `<chart>.svg` and `<chart>.png` into a folder.

    Args:
        snapshot: The published copy.
        benchmark: The benchmark.
        folder: The folder.

    Returns:
        The paths of the files, and a note on each chart that could not be drawn.

    Raises:
        MissingPackage: The package that draws charts is not installed.
    """
    require_extra("charts", "a chart as a picture")
    part = ReportPart(snapshot, [benchmark])
    images = {
        name: IMAGES.draw(spec)
        for _, content in build_panels(BenchmarkData(part, benchmark, digest=""))
        for name, spec in chain(content.charts.items(), content.images.items())
        if spec is not None
    }
    written, notes = [], []
    for name, image in images.items():
        try:
            written += image.result().write(folder, name)
        except ImageError as error:
            notes.append(f"the chart {name!r} is missing: {error}")
    return written, notes
