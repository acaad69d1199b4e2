"""Charts name their systems, scroll with the page, and can be read without colour."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selenium.webdriver import ActionChains

from assets.charts.style import spread
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from tests.assets.publishing.report.conftest import Report
    from tests.support.browser import Browser

DASHES = (
    "return [...document.querySelectorAll(arguments[0])]"
    ".map((e) => e.getAttribute('stroke-dasharray'))"
)
WHEEL = (
    "const wheel = new WheelEvent('wheel', {deltaY: -300, bubbles: true, cancelable: true, "
    "ctrlKey: arguments[1], clientX: arguments[2], clientY: arguments[3]});"
    "arguments[0].dispatchEvent(wheel); return wheel.defaultPrevented"
)


def drawn(browser: Browser, report: Report, benchmark: str, chart: str) -> None:
    browser.open(report.page(benchmark))
    browser.see(f"[data-chart={chart}]")
    browser.find(f"[data-chart={chart}][data-drawn=yes]")


@pytest.mark.browser
@takes_minutes
@pytest.mark.parametrize("metric", ["phi", "delta"])
def test_the_tooltip_of_a_curve_names_its_system(
    browser: Browser, handbook: Report, metric: str
) -> None:
    drawn(browser, handbook, "deck-hand-exam", metric)
    chart = browser.find(f"[data-chart={metric}] svg")
    ActionChains(browser.driver).move_to_element(chart).perform()
    browser.find("#vg-tooltip-element.visible")
    system = browser.texts("#vg-tooltip-element tr:first-child .value")
    assert len(system) == 1
    assert system[0] in ("certain", "confident", "guesser", "off-format")


@pytest.mark.browser
@takes_minutes
def test_the_wheel_scrolls_and_with_ctrl_it_zooms(browser: Browser, handbook: Report) -> None:
    drawn(browser, handbook, "deck-hand-exam", "phi")
    chart = browser.find("[data-chart=phi] svg")
    script = "const r = arguments[0].getBoundingClientRect(); return [r.x + r.width / 2, r.y + 80]"
    place = browser.run(script, chart)
    domain = "return document.querySelector('[data-chart=phi]').view.scale('x').domain()"
    target = browser.find("[data-chart=phi] svg .background")
    assert browser.run(WHEEL, target, False, *place) is False
    assert browser.run(domain) == [0, 1]
    assert browser.run(WHEEL, target, True, *place) is True
    browser.until(lambda: browser.run(domain) != [0, 1])


@pytest.mark.browser
@takes_minutes
@pytest.mark.parametrize(
    ("benchmark", "chart", "systems"),
    [
        ("deck-hand-exam", "phi", 4),
        ("noisy-passages", "noise", 3),
        ("ticket-counter", "combined", 2),
    ],
)
def test_lines_have_dashes_and_names(
    browser: Browser, handbook: Report, benchmark: str, chart: str, systems: int
) -> None:
    drawn(browser, handbook, benchmark, chart)
    dashes = browser.run(DASHES, f"[data-chart={chart}] .mark-line path")
    assert len(dashes) == systems
    assert len(set(dashes)) == systems
    assert len(browser.all(f"[data-chart={chart}] .mark-text.role-mark text")) == systems


@pytest.mark.browser
@takes_minutes
def test_intervals_at_one_noise_level_stand_side_by_side(
    browser: Browser, handbook: Report
) -> None:
    drawn(browser, handbook, "noisy-passages", "noise")
    lefts = browser.run(
        "return [...document.querySelectorAll('[data-chart=noise] .mark-rule.role-mark line')]"
        ".map((e) => Math.round(e.getBoundingClientRect().x))"
    )
    assert len(lefts) == 3 * 5
    assert len(set(lefts)) == len(lefts)


@pytest.mark.browser
@takes_minutes
def test_labels_of_neighbouring_facets_do_not_touch(browser: Browser, handbook: Report) -> None:
    drawn(browser, handbook, "help-desk", "failures")
    boxes = browser.run(
        "return [...document.querySelectorAll('[data-chart=failures] .role-axis-label text')]"
        ".filter((e) => e.textContent.includes('%') && +getComputedStyle(e).opacity > 0)"
        ".map((e) => e.getBoundingClientRect()).map((r) => [r.y, r.left, r.right])"
    )
    assert len(boxes) > 6
    ordered = sorted(boxes)
    for (y, _, right), (next_y, left, _) in pairwise(ordered):
        assert next_y != y or left > right + 3


@pytest.mark.browser
@takes_minutes
def test_curves_have_a_table_of_values(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("deck-hand-exam"))
    table = "[aria-label='share of questions above a value of Δ'] tbody tr:first-child td"
    # The share above 0 is the accuracy, which the text above the charts states too.
    assert browser.texts(table)[4] == "85.0 %"
    assert "certain\u2069 85.0 %" in browser.find("#confidence_curves").text
    browser.see("[data-chart=phi]")
    chart = browser.find("[data-chart=phi][data-drawn=yes]")
    assert (chart.get_attribute("aria-label") or "").startswith("Chart. Φ: the share of questions")


@pytest.mark.browser
@takes_minutes
@pytest.mark.parametrize(
    "benchmark", ["mail-routing", "help-desk", "noisy-passages", "ticket-counter", "deck-hand-exam"]
)
def test_every_chart_has_a_text_and_a_table(
    browser: Browser, handbook: Report, benchmark: str
) -> None:
    browser.open(handbook.page(benchmark))
    charts = browser.all("[data-chart]")
    assert charts
    for chart in charts:
        browser.run("arguments[0].scrollIntoView()", chart)
        browser.until(lambda chart=chart: chart.get_attribute("data-drawn") == "yes")
        label = chart.get_attribute("aria-label") or ""
        assert label.startswith("Chart. ")
        tables = "return arguments[0].closest('section').querySelectorAll('table tbody tr').length"
        assert browser.run(tables, chart) > 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(sorted))
def test_names_at_the_ends_of_lines_do_not_overlap(values: list[float]) -> None:
    moved = spread(values, 0.06, 1.0)
    assert moved[-1] <= 1.0
    for lower, upper in pairwise(moved):
        assert upper - lower >= 0.06 - 1e-9
    if values[-1] <= 1.0 and all(b - a > 0.06 for a, b in pairwise(values)):
        assert moved == pytest.approx(values)
