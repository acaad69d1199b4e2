"""The report on a phone and on paper: complete, with nothing cut off."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.assets.publishing.report.conftest import Report
    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
INSIDE = "return arguments[0].scrollWidth <= arguments[0].clientWidth"


@pytest.fixture
def phone(browser: Browser) -> Iterator[Browser]:
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.complaints() == []


@pytest.mark.parametrize("benchmark", ["deck-hand-exam", "help-desk", "mail-routing"])
def test_charts_fit_a_phone_and_so_does_the_page(
    phone: Browser, handbook: Report, benchmark: str
) -> None:
    phone.open(handbook.page(benchmark))
    for chart in phone.all("[data-chart]"):
        phone.run("arguments[0].scrollIntoView()", chart)
        phone.until(lambda chart=chart: chart.get_attribute("data-drawn") == "yes")
        assert phone.run(INSIDE, chart), chart.get_attribute("data-chart")
    assert phone.run(INSIDE, phone.find("html"))


def test_the_first_page_fits_a_phone(phone: Browser, handbook: Report) -> None:
    phone.open(handbook.index)
    assert phone.run(INSIDE, phone.find("html"))
    # Names of benchmarks stay beside the values that are scrolled to.
    box = phone.see("#matrix .wide")
    assert not phone.run(INSIDE, box)
    phone.run("arguments[0].scrollLeft = 400", box)
    name = phone.find("#matrix tbody th")
    assert name.rect["x"] == box.rect["x"]
    phone.open(handbook.page("handbook-answers"))
    assert phone.find(".verdicts").size["width"] > 0.9 * PHONE["width"]


@pytest.mark.parametrize("benchmark", ["handbook-answers", "ticket-counter"])
def test_problems_fit_a_phone(phone: Browser, handbook: Report, benchmark: str) -> None:
    phone.open(handbook.page(benchmark))
    message = phone.see("#problems-table tbody .message")
    assert message.size["width"] > PHONE["width"] / 2
    assert message.rect["x"] + message.size["width"] <= PHONE["width"]
    assert not [each for each in phone.all("#problems-table .secondary") if each.is_displayed()]


def test_pages_print_completely_without_scrolling(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("mail-routing"))
    charts = browser.all("[data-chart]")
    assert len(charts) == 3
    browser.until(lambda: all(each.get_attribute("data-drawn") == "yes" for each in charts))
    browser.find("#heat-table .cell")
    browser.find("#cmp-table tbody .num")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert 4 <= pages(base64.b64decode(printed)) <= 8
    hidden = "return getComputedStyle(document.querySelector(arguments[0])).display"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for css in ("nav.parts", ".pages button", "#theme", ".downloads", ".screen"):
            assert browser.run(hidden, css) == "none", css
        shown = browser.find("#provenance details td")
        assert browser.run("return arguments[0].checkVisibility()", shown)
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def pages(document: bytes) -> int:
    """How many pages a PDF has, also where its objects are compressed."""
    count = document.count(b"/Type /Page\n") + document.count(b"/Type /Page ")
    for part in document.split(b"stream\n")[1:]:
        try:
            text = zlib.decompressobj().decompress(part)
        except zlib.error:
            continue
        count += text.count(b"/Type /Page\n") + text.count(b"/Type /Page ")
    return count
