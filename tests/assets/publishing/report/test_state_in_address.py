"""The address of a page holds what it shows: a link restores it, and Back closes a question."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.select import Select

from assets.project import Benchmark
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import published
from tests.assets.publishing.report.test_hostile_texts import SCRIPT, SYSTEM, hostile
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.assets.publishing.report.conftest import Report
    from tests.support.browser import Browser

__all__ = ["hostile"]

pytestmark = [pytest.mark.browser, takes_minutes]

SLICE = "question_type=unanswerable"
HASH = f"#q=q009&systems=plain-llm,rag&metric=citation.recall&slice={quote(SLICE, safe='')}"
ANSWERING = "#answers thead bdi"
HIDDEN_SYSTEM = "north\u202eriaf"


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report whose names have hidden characters."""
    home = tmp_path_factory.mktemp("hidden")
    ids = ["q", "q\u2067", "q\u200b"]
    write(
        home / "questions.jsonl",
        [
            {
                "question_id": each,
                "question": "Where?",
                "expected_label": "a",
                "tags": {"kind": "a" if each == "q" else "a\u2069"},
            }
            for each in ids
        ],
    )
    write(
        home / "predictions.jsonl",
        [
            {"question_id": each, "system": system, "label": "a", "answer": "a"}
            for each in ids
            for system in (HIDDEN_SYSTEM, "plain")
        ],
    )
    benchmark = Benchmark(
        name="bench\u202e",
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=(catalog.build("classification"),),
        slices=("kind",),
    )
    return published(project_in(home, benchmark))


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error or requests a remote address."""
    yield
    assert browser.complaints() == []


def visit(browser: Browser, report: Report, benchmark: str, address: str) -> None:
    browser.driver.get("about:blank")
    browser.driver.get(report.page(benchmark).absolute().as_uri() + address)
    browser.until(lambda: browser.run("return document.documentElement.dataset.ready") == "yes")


def address(browser: Browser) -> str:
    return str(browser.run("return location.hash"))


def is_open(browser: Browser) -> bool:
    return bool(browser.run("return document.querySelector('#sample').open"))


def wait_for_title(browser: Browser, question: str) -> None:
    browser.until(lambda: question in browser.find("#sample-title").text)


def value(browser: Browser, select: str) -> str:
    return str(browser.run("return document.querySelector(arguments[0]).value", select))


def test_a_link_restores_question_systems_metric_and_slice(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", HASH)
    browser.reads(ANSWERING, ["plain-llm", "rag"])
    assert "q009" in browser.find("#sample-title").text
    assert value(browser, "#lb-metric") == "citation.recall"
    assert value(browser, "#lb-slice") == SLICE
    assert value(browser, "#heat-metric") == "citation.recall"
    assert [value(browser, f"#cmp-{side}") for side in "ab"] == ["plain-llm", "rag"]
    assert address(browser) == HASH
    browser.click("#sample-close")
    browser.until(lambda: "q=" not in address(browser))
    assert value(browser, "#lb-slice") == SLICE
    # One question has no answer in the handbook.
    assert "of 1" in browser.find("#lb-table").text


def test_controls_write_the_address_and_back_closes_the_question(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", "")
    Select(browser.find("#lb-metric")).select_by_value("citation.f1")
    assert address(browser) == "#metric=citation.f1"
    Select(browser.find("#lb-slice")).select_by_value(SLICE)
    assert unquote(address(browser)) == f"#metric=citation.f1&slice={SLICE}"
    before = address(browser)
    browser.see("#questions")
    browser.click("#heat-table .cell")
    browser.find("#answers thead")
    browser.until(lambda: address(browser).startswith("#q=q020&systems=rag,"))
    browser.click("#sample-next")
    browser.until(lambda: address(browser).startswith("#q=q009&"))
    browser.driver.back()
    browser.until(lambda: not is_open(browser))
    assert address(browser) == before
    browser.driver.forward()
    browser.until(lambda: is_open(browser))
    browser.until(lambda: "q009" in browser.find("#sample-title").text)
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.until(lambda: address(browser) == before)
    assert not is_open(browser)


def test_copy_link_copies_the_address_of_what_is_shown(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "handbook-answers", HASH)
    browser.find("#answers thead")
    browser.click("#sample .copy-link")
    browser.until(lambda: browser.find("#sample .copy-link").text == "Copied")
    browser.click("#sample-close")
    browser.until(lambda: not is_open(browser))
    field = browser.see("#lb-filter")
    field.send_keys(Keys.CONTROL, "v")
    expected = handbook.page("handbook-answers").absolute().as_uri() + HASH
    browser.until(lambda: value(browser, "#lb-filter") == expected)


def test_names_and_ids_are_percent_encoded(browser: Browser, hostile: Report) -> None:
    # Pages and their addresses have hidden characters as escapes.
    question, systems = f"q-1{SCRIPT}", [SYSTEM.replace("\u202e", "\\u202e"), "plain"]
    encoded = ",".join(quote(system, safe="") for system in systems)
    visit(browser, hostile, "hostile", f"#q={quote(question, safe='')}&systems={encoded}")
    browser.reads(ANSWERING, systems)
    assert question in browser.find("#sample-title").text
    assert browser.run("return window.struck") is None
    browser.click("#sample-next")
    browser.until(lambda: question not in browser.find("#sample-title").text)
    parts = dict(part.split("=") for part in address(browser)[1:].split("&"))
    assert [unquote(system) for system in parts["systems"].split(",")] == systems


def test_an_address_may_have_hidden_characters(browser: Browser, hidden: Report) -> None:
    escaped = "north\\u202eriaf"
    for question in ("q\u2067", "q\u200b"):
        for start in (hidden.index, hidden.page("bench.*")):
            lasting = start == hidden.index
            named = f"q={question}&systems={HIDDEN_SYSTEM}"
            part = quote(f"bench\u202e/{question}" if lasting else named, safe="=&/")
            browser.driver.get("about:blank")
            browser.driver.get(f"{start.absolute().as_uri()}#{part}")
            shown = question[0] + question[1:].encode("unicode_escape").decode()
            wait_for_title(browser, shown)
            if not lasting:
                browser.reads(ANSWERING, [escaped, "plain"])
    visit(browser, hidden, "bench.*", f"#slice={quote('kind=a' + chr(0x2069), safe='')}")
    assert value(browser, "#lb-slice") == "kind=a\\u2069"


def test_the_permanent_link_leads_back_to_the_question(browser: Browser, hostile: Report) -> None:
    question = f"q-2{SCRIPT}"
    visit(browser, hostile, "hostile", f"#q={quote(question, safe='')}")
    browser.find("#answers thead")
    link = browser.find("#sample-body dl a").get_attribute("href") or ""
    start, _, encoded = link.partition("#hostile/")
    assert start == hostile.index.absolute().as_uri()
    assert unquote(encoded) == question
    browser.driver.get("about:blank")
    browser.driver.get(link)
    browser.until(lambda: question in browser.find("#sample-title").text)
    assert browser.driver.current_url.startswith(hostile.page("hostile").absolute().as_uri())


@pytest.mark.parametrize(
    "broken", ["#q=nowhere", "#q=%E0%A4%A", "#metric=x&slice=y&systems=z", "#&=&"]
)
def test_broken_links_open_the_page(browser: Browser, handbook: Report, broken: str) -> None:
    visit(browser, handbook, "handbook-answers", broken)
    browser.reads("#lb-table tbody bdi", ["rag", "keyword", "plain-llm"])
    assert not is_open(browser)


def test_next_follows_the_order_and_the_filter_of_the_heat_map(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", "")
    browser.see("#questions")
    browser.find("#heat-table .cell")
    browser.find("#heat-filter").send_keys("boat")
    browser.until(lambda: len(browser.all("#heat-table tbody tr")) < 10)
    visible = browser.texts("#heat-table tbody button.link bdi")
    assert visible != sorted(visible)
    assert len(visible) > 2
    browser.click("#heat-table tbody button.link")
    title = "#sample-title bdi"
    browser.reads(title, [visible[0]])
    assert f"1 of {len(visible)}" in browser.find("#sample-title").text
    assert not browser.find("#sample-back").is_enabled()
    keys = [Keys.ARROW_RIGHT, "j"]
    for at, question in enumerate(visible[1:]):
        ActionChains(browser.driver).send_keys(keys[at % 2]).perform()
        browser.reads(title, [question])
    assert not browser.find("#sample-next").is_enabled()
    ActionChains(browser.driver).send_keys("k").perform()
    browser.reads(title, [visible[-2]])
    ActionChains(browser.driver).send_keys(Keys.ARROW_LEFT).perform()
    browser.reads(title, [visible[-3]])


def test_next_follows_the_sorted_table_of_the_comparison(
    browser: Browser, handbook: Report
) -> None:
    visit(browser, handbook, "handbook-answers", "")
    browser.see("#comparison")
    browser.find("#cmp-table tbody .num")
    browser.click("#cmp-table thead button")  # by question, all pages
    browser.click("#cmp-table thead button")
    visible = browser.texts("#cmp-table tbody button.link bdi")
    assert visible == sorted(visible, reverse=True)
    browser.click("#cmp-table tbody button.link")
    browser.reads("#sample-title bdi", [visible[0]])
    browser.click("#sample-next")
    browser.reads("#sample-title bdi", [visible[1]])


def test_a_system_is_not_compared_with_itself(browser: Browser, handbook: Report) -> None:
    visit(browser, handbook, "handbook-answers", "")
    browser.see("#comparison")
    browser.find("#cmp-table tbody .num")
    for own, other in ("ab", "ba"):
        taken = value(browser, f"#cmp-{other}")
        (option,) = browser.all(f"#cmp-{own} option[value='{taken}']")
        assert not option.is_enabled()
