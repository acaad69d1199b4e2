"""The report of the example project, read in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.select import Select

from assets.project import Benchmark
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error or requests a remote address."""
    yield
    assert browser.complaints() == []


SYSTEMS = "#lb-table tbody bdi"
ANSWERING = "#answers thead bdi"


def test_from_the_first_page_to_a_benchmark(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.index)
    assert len(browser.all(".benchmarks > li")) == 12
    browser.find("#find").send_keys("off-format")
    browser.until(
        lambda: len([e for e in browser.all(".benchmarks > li") if e.is_displayed()]) == 1
    )
    browser.click("li#deck-hand-exam a")
    browser.reads("h1", ["deck-hand-exam"])


def test_the_leaderboard_is_sorted_filtered_and_sliced(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("handbook-answers"))
    browser.reads(SYSTEMS, ["rag", "keyword", "plain-llm"])
    heads = browser.all("#lb-table button.sort")
    heads[1].send_keys(Keys.ENTER)  # by name, from the keyboard
    browser.reads(SYSTEMS, ["keyword", "plain-llm", "rag"])
    assert browser.all("#lb-table th[aria-sort=ascending]")[0].text.startswith("System")
    heads[1].click()
    browser.reads(SYSTEMS, ["rag", "plain-llm", "keyword"])
    browser.find("#lb-filter").send_keys("PLAIN")
    browser.reads(SYSTEMS, ["plain-llm"])
    browser.find("#lb-filter").clear()
    browser.find("#lb-filter").send_keys(Keys.BACKSPACE)
    Select(browser.find("#lb-metric")).select_by_value("citation.f1")
    browser.until(lambda: "23 of 24" in browser.find("#lb-table").text)
    table = browser.find("#lb-table").text
    assert "0.861" in table
    assert "1 not applicable" in table
    Select(browser.find("#lb-slice")).select_by_visible_text("question_type=unanswerable")
    browser.until(lambda: "of 24" not in browser.find("#lb-table").text)


def test_intervals_stand_below_means_and_only_significant_bests_have_badges(
    browser: Browser, handbook: Report
) -> None:
    browser.open(handbook.page("mail-routing"))
    mean = browser.all("#lb-table tbody td.num")[1].text
    assert re.fullmatch(r"0\.875\n0\.\d{3} to 0\.\d{3}", mean)
    # No system is significantly worse, so that a badge on each would say nothing.
    browser.reads("#lb-table tbody .badge", [])
    assert "failed" not in browser.find("#lb-table").text
    browser.open(handbook.page("deck-hand-exam"))
    Select(browser.find("#lb-metric")).select_by_value("option_confidence.phi")
    browser.reads("#lb-table tbody .badge", ["best"])
    assert browser.find("#lb-table tbody tr").text.split()[:3] == ["1", "certain", "best"]


def test_systems_that_cannot_be_distinguished_from_the_best_have_badges(
    browser: Browser, tmp_path: Path
) -> None:
    n = 60
    write(
        tmp_path / "questions.jsonl",
        ({"question_id": f"q{at}", "question": "Which?", "expected_label": "a"} for at in range(n)),
    )
    for system, right in (("first", n - 1), ("second", n - 3), ("last", 3)):
        write(
            tmp_path / f"labels_{system}.jsonl",
            ({"question_id": f"q{at}", "label": "a" if at < right else "b"} for at in range(n)),
        )
    desks = Benchmark(
        name="desks",
        questions=tmp_path / "questions.jsonl",
        predictions=tmp_path / "labels_{system}.jsonl",
        evaluators=(catalog.build("classification"),),
    )
    browser.open(published(project_in(tmp_path, desks)).page("desks"))
    browser.reads(SYSTEMS, ["first", "second", "last"])
    # Neither of the first two is significantly better than the other: there is no winner.
    browser.reads("#lb-table tbody .badge", ["tied", "tied"])
    rows = browser.texts("#lb-table tbody tr")
    assert ["tied" in row for row in rows] == [True, True, False]
    assert browser.all("#lb-table tbody strong") == []


def test_every_confusion_matrix_has_its_copies_below(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("mail-routing"))
    inside = "return [...arguments[0].children].map((each) => each.classList[0])"
    matrices = browser.all(".matrices > div")
    assert len(matrices) == 3
    for matrix in matrices:
        assert browser.run(inside, matrix) == ["wide", "fine"]


def test_curves_can_be_selected_added_zoomed_and_read(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("deck-hand-exam"))
    browser.see("[data-chart=phi]")
    browser.find("[data-chart=phi][data-drawn=yes]")
    place = "document.querySelector('[data-chart=phi]')"
    visible = (
        f"return [...{place}.querySelectorAll('.mark-line path')]"
        ".filter((e) => +getComputedStyle(e).opacity > 0.5).length"
    )
    assert browser.run(visible) == 4

    labels = browser.all("[data-chart=phi] .role-legend-label text")
    assert len(labels) == 4
    labels[0].click()
    browser.until(lambda: browser.run(visible) == 1)
    actions = ActionChains(browser.driver)
    actions.key_down(Keys.SHIFT).click(labels[1]).key_up(Keys.SHIFT).perform()
    browser.until(lambda: browser.run(visible) == 2)

    domain = f"return {place}.view.scale('x').domain()"
    assert browser.run(domain) == [0, 1]
    chart = browser.find("[data-chart=phi] svg")
    origin = ActionChains(browser.driver).move_to_element(chart)
    origin.perform()
    browser.until(lambda: browser.find("#vg-tooltip-element.visible"))
    tooltip = browser.find("#vg-tooltip-element").text
    assert "Questions above" in tooltip
    assert "%" in tooltip
    browser.run(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -300, bubbles: true, "
        "cancelable: true, ctrlKey: true, clientX: arguments[1], clientY: arguments[2]}))",
        browser.find("[data-chart=phi] svg .background"),
        *browser.run(
            "const r = arguments[0].getBoundingClientRect(); return [r.x + r.width / 2, r.y + 80]",
            chart,
        ),
    )
    browser.until(lambda: browser.run(domain) != [0, 1])
    browser.click("[data-reset=phi]")
    browser.until(lambda: browser.run(domain) == [0, 1])


