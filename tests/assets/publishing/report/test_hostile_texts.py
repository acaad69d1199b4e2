"""Hostile texts stay text wherever the report shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from assets.project import Benchmark, Gate
from evaluators import catalog
from records.record import CONTROL
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

SCRIPT = "</script><script>window.struck = 1</script><img src=x onerror='window.struck = 2'>"
RIGHT_TO_LEFT = "\u202e\u0645\u0631\u062d\u0628\u0627 <b>bold</b>"
TEXTS = {
    "q-1": SCRIPT,
    "q-2": "# Heading\n[link](javascript:window.struck=3) **bold** {{ 7 * 7 }} {% raw %}",
    "q-3": RIGHT_TO_LEFT,
    "q-4": "🙂👩‍👩‍👧‍👦 \u2028\u2029\u0000 <!-- <script>",
    "q-5": "x" * 100_000,
    "q-6": '=HYPERLINK("http://127.0.0.1:9/steal";"click")',
}
SYSTEM = "<i>sys</i>\u202e|`x`"


def printable(text: str) -> str:
    """Return a text without the characters that ids and names must not contain."""
    return re.sub(CONTROL, "", text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    home = tmp_path_factory.mktemp("hostile")
    kept = {name: text.replace("\u0000", "") for name, text in TEXTS.items()}
    write(
        home / "questions.jsonl",
        (
            {
                "question_id": name + SCRIPT,
                "question": text,
                "expected_answer": text,
                "expected_label": printable(text[:40]),
                "gold_doc_ids": [printable(text[:50])],
                "tags": {"kind": printable(text[:60])},
            }
            for name, text in kept.items()
        ),
    )
    write(
        home / "predictions.jsonl",
        (
            {
                "question_id": name + SCRIPT,
                "system": system,
                "answer": text,
                "label": text[:40],
                "retrieved": [{"doc_id": printable(text[:50]), "text": text, "score": 1.0}],
                "cited_sentence_ids": [printable(text[:30])],
                "cost_usd": 0.1,
                "latency_s": 1.5,
            }
            for name, text in kept.items()
            for system in (SYSTEM, "plain")
        ),
    )
    names = ("document_retrieval", "classification", "rouge")
    benchmark = Benchmark(
        name="hostile",
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=tuple(catalog.build(name) for name in names),
        slices=("kind",),
        gates=(
            Gate(system="plain", baseline=SYSTEM),
            Gate(metrics=("classification.accuracy",), max=1.0),
        ),
    )
    return published(project_in(home, benchmark))


def test_hostile_texts_neither_run_nor_become_elements(browser: Browser, hostile: Report) -> None:
    for page in (hostile.index, hostile.page("hostile")):
        browser.open(page)
        assert (
            browser.run("return document.querySelectorAll('bdi i, bdi b, img, iframe').length") == 0
        )
        shown = browser.run("return document.body.textContent")
        assert SYSTEM.replace("\u202e", "\\u202e") in shown
        assert "\u202e" not in shown
    for chart in browser.all("[data-chart]"):
        browser.run("arguments[0].scrollIntoView()", chart)
        browser.until(lambda chart=chart: chart.get_attribute("data-drawn") == "yes")
    browser.see("#questions")
    browser.find("#heat-table .cell")
    for at in range(len(TEXTS)):
        browser.run(
            "document.querySelectorAll('#heat-table tbody button.link')[arguments[0]].click()", at
        )
        browser.find("#answers tbody")
        browser.run("for (const e of document.querySelectorAll('#sample details')) e.open = true")
        assert (
            browser.run(
                "return document.querySelectorAll("
                "'#sample :is(img, script, i, b, a:not(dl a))').length"
            )
            == 0
        )
        browser.click("#sample-close")
    assert browser.run("return window.struck") is None
    assert browser.barriers() == []
    assert browser.complaints() == []


def test_long_texts_are_folded_and_unfold(browser: Browser, hostile: Report) -> None:
    browser.open(hostile.page("hostile"))
    browser.see("#questions")
    browser.find("#heat-filter").send_keys("q-5")
    browser.until(lambda: len(browser.all("#heat-table tbody tr")) == 1)
    browser.click("#heat-table .cell")
    browser.find("#answers tbody")
    answer = "#answers tbody:first-of-type tr:first-child .prose"
    assert len(browser.texts(answer)[0]) < 2_000
    wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert browser.run(wide) is False
    browser.click(f"{answer} button")
    assert len(browser.texts(answer)[0]) == 100_000
    assert browser.complaints() == []


def test_text_directions_are_isolated(browser: Browser, hostile: Report) -> None:
    browser.open(hostile.page("hostile"))
    isolated = (
        "return [...document.querySelectorAll('bdi, [dir=auto]')]"
        ".every((e) => getComputedStyle(e).unicodeBidi.includes('isolate'))"
    )
    assert browser.run(isolated) is True


def test_the_browser_reports_violations_and_requests(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html data-ready=yes><body><img src='http://127.0.0.1:9/x.png'>"
        "<p style='color: #ccc'>pale</p><script>console.error('oh')</script></body></html>",
        encoding="utf-8",
    )
    browser.open(page)
    barriers = browser.barriers()
    assert any("image-alt" in each for each in barriers)
    assert any("color-contrast" in each for each in barriers)
    complaints = browser.complaints()
    assert any("oh" in each for each in complaints)
    assert "http://127.0.0.1:9/x.png" in complaints
    browser.fetched.clear()
