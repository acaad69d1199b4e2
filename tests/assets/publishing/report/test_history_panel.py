"""The history of a benchmark in the report: lines, where they break, and what flipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pytest

from assets.publishing.report.benchmark_page import build_panels
from assets.publishing.report.panel import BenchmarkData, Content
from assets.publishing.report.part import ReportPart
from assets.publishing.report.templates_env import render
from tests.assets.conftest import published, published_once, ranked_once, workshop
from tests.support.services import takes_minutes
from warehouse.publish.publications import tag_publication

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop
    from tests.support.browser import Browser

__all__ = ["published", "published_once", "ranked_once", "workshop"]

HOSTILE = "</td><script>window.struck = 1</script>"


def history(workshop: Workshop) -> Content | None:
    """The content of the panel, by the published copy."""
    with workshop.project.open_copy().open() as copy:
        data = BenchmarkData(ReportPart(copy, ["trial"]), "trial", "digest")
        found = {panel.name: content for panel, content in build_panels(data)}
    return found.get("history")


def test_one_publication_has_no_history(published: Workshop) -> None:
    assert history(published) is None


@takes_minutes
def test_lines_break_where_the_questions_changed(published: Workshop) -> None:
    published.with_prediction("poor", 1, cited_sentence_ids=["S1", "S2"], answer=HOSTILE)
    published.run()
    first, second = published.warehouse.fetch("FROM publications ORDER BY 1").rows(named=True)
    copy = published.project.open_copy().path
    tag_publication(published.warehouse, copy.parent, first["published_at"], HOSTILE)
    content = history(published)
    assert content is not None
    assert content.values["before"].startswith(HOSTILE)
    changes = {(row["system"], row["metric"]): row for row in content.values["changes"]}
    assert changes["poor", "citation.f1"]["numbers"] == ["0.000", "0.167", "0.167"]
    assert changes["good", "citation.f1"]["verdict"] == "no score has changed"
    (question,) = (row for row in content.values["questions"] if row["metric"] == "citation.f1")
    assert question["flipped"]
    assert question["answers"] == ["odd", HOSTILE]
    page = render("panels/history.html.j2", charts=content.charts, **content.values)
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") >= 3

    published.with_question(0, gold_sentence_ids=["S1"])
    published.run()
    content = history(published)
    assert content is not None
    assert [row["changed"] for row in content.values["rows"]] == [[], [], ["questions"]]
    chart = content.charts["history"]
    assert chart is not None
    alt.Chart.from_dict(chart)
    points = [
        row
        for row in chart["data"]["values"]
        if (row["system"], row["metric"]) == ("poor", "citation.f1")
    ]
    assert [row["segment"] for row in points] == [0, 0, 1]
    assert [row["what"] for row in points] == ["", "", "questions"]
    assert second["run_id"] != first["run_id"]


@takes_minutes
@pytest.mark.parametrize("dark", [False, True])
def test_the_history_in_a_browser(published: Workshop, browser: Browser, *, dark: bool) -> None:
    published.with_prediction("poor", 1, cited_sentence_ids=["S1", "S2"], answer=HOSTILE)
    published.run()
    (page,) = (
        path
        for path in published.project.publish.glob("report/trial-*/index.html")
        if 'id="history"' in path.read_text(encoding="utf-8")
    )
    browser.open(page, dark=dark)
    browser.run("document.querySelectorAll('#history details').forEach(each => each.open = true)")
    browser.see("#history [data-chart='history'] svg")
    assert browser.barriers() == []
    assert browser.run("return window.struck === undefined")
    link = browser.see("#history details th a")
    assert link.text == "q1"
    link.click()
    browser.until(lambda: "What is 1?" in browser.see("dialog[open]").text)
    assert browser.complaints() == []