def test_a_score_in_the_heat_map_opens_the_answer(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("handbook-answers"))
    browser.see("#questions")
    first = browser.find("#heat-table tbody tr")
    assert first.text.startswith("q020")  # where all systems fail
    browser.find("#heat-filter").send_keys("tandem")
    browser.until(lambda: len(browser.all("#heat-table tbody tr")) == 1)
    browser.click("#heat-table .cell[aria-label*='keyword']")
    browser.reads(ANSWERING, ["keyword", "rag"])
    shown = browser.find("#sample").text
    assert "Question q015" in shown
    assert "citation.f1" in shown
    assert "relevant" in browser.find("#answers").get_attribute("textContent")
    browser.click("#chosen input[value='plain-llm']")
    # In the order of choice.
    browser.reads(ANSWERING, ["keyword", "rag", "plain-llm"])
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.until(lambda: not browser.find("#sample").is_displayed())
    browser.until(lambda: browser.run("return document.activeElement.className") == "cell")


def test_two_systems_question_by_question(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("handbook-answers"))
    browser.see("#comparison")
    browser.find("#cmp-table tbody .num")
    rows = len(browser.all("#cmp-table tbody tr"))
    assert "17 questions favour the first, 3 the second" in browser.find("#cmp-verdict").text
    assert rows == 20
    browser.click("#cmp-only")
    browser.until(lambda: "1 to 20 of 24" in browser.find("#cmp-table").text)
    browser.click("#cmp-table .pages button:last-child")
    browser.until(lambda: len(browser.all("#cmp-table tbody tr")) == 4)
    Select(browser.find("#cmp-b")).select_by_value("plain-llm")
    browser.until(lambda: "plain-llm" in browser.find("#cmp-table thead").text)
    browser.click("#cmp-table tbody button.link")
    browser.reads(ANSWERING, ["rag", "plain-llm"])


def test_problems_and_insights_open_their_questions(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("handbook-answers"))
    browser.click("#overview details summary")
    browser.click("#overview [data-question='q020']")
    browser.find("#answers tbody")
    assert "q020" in browser.find("#sample-title").text
    browser.click("#sample-close")
    browser.see("#problems")
    before = len(browser.all("#problems-table tbody tr"))
    browser.find("#problems-filter").send_keys("failed answers")
    browser.until(lambda: 0 < len(browser.all("#problems-table tbody tr")) < before)
    assert "plain-llm" in browser.find("#problems-table").text


@pytest.mark.parametrize(
    ("benchmark", "panels"),
    [
        ("mail-routing", ["classification", "cost_and_time"]),
        ("help-desk", ["pass_fail"]),
        ("noisy-passages", ["noise"]),
        ("deck-hand-exam", ["confidence_curves"]),
    ],
)
def test_pages_show_the_panels_that_have_content(
    browser: Browser, handbook: Report, benchmark: str, panels: list[str]
) -> None:
    browser.open(handbook.page(benchmark))
    every = {"pass_fail", "classification", "confidence_curves", "noise", "cost_and_time"}
    found = {each.get_attribute("id") for each in browser.all("main > section")}
    assert found & every == set(panels)
    for panel in panels:
        for chart in browser.all(f"#{panel} [data-chart]"):
            browser.run("arguments[0].scrollIntoView()", chart)
            browser.until(lambda chart=chart: chart.get_attribute("data-drawn") == "yes")


PAGES = ("mail-routing", "deck-hand-exam", "help-desk", None)
EVERYDAY = {("mail-routing", False), ("help-desk", True), (None, False)}
"""The pages, in light or dark mode, of the everyday tests; the others take minutes."""


@pytest.mark.parametrize(
    ("benchmark", "dark"),
    [
        pytest.param(page, dark, marks=() if (page, dark) in EVERYDAY else takes_minutes)
        for page in PAGES
        for dark in (False, True)
    ],
)
def test_axe_finds_no_serious_violations(
    browser: Browser, handbook: Report, benchmark: str | None, *, dark: bool
) -> None:
    browser.open(handbook.index if benchmark is None else handbook.page(benchmark), dark=dark)
    if benchmark is not None:
        for chart in browser.all("[data-chart]"):
            browser.run("arguments[0].scrollIntoView()", chart)
            browser.until(lambda chart=chart: chart.get_attribute("data-drawn") == "yes")
        browser.see("#questions")
        browser.find("#heat-table .cell")
    assert browser.barriers() == []
    if benchmark is not None:
        browser.click("#heat-table .cell")
        browser.find("#answers tbody")
        assert browser.barriers() == []


def test_facets_of_the_leaderboard_start_at_zero(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("ticket-counter"))
    browser.see("[data-chart=leaderboard]")
    browser.find("[data-chart=leaderboard][data-drawn=yes]")
    labels = browser.texts("[data-chart=leaderboard] .role-axis-label text")
    numbers = [label for label in labels if label.replace(".", "").isdigit()]
    assert numbers.count("0.0") == 8
