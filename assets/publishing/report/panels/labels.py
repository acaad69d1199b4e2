"""A form to label answers without a server; the browser keeps labels until they are downloaded."""

from __future__ import annotations

from assets.publishing.report.panel import BenchmarkData, Content, Panel


def build(data: BenchmarkData) -> Content | None:
    """Return the form; None where the page has only the hardest questions, no random sample."""
    if data.questions.height < data.totals["questions"]:
        return None
    return Content(values={"benchmark": data.benchmark})


PANEL = Panel(title="Your labels", position=95, build=build)
