"""The chart below the leaderboard follows its controls; tables can be copied and read anywhere."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.assets.publishing.report.test_phone_and_print import PHONE
from tests.assets.publishing.report.test_state_in_address import visit
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.assets.publishing.report.conftest import Report
    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

CHART = "document.querySelector('[data-chart=leaderboard]')"


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error or requests a remote address."""
    yield
    assert browser.complaints() == []


def drawn(browser: Browser) -> list[dict[str, Any]]:
    """The rows that the chart shows."""
    return list(browser.run(f"return {CHART}.view.data('source_0')"))


def see_chart(browser: Browser) -> None:
    browser.see("[data-chart=leaderboard]")
    browser.find("[data-chart=leaderboard][data-drawn=yes]")


def test_the_chart_follows_metric_slice_filter_and_order(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", "")
    see_chart(browser)
    assert {row["metric"] for row in drawn(browser)} == {
        "citation.f1",
        "document_retrieval.recall_at_5",
        "evidence_overlap.evidence_recall",
    }
    Select(browser.find("#lb-metric")).select_by_value("citation.f1")
    browser.until(lambda: len(drawn(browser)) == 3)
    whole = {row["system"]: row["mean"] for row in drawn(browser)}
    assert whole["rag"] == pytest.approx(0.861, abs=0.0005)
    Select(browser.find("#lb-slice")).select_by_value("question_type=condition")
    browser.until(lambda: {row["system"]: row["mean"] for row in drawn(browser)} != whole)
    shown = dict(
        zip(
            browser.texts("#lb-table tbody bdi"),
            browser.texts("#lb-table tbody td:nth-child(3) > :first-child"),
            strict=True,
        )
    )
    for row in drawn(browser):
        assert f"{row['mean']:.3f}" == shown[row["system"]]
    assert "question_type=condition" in browser.find("#leaderboard figcaption").text
    browser.find("#lb-filter").send_keys("rag")
    browser.until(lambda: [row["system"] for row in drawn(browser)] == ["rag"])
    label = browser.find("[data-chart=leaderboard]").get_attribute("aria-label") or ""
    assert f"rag {shown['rag']}" in label


def test_all_metrics_of_one_evaluator_side_by_side(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "handbook-answers", "#metric=evidence_overlap")
    metrics = ["evidence_recall", "evidence_precision", "evidence_f1", "evidence_recall_words"]
    titles = browser.texts("#lb-table thead button.sort")
    assert [title.split()[0] for title in titles] == ["Rank", "System", *metrics, "Failed"]
    caption = browser.find("#lb-table caption").text
    assert caption.startswith("All metrics of evidence_overlap; ranks are by evidence_recall.")
    see_chart(browser)
    assert {row["metric"] for row in drawn(browser)} == {
        f"evidence_overlap.{metric}" for metric in metrics
    }
    shown = browser.find("#leaderboard figcaption").text
    assert shown.startswith("Metrics of evidence_overlap: means")
    assert browser.barriers(ignored=()) == []
    # An evaluator with one metric is not offered; there is nothing to put beside it.
    offered = [each.get_attribute("value") for each in Select(browser.find("#lb-metric")).options]
    assert "citation" in offered
    assert "rubric_combined" not in offered


def test_the_chart_has_the_order_of_the_table(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "handbook-answers", "#metric=citation.f1")
    see_chart(browser)
    names = "[data-chart=leaderboard] .role-axis-label text"
    systems = ["rag", "keyword", "plain-llm"]

    def axis() -> list[str]:
        found = browser.run(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((e) => [e.getBoundingClientRect().y, e.textContent])",
            names,
        )
        return [text for _, text in sorted(found) if text in systems]

    assert axis() == systems
    browser.all("#lb-table button.sort")[1].click()
    browser.until(lambda: axis() == sorted(systems))


def test_the_axis_is_the_scale_of_the_metric(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "deck-hand-exam", "#metric=option_confidence.delta")
    see_chart(browser)
    ends = {(row["scale_low"], row["scale_high"]) for row in drawn(browser)}
    assert ends == {(-1, 1)}
    numbers = browser.texts("[data-chart=leaderboard] .role-axis-label text")
    assert "\u22121.0" in numbers
    assert "1.0" in numbers


def test_eight_metrics_fit_a_wide_screen(browser: Browser, handbook: Report) -> None:
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        visit(browser, handbook, "ticket-counter", "")
        assert len(browser.all("#lb-table thead th")) == 11
        box = browser.find("#lb-table .wide")
        assert browser.run("return arguments[0].scrollWidth <= arguments[0].clientWidth", box)
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_on_a_phone_names_stay_and_the_edge_is_visible(browser: Browser, handbook: Report) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        visit(browser, handbook, "ticket-counter", "")
        box = browser.see("#lb-table .wide")
        assert "cut" in (box.get_attribute("class") or "")
        browser.run("arguments[0].scrollLeft = 300", box)
        name = browser.find("#lb-table tbody th")
        assert abs(name.rect["x"] - box.rect["x"]) < 2
        browser.run("arguments[0].scrollLeft = 10000", box)
        browser.until(lambda: "cut" not in (box.get_attribute("class") or ""))
        # A single metric: mean and interval are complete.
        visit(browser, handbook, "ticket-counter", "#metric=faithfulness.faithfulness")
        cell = browser.find("#lb-table tbody td:nth-child(3)")
        assert "to" in cell.text
        assert cell.rect["x"] + cell.rect["width"] <= PHONE["width"]
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_filter_without_a_match_says_so(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "handbook-answers", "")
    browser.see("#questions")
    browser.find("#heat-table .cell")
    for field, table in (("lb", "lb"), ("heat", "heat"), ("problems", "problems")):
        browser.see(f"#{field}-filter").send_keys("zebra")
        browser.until(
            lambda table=table: "contains “zebra”" in browser.find(f"#{table}-table").text
        )
    assert not browser.find("#leaderboard figure").is_displayed()


def test_without_javascript_the_leaderboard_stands(browser: Browser, handbook: Report) -> None:
    browser.driver.get("about:blank")
    off = {"value": True}
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", off)
    try:
        browser.driver.get(handbook.page("handbook-answers").absolute().as_uri())
        rows = [row.text for row in browser.driver.find_elements(By.CSS_SELECTOR, "#lb-table tr")]
        assert rows[0].split() == [
            *("System", "citation.f1", "document_retrieval.recall_at_5"),
            "evidence_overlap.evidence_recall",
        ]
        assert rows[1].startswith("rag 0.861 (0.678 to 0.994)")
        assert len(rows) == 4
        assert not any(each.is_displayed() for each in browser.all(".controls, figure"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_paper_shows_the_controls_and_all_rows(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "deck-hand-exam", "#metric=option_confidence.delta")
    browser.see("#questions")
    browser.find("#heat-table .cell")
    assert len(browser.all("#heat-table tbody tr")) == 25
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        assert len(browser.all("#heat-table tbody tr")) == 40
        assert "questions 1 to 40 of 40" in browser.find("#heat-table").text
        assert browser.find("#lb-metric").is_displayed()
        assert not browser.find("#lb-filter").is_displayed()
        assert not browser.find("#heat-table .pages button").is_displayed()
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        assert len(browser.all("#heat-table tbody tr")) == 25
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def copied(browser: Browser, section: str, form: str) -> str:
    """The text that a button below a table copies, pasted."""
    browser.click(f"#{section} [aria-label='Copy the table as {form}']")
    browser.until(lambda: "Copied" in browser.texts(f"#{section} [aria-label^='Copy the table']"))
    browser.run("document.body.append(document.createElement('textarea'))")
    field = browser.see("body > textarea")
    field.send_keys(Keys.CONTROL, "v")
    browser.until(lambda: browser.run("return arguments[0].value", field))
    text = str(browser.run("return arguments[0].value", field))
    browser.run("arguments[0].remove()", field)
    return text


def test_tables_are_copied_with_all_rows_and_full_numbers(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "deck-hand-exam", "")
    browser.see("#questions")
    browser.find("#heat-table .cell")
    rows = list(csv.DictReader(io.StringIO(copied(browser, "heat-table", "CSV"))))
    assert len(rows) == 40
    assert list(rows[0]) == [
        *("question_id", "question", "certain", "confident", "guesser", "off-format", "mean"),
    ]
    assert rows[0]["question_id"] == "exam-06"
    board = json.loads(copied(browser, "leaderboard", "JSON"))
    assert [row["System"] for row in board] == ["certain", "confident", "guesser", "off-format"]
    means = {row["System"]: row["option_confidence.phi"] for row in board}
    assert means["certain"] == pytest.approx(0.835, abs=0.0005)
    assert means["certain"] != 0.835
    assert board[0]["option_confidence.phi, 95 % from"] < means["certain"]
    browser.click("#confidence_curves .beside details summary")
    table = copied(browser, "confidence_curves", "Markdown").splitlines()
    assert table[0].startswith("| System | 0.1 |")
    assert table[1] == "| " + " | ".join(["---"] * 10) + " |"
    assert len(table) == 6


def test_every_table_can_be_copied(browser: Browser, handbook: Report) -> None:
    for benchmark in ("mail-routing", "help-desk"):
        visit(browser, handbook, benchmark, "")
        browser.see("#questions")
        browser.find("#heat-table .cell")
        without = browser.run(
            "return [...document.querySelectorAll('.wide:has(> table)')].filter((e) => "
            "!e.nextElementSibling?.querySelector('[aria-label*=\"CSV\"]')).length"
        )
        assert without == 0


def test_cost_charts_name_their_axis_start_at_zero_and_miss_no_system(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "mail-routing", "")
    browser.see("[data-chart=mean_cost]")
    browser.find("[data-chart=mean_cost][data-drawn=yes]")
    view = "document.querySelector('[data-chart=mean_cost]').view"
    low, high = browser.run(f"return {view}.scale('x').domain()")
    assert low <= 0 < high
    titles = browser.texts("[data-chart=mean_cost] .role-axis-title text")
    assert titles == ["US dollars per answer (mean)", "classification.accuracy"]
    text = browser.find("#cost_and_time").text
    assert "No cost is known of \u2068keyword\u2069." in text
    labels = browser.texts("[data-chart=mean_cost] .role-axis-label text")
    assert not [label for label in labels if "e" in label]


def test_tiles_lead_to_sections_and_insights_do_not_repeat_the_verdict(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", "")
    for link in browser.all(".cards a"):
        section = (link.get_attribute("href") or "").rpartition("#")[2]
        assert browser.all(f"section#{section}")
    tiles = {tile.text.split("\n")[1]: tile for tile in browser.all(".cards li")}
    assert tiles["failed answers"].find_elements(By.CSS_SELECTOR, "a")
    insights = browser.find("#overview details").get_attribute("textContent") or ""
    assert "best mean of" not in insights
    assert "No winner" not in insights


def test_an_image_shows_what_the_chart_shows(
    browser: Browser, handbook: Report, tmp_path: Path
) -> None:
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    visit(browser, handbook, "handbook-answers", "#metric=citation.recall")
    see_chart(browser)
    for form in ("svg", "png"):
        browser.click(f"[data-save=leaderboard][data-format={form}]")
        browser.until(lambda form=form: (tmp_path / f"leaderboard.{form}").exists())
    drawn_image = (tmp_path / "leaderboard.svg").read_text(encoding="utf-8")
    assert ">recall<" in drawn_image
    assert ">f1<" not in drawn_image
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(b"\x89PNG")
