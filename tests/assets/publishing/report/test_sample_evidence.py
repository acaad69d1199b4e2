"""A question shows word differences, marked sentences, and what the judge was asked and cost."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from assets.publishing.report.templates_env import PAGE
from tests.assets.conftest import write
from tests.assets.publishing.report.conftest import Report
from tests.assets.publishing.report.test_answers_side_by_side import lines, rows
from tests.assets.publishing.report.test_phone_and_print import INSIDE, PHONE
from tests.assets.publishing.report.test_state_in_address import visit
from tests.support.command import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

HOSTILE = "<img src=x onerror='window.struck = 1'>"
CITED = f"Ten-trip boats (a+b) leave at [eight] \\d {HOSTILE}."
GOLD = "Dogs travel free."
FREE, LATE = "Dogs travel  free.", f"The last boat leaves at nine {HOSTILE}."
ANSWER = f"{FREE} {LATE}"
CONFIGURATION = """\
judge:
  model: recorded:said.jsonl
benchmarks:
  b:
    questions: questions.jsonl
    documents: documents.jsonl
    predictions: predictions.jsonl
    evaluators: [citation, faithfulness, trace]
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    home = tmp_path_factory.mktemp("evidence")
    (home / "scoreline.yaml").write_text(CONFIGURATION, encoding="utf-8")
    sentences = [{"sid": "S1", "text": CITED}, {"sid": "S2", "text": GOLD}]
    write(home / "documents.jsonl", [{"doc_id": "d", "sentences": sentences}])
    question = {
        "question_id": "q",
        "question": f"Do dogs pay? {HOSTILE}",
        "doc_id": "d",
        "gold_sentence_ids": ["S2"],
        "expected_answer": ["Something else entirely", "Dogs travel free, always."],
    }
    write(home / "questions.jsonl", [question, {**question, "question_id": "unjudged"}])
    answer = {
        "question_id": "q",
        "system": "rag",
        "answer": ANSWER,
        "cited_sentence_ids": ["S1"],
        "contexts": [f"First. {CITED.replace(' ', '  ')} Then.", f"x {GOLD.upper()}"],
        "latency_s": 1.25,
        "cost_usd": 0.002,
    }
    other = {"question_id": "q", "system": "same", "answer": "Dogs travel free, always."}
    failed = {"question_id": "q", "system": "down", "error": f"no {HOSTILE}"}
    blank = {"question_id": "unjudged", "system": "rag", "answer": ""}
    write(home / "predictions.jsonl", [answer, other, failed, blank])
    claims = [("a", "No dog pays."), ("b", LATE)]
    trace = {
        "relevance_explanation": HOSTILE,
        "all_relevant_sentence_keys": [],
        "sentence_support_information": [
            {
                "response_sentence_key": key,
                "explanation": "",
                "supporting_sentence_keys": [],
                "fully_supported": False,
            }
            for key in "ab"
        ],
        "overall_supported_explanation": "",
        "overall_supported": False,
        "all_utilized_sentence_keys": [],
    }
    stated = [{"sentence": key, "text": text} for key, text in claims]
    verdicts = [
        {"statement": f"s{n}", "reasoning": HOSTILE, "passages": [], "supported": False}
        for n in (1, 2)
    ]
    said: list[dict[str, Any]] = [
        {"evaluator": "trace", "reply": trace},
        {"evaluator": "faithfulness", "reply": {"noncommittal": False, "statements": stated}},
        {"evaluator": "faithfulness", "step": 1, "reply": {"verdicts": verdicts}},
    ]
    lines_ = (json.dumps({"question_id": "q", "system": "rag", **each}) for each in said)
    (home / "said.jsonl").write_text("\n".join(lines_), encoding="utf-8")
    done = scoreline(home, "run")
    assert done.code == 0, done.err
    return Report(home / "published")


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error, runs a hostile text or requests a remote address."""
    yield
    assert browser.run("return window.struck") is None
    assert browser.complaints() == []


def opened(browser: Browser, report: Report, address: str = "#q=q&systems=rag,same") -> None:
    visit(browser, report, "b", address)
    browser.find("#answers tbody")


def shown(browser: Browser, head: str, column: int = 0) -> str:
    """The text of a cell, also where it is folded."""
    script = (
        "return [...document.querySelectorAll('#answers tbody tr')]"
        ".find((row) => row.cells[0].textContent === arguments[0])?"
        ".cells[1 + arguments[1]].textContent"
    )
    return str(browser.run(script, head, column))


def test_words_are_compared_with_the_nearest_expected_answer(
    browser: Browser, report: Report
) -> None:
    opened(browser, report)
    cell = "#answers tbody tr:nth-child(2) td"
    # Of "Dogs travel free, always." the answer has all but the comma and a word.
    assert browser.texts(f"{cell} del") == [", always"]
    assert "The last boat leaves at nine <img" in browser.texts(f"{cell} ins")[0]
    found = rows(browser)["Compared with the expected answer"]
    assert "The nearest of 2 expected answers: " in found[0]
    # 3 words and the full stop are the same; a comma and "always" are missing.
    assert re.search(r"4 the same, \d+ only in the answer, 2 only expected\.", found[0])
    assert found[1] == "The nearest of 2 expected answers: the same words."
    # Read aloud and printed, not only coloured.
    decoration = "return getComputedStyle(document.querySelector(arguments[0])).textDecorationLine"
    assert browser.run(decoration, f"{cell} ins") == "underline"
    assert browser.run(decoration, f"{cell} del") == "line-through"
    said = "return getComputedStyle(document.querySelector(arguments[0]), '::before').content"
    assert browser.run(said, f"{cell} ins") == '" [only in the answer: "'
    assert browser.run(said, f"{cell} del") == '" [only expected: "'


def test_cited_sentences_are_marked_in_their_passages(browser: Browser, report: Report) -> None:
    opened(browser, report)
    assert shown(browser, "Retrieved").startswith("2 passages, 2 sentences marked")
    assert browser.texts("#answers .contexts mark.cited") == [CITED.replace(" ", "  ")]
    assert browser.texts("#answers .contexts mark.evidence") == [GOLD.upper()]
    notes = browser.texts("#answers .contexts mark + .badge")
    assert notes == ["S1: cited, not evidence", "S2: not cited, evidence"]


def test_unsupported_statements_are_marked_or_listed(browser: Browser, report: Report) -> None:
    opened(browser, report)
    answer = "#answers tbody tr:first-child td:nth-child(2)"
    # Both sentences by TRACE; faithfulness names one of them in other words.
    assert browser.texts(f"{answer} mark.unsupported") == [FREE, LATE]
    badges = browser.texts(f"{answer} mark + .badge")
    assert badges == ["not supported: trace", "not supported: faithfulness, trace"]
    assert browser.texts(f"{answer} li .unsupported") == ["No dog pays."]
    assert lines(rows(browser)["trace"][0])[1] == (
        "the passages support 0 of 2 sentences of the answer"
    )


def test_the_judge_s_messages_load_when_they_are_opened(browser: Browser, report: Report) -> None:
    opened(browser, report)
    assert shown(browser, "Judge").startswith("3 calls")
    browser.driver.get_log("performance")
    for summary in browser.all("#answers tr:last-child summary, #answers .asked summary"):
        browser.run("arguments[0].click()", summary)
    for summary in browser.all("#answers details:not([open]):has(.asked) > summary"):
        browser.run("arguments[0].click()", summary)
    browser.until(lambda: len(browser.all("#answers .asked h5")) == 6)
    loaded = [each["message"] for each in browser.driver.get_log("performance")]
    assert sum("prompts-0.js" in each and 'requestWillBeSent"' in each for each in loaded) == 1
    assert browser.texts("#answers .asked h5") == ["system", "user"] * 3
    text = shown(browser, "Judge")
    assert f"Do dogs pay? {HOSTILE}" in text
    assert "Reply with one JSON object" in text
    with_tags = "return document.querySelectorAll('#sample :is(img, script)').length"
    assert browser.run(with_tags) == 0


def test_time_and_cost_of_answer_and_judge(browser: Browser, report: Report) -> None:
    opened(browser, report, "#q=q&systems=rag,down")
    spent, failed = rows(browser)["Time and cost"]
    assert lines(spent)[0] == "answer: 1.25 s, $0.0020"
    assert re.fullmatch(r"judge, 3 calls: .* s, \$0\.00", lines(spent)[1])
    assert failed == "none"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_with_all_details_open(
    browser: Browser, report: Report, *, dark: bool
) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    opened(browser, report)
    browser.run("for (const e of document.querySelectorAll('#sample details')) e.open = true")
    browser.until(lambda: len(browser.all("#answers .asked h5")) == 6)
    assert browser.barriers(ignored=("minor",)) == []


def test_a_phone_fits_it_and_paper_has_the_open_question(browser: Browser, report: Report) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        opened(browser, report)
        assert browser.run(INSIDE, browser.find("#sample-body"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.find("#answers").is_displayed()
        assert not browser.find("main").is_displayed()
        assert not browser.find("#sample-next").is_displayed()
        whole = "return arguments[0].scrollHeight <= arguments[0].clientHeight + 1"
        assert browser.run(whole, browser.find("#sample-body"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


WORDS = ("a", "b", "c", ".")


@cache
def longest(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The length of the longest common subsequence, by its definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest(one[1:], other[1:])
    return max(longest(one[1:], other), longest(one, other[1:]))


def test_word_steps_lead_from_one_text_to_the_other(browser: Browser, report: Report) -> None:
    opened(browser, report)
    draw = random.Random(5)
    pairs = [
        [[draw.choice(WORDS) for _ in range(draw.randrange(9))] for _ in "ab"] for _ in range(300)
    ]
    script = (PAGE / "sample" / "02-word-difference.js").read_text(encoding="utf-8")
    call = (
        "const listed = (texts) => texts.map((text) => ({ text, space: ' ' }));"
        "return arguments[0].map(([one, other]) => wordSteps(listed(one), listed(other))"
        ".map(({ kind, word }) => [kind, word.text]))"
    )
    for (one, other), steps in zip(pairs, browser.run(script + call, pairs), strict=True):
        assert [word for kind, word in steps if kind != "ins"] == one
        assert [word for kind, word in steps if kind != "del"] == other
        same = sum(kind == "same" for kind, _ in steps)
        assert same == longest(tuple(one), tuple(other))


def test_words_are_found_without_spaces_and_long_texts_are_left(
    browser: Browser, report: Report
) -> None:
    opened(browser, report)
    script = (PAGE / "sample" / "02-word-difference.js").read_text(encoding="utf-8")
    words = "return wordsOf(arguments[0]).map(({ text, space }) => [text, space])"
    assert browser.run(script + words, "Two words.\n") == [["Two", " "], ["words", ""], [".", "\n"]]
    chinese = browser.run(script + words, "渡轮八点开船")
    assert len(chinese) > 1
    assert "".join(text for text, _ in chinese) == "渡轮八点开船"
    long = (
        "const words = (n, text) => Array.from({ length: n }, () => ({ text, space: ' ' }));"
        "return [wordSteps(words(2001, 'a'), words(2000, 'b')),"
        " wordSteps(words(9000, 'a'), words(9000, 'a')).length]"
    )
    assert browser.run(script + long) == [None, 9000]
