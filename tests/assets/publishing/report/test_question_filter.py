"""The filter of the questions: by texts, scores, labels and tags; a link keeps it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.support.select import Select

from assets.project import Benchmark
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.assets.publishing.report.test_phone_and_print import INSIDE, PHONE
from tests.assets.publishing.report.test_state_in_address import address, is_open, value, visit
from tests.support.services import takes_minutes
from warehouse.ingest.labels import import_labels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

HOSTILE = "<img src=x onerror='window.struck = 1'>"
SYSTEMS = ("a", f"b {HOSTILE}", "c")
GOLD = [f"S{n}" for n in range(10)]
# By question, how many of ten cited sentences are right in the answers of a, b and c; None: failed.
RIGHT: dict[str, tuple[int | None, ...]] = {
    "all-right": (10, 10, 10),
    "all-wrong": (1, 2, 0),
    "only-b": (10, 3, 8),
    "only-c": (10, 10, None),
    "no-gold": (0, 0, 0),
    "at-limit": (7, 7, 7),
}
ANSWERS = {("only-b", SYSTEMS[1]): f"The NEEDLE is {HOSTILE} here", ("all-right", "c"): "needles"}
TAGS = {"all-right": HOSTILE, "all-wrong": HOSTILE}
IDS = "#heat-table tbody button.link bdi"


def cited(right: int) -> list[str]:
    return [*GOLD[:right], *(f"wrong-{n}" for n in range(10 - right))]


def prediction(question: str, system: str, right: int | None) -> dict[str, Any]:
    given: dict[str, Any] = {"question_id": question, "system": system}
    if right is None:
        return {**given, "error": "down"}
    text = ANSWERS.get((question, system), "nothing")
    return {**given, "answer": text, "cited_sentence_ids": cited(right)}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    home = tmp_path_factory.mktemp("filter")
    questions = (
        {
            "question_id": name,
            "question": f"Is {name} a needle?" if name == "at-limit" else f"What is {name}?",
            "gold_sentence_ids": None if name == "no-gold" else GOLD,
            "tags": {"kind": TAGS.get(name, "plain")},
        }
        for name in RIGHT
    )
    write(home / "questions.jsonl", questions)
    answers = (
        prediction(name, system, right)
        for name, values in RIGHT.items()
        for system, right in zip(SYSTEMS, values, strict=True)
    )
    write(home / "predictions.jsonl", answers)
    benchmark = Benchmark(
        name="b",
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=(catalog.build("citation"),),
        # 0.7 is no 32-bit number: a score of 0.7 that is read as one must still pass.
        thresholds={"citation.f1": 0.7},
        default_threshold="none",
    )
    project = project_in(home, benchmark)
    published(project)
    # Two people pass a wrong answer on average, one fails a wrong one.
    labels = [("all-wrong", 1.0, "p1"), ("all-wrong", 0.5, "p2"), ("only-b", 0.0, "p1")]
    lines = [
        {
            "benchmark": "b",
            "system": SYSTEMS[1],
            "question_id": name,
            "evaluator": "citation",
            "metric": "f1",
            "value": label,
            "annotator": annotator,
        }
        for name, label, annotator in labels
    ]
    file = home / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    scales = {"b": {("citation", "f1"): (0.0, 1.0)}}
    import_labels(project.open_warehouse(), file, scales)
    shutil.rmtree(project.publish / "report")  # the folders of the last report stay until the next
    return published(project)


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error, runs a hostile text or requests a remote address."""
    yield
    assert browser.run("return window.struck") is None
    assert browser.complaints() == []


def shown(browser: Browser, *expected: str) -> None:
    """Wait until the heat map has these questions, in any order."""
    browser.until(lambda: set(browser.texts(IDS)) == set(expected))


def begin(browser: Browser, report: Report, address: str = "") -> None:
    visit(browser, report, "b", address)
    browser.see("#questions")
    browser.find("#heat-table tbody tr")


def chip(browser: Browser, kind: str) -> None:
    browser.click(f"#heat-only input[value={kind}]")


def counts(browser: Browser) -> list[str]:
    return browser.texts("#heat-count")


def loads_answers(browser: Browser) -> bool:
    """Whether the page has loaded answers since the last call."""
    return any(
        "answers-0.js" in entry["message"] for entry in browser.driver.get_log("performance")
    )


def test_chips_filter_by_scores_and_labels(browser: Browser, report: Report) -> None:
    begin(browser, report)
    browser.reads("#heat-count", ["6 questions"])
    expected = {
        "failed": {"only-c"},
        "all_wrong": {"all-wrong"},
        "not_scored": {"no-gold"},
        "disagreement": {"all-wrong"},
    }
    for kind, questions in expected.items():
        chip(browser, kind)
        shown(browser, *questions)
        assert counts(browser) == [f"{len(questions)} of 6 questions"]
        text = browser.run(
            f"return document.querySelector('[value={kind}]').parentElement.innerText"
        )
        assert text.split()[-1] == str(len(questions))
        chip(browser, kind)
        shown(browser, *RIGHT)
    meaning = browser.find("#heat-meaning").text
    assert "citation.f1 below 0.7, the threshold of the leaderboard" in meaning
    # Several chips leave the questions of all of them.
    chip(browser, "failed")
    chip(browser, "all_wrong")
    shown(browser)
    assert "Nothing found" in browser.find("#heat-table").text
    assert counts(browser) == ["0 of 6 questions"]
    browser.click("#heat-clear")
    shown(browser, *RIGHT)


def test_the_middle_of_the_scale_is_the_limit_without_a_threshold(
    browser: Browser, report: Report
) -> None:
    begin(browser, report, "#metric=citation.precision")
    assert "citation.precision below 0.5, the middle" in browser.find("#heat-meaning").text
    # There are labels for another metric only.
    assert not browser.find("#heat-only input[value=disagreement]").is_displayed()


def test_only_one_system_is_wrong(browser: Browser, report: Report) -> None:
    begin(browser, report)
    select = Select(browser.find("#heat-wrong"))
    for system, questions in zip(SYSTEMS, (set(), {"only-b"}, {"only-c"}), strict=True):
        select.select_by_value(system)
        shown(browser, *questions)
    select.select_by_value("")
    shown(browser, *RIGHT)


def test_tags_are_chosen(browser: Browser, report: Report) -> None:
    begin(browser, report)
    select = Select(browser.find("#heat-tag"))
    texts = [option.text for option in select.options]
    assert texts == ["any", f"kind={HOSTILE} (2)", "kind=plain (4)"]
    select.select_by_value(f"kind={HOSTILE}")
    shown(browser, "all-right", "all-wrong")


def test_a_text_is_found_in_questions_or_also_in_answers(browser: Browser, report: Report) -> None:
    begin(browser, report)
    browser.find("#heat-filter").send_keys("NEEDLE")
    shown(browser, "at-limit")
    assert not loads_answers(browser)
    browser.click("#heat-answers")
    shown(browser, "at-limit", "only-b", "all-right")
    assert loads_answers(browser)
    assert counts(browser) == ["3 of 6 questions"]
    found = browser.texts("#heat-table .found")
    cut = f"The NEEDLE is {HOSTILE} here"[: len("The NEEDLE") + 40]
    assert sorted(found) == sorted([f"{SYSTEMS[1]}: {cut}…", "c: needles"])
    assert browser.texts("#heat-table .found mark") in (["NEEDLE", "needle"], ["needle", "NEEDLE"])
    browser.find("#heat-filter").send_keys(" is <img")
    shown(browser, "only-b")
    browser.find("#heat-filter").send_keys("!")
    shown(browser)
    text = browser.find("#heat-table").text
    assert "Nothing found: no question and no answer contains “NEEDLE is <img!”" in text


def test_a_missing_file_of_answers_is_named(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    browser.driver.get("about:blank")
    page = report.page("b")
    answers = page.parent / "data" / "answers-0.js"
    moved = answers.rename(tmp_path / "answers-0.js")
    try:
        begin(browser, report, "#text=needle&in=answers")
        browser.until(lambda: "answers-0.js beside this page is missing" in counts(browser)[0])
        shown(browser, "at-limit")
    finally:
        moved.rename(answers)
    browser.complaints()  # the browser names the missing file
    browser.fetched.clear()


def test_the_address_keeps_the_filter_and_next_walks_it(browser: Browser, report: Report) -> None:
    begin(browser, report)
    Select(browser.find("#heat-order")).select_by_value("id")
    browser.find("#heat-filter").send_keys("what is ")
    Select(browser.find("#heat-tag")).select_by_value("kind=plain")
    shown(browser, "no-gold", "only-b", "only-c")
    kept = f"order=id&text={quote('what is ')}&tag=kind%3Dplain"
    browser.until(lambda: address(browser) == f"#{kept}")
    browser.click("#heat-table .cell")
    browser.find("#answers thead")
    browser.until(lambda: "q=no-gold" in address(browser))
    assert "1 of 3" in browser.find("#sample-title").text
    link = address(browser)
    assert kept in link
    browser.driver.back()
    browser.until(lambda: not is_open(browser))
    assert address(browser) == f"#{kept}"
    shown(browser, "no-gold", "only-b", "only-c")

    # A link restores the filter, and Next follows it at once.
    visit(browser, report, "b", link)
    browser.until(lambda: "1 of 3" in browser.find("#sample-title").text)
    assert value(browser, "#heat-filter") == "what is "
    assert value(browser, "#heat-tag") == "kind=plain"
    title = "#sample-title bdi"
    for key, question in (("j", "only-b"), (Keys.ARROW_RIGHT, "only-c"), ("k", "only-b")):
        ActionChains(browser.driver).send_keys(key).perform()
        browser.reads(title, [question])
    browser.click("#sample-next")
    browser.reads(title, ["only-c"])
    assert not browser.find("#sample-next").is_enabled()


def test_back_undoes_a_filter_of_a_link(browser: Browser, report: Report) -> None:
    """Each part of the filter is read from an address that the reader changes."""
    begin(browser, report, "#only=failed,not_scored")
    shown(browser)
    browser.run("location.hash = '#only=failed'")
    shown(browser, "only-c")
    browser.run(f"location.hash = '#wrong={quote(SYSTEMS[1], safe='')}'")
    shown(browser, "only-b")
    assert not browser.find("#heat-only input[value=failed]").is_selected()
    browser.driver.back()
    shown(browser, "only-c")


def test_typing_at_once_before_a_question_is_opened_is_kept(
    browser: Browser, report: Report
) -> None:
    begin(browser, report)
    typed = (
        "const field = document.querySelector('#heat-filter'); field.value = 'at-limit';"
        "field.dispatchEvent(new Event('input'));"
    )
    browser.run(typed)
    shown(browser, "at-limit")
    browser.run(f"document.querySelector('{IDS}').click()")
    browser.find("#answers thead")
    browser.driver.back()
    browser.until(lambda: not is_open(browser))
    assert address(browser) == "#text=at-limit"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_while_a_filter_is_set(
    browser: Browser, report: Report, *, dark: bool
) -> None:
    browser.open(report.page("b"), dark=dark)
    browser.see("#questions")
    browser.find("#heat-table .cell")
    browser.click("#heat-answers")
    browser.find("#heat-filter").send_keys("needle")
    shown(browser, "at-limit", "only-b", "all-right")
    assert browser.barriers(ignored=()) == []
    chip(browser, "failed")
    shown(browser)
    assert browser.barriers(ignored=()) == []


def test_paper_has_the_filter_and_a_phone_fits_it(browser: Browser, report: Report) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        begin(browser, report, "#only=all_wrong&tag=kind%3Dplain")
        assert browser.run(INSIDE, browser.find("html"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        visible = (
            "return [...document.querySelectorAll('#heat-only label')]"
            ".filter((e) => e.checkVisibility()).map((e) => e.textContent.trim().split(' ')[0])"
        )
        assert browser.run(visible) == ["all", "Tag"]
        assert browser.find("#heat-count").text == "0 of 6 questions"
        assert not browser.find("#heat-clear").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
