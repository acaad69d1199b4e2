"""The answers to one question stand in one table: aligned, in the order of choice, explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.project import Benchmark
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import published
from tests.assets.publishing.report.test_state_in_address import visit
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.assets.publishing.report.conftest import Report
    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

ROWS = (
    "return [...document.querySelectorAll('#answers tbody tr')].filter((e) => e.checkVisibility())"
    ".map((e) => [...e.cells].map((cell) => cell.innerText.trim()))"
)


def rows(browser: Browser) -> dict[str, list[str]]:
    """The visible rows of the table, by their heads."""
    return {row[0]: row[1:] for row in browser.run(ROWS)}


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def opened(browser: Browser, report: Report, question: str, systems: str) -> dict[str, list[str]]:
    visit(browser, report, "handbook-answers", f"#q={question}&systems={systems}")
    browser.find("#answers tbody")
    return rows(browser)


def test_rows_are_aligned_and_the_better_score_is_marked(
    browser: Browser, handbook: Report
) -> None:
    found = opened(browser, handbook, "q020", "rag,keyword")
    assert found["citation.f1 ↑"] == ["0.000", "0.000"]
    assert found["document_retrieval.recall_at_5 ↑"] == ["1.000 better", "0.000"]
    assert found["evidence_overlap.evidence_recall ↑"] == ["0.143", "0.214 better"]
    heights = (
        "return [...document.querySelectorAll('#answers tbody tr')].every((row) => "
        "new Set([...row.cells].map((cell) => cell.getBoundingClientRect().top)).size === 1)"
    )
    assert browser.run(heights)
    assert browser.barriers() == []


def test_other_scores_are_folded(browser: Browser, handbook: Report) -> None:
    found = opened(browser, handbook, "q020", "rag,keyword")
    assert "citation.recall ↑" not in found
    browser.click("#answers tbody button[aria-expanded]")
    assert rows(browser)["citation.recall ↑"] == ["0.000", "0.000"]


def test_answers_stand_in_the_order_of_choice(browser: Browser, handbook: Report) -> None:
    opened(browser, handbook, "q020", "plain-llm")
    browser.reads("#answers thead bdi", ["plain-llm", "rag"])
    browser.click("#chosen input[value='rag']")
    browser.click("#chosen input[value='keyword']")
    browser.click("#chosen input[value='rag']")
    browser.reads("#answers thead bdi", ["plain-llm", "keyword", "rag"])
    browser.click("#sample-next")
    browser.reads("#answers thead bdi", ["plain-llm", "keyword", "rag"])


def test_evidence_is_told_in_sentences(browser: Browser, handbook: Report) -> None:
    # q020 has one evidence sentence, S3; rag cites S2, keyword cites S2 and S5.
    found = opened(browser, handbook, "q020", "rag,keyword")
    rag, keyword = (lines(text) for text in found["citation"])
    assert rag[0] == "cites 1 sentence, which is not evidence"
    assert rag[-1] == "details"
    assert keyword[0] == "cites 2 sentences, none of them evidence"
    assert "cites 0 of 1 evidence sentence" in keyword
    # The relevant document is the first that rag retrieves.
    retrieval = lines(found["document_retrieval"][0])
    assert retrieval[0] == "retrieves 5 documents"
    assert retrieval[1] == "finds 1 of 1 relevant document, at rank 1"
    # Keys stand behind "details".
    assert not any("hit ranks" in cell for row in found.values() for cell in row)
    raw = "return document.querySelector('#answers tbody:last-child').textContent"
    assert "hit ranks" in browser.run(raw)


@pytest.mark.parametrize(
    ("benchmark", "question", "evaluator", "sentence"),
    [
        ("ticket-counter", "c3", "faithfulness", "the passages support"),
        ("help-desk", None, "pii_leakage", "the answer contains 1 item: "),
        ("deck-hand-exam", "exam-06", "option_confidence", "is the likeliest"),
        ("mail-routing", "mail-16", "classification", "instead of"),
        ("planted-errors", "", "counterfactual_robustness", "in the passages"),
        ("counter-manners", "", "language_mismatch", "the question is in “"),
        ("counter-manners", "", "contact_information", "the answer has no contact details"),
        ("notices", "", "bleu", "in the expected text, which has"),
        ("notices", "", "summarization_judge", "meet"),
    ],
)
def test_evaluators_have_sentences_of_their_own(
    browser: Browser,
    handbook: Report,
    benchmark: str,
    question: str | None,
    evaluator: str,
    sentence: str,
) -> None:
    visit(browser, handbook, benchmark, f"#q={question}" if question else "")
    if not question:
        browser.see("#questions")
        browser.find("#heat-table .cell")
        failed = "" if question == "" else "[aria-label*='chatty: 0.00']"
        browser.click(f"#heat-table .cell{failed}")
    browser.find("#answers tbody")
    assert sentence in " ".join(rows(browser)[evaluator])


def test_an_old_browser_says_what_it_cannot_do(browser: Browser, handbook: Report) -> None:
    command = "Page.addScriptToEvaluateOnNewDocument"
    source = {"source": "delete window.DecompressionStream"}
    script = browser.driver.execute_cdp_cmd(command, source)
    try:
        visit(browser, handbook, "handbook-answers", "")
        (told,) = browser.texts("#main > .warn")
        assert "DecompressionStream" in told
        assert browser.texts("#lb-table tbody th")
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    browser.complaints()


def test_a_reason_is_not_taken_for_a_failure(browser: Browser, handbook: Report) -> None:
    # No constraints are configured for this question, so every answer passes.
    visit(browser, handbook, "help-desk", "#q=desk-03&systems=chatty")
    browser.find("#answers tbody")
    assert lines(rows(browser)["tokens_presence.passes ↑"][0]) == ["1.000", "no constraints"]
    # Options alone are no answer.
    visit(browser, handbook, "deck-hand-exam", "#q=exam-06")
    browser.find("#answers tbody")
    assert "Answer" not in rows(browser)


def test_several_answers_are_not_taken_for_one(browser: Browser, tmp_path: Path) -> None:
    """The first answer is shown, with the score of each; none has evidence of its own."""
    write(tmp_path / "q.jsonl", [{"question_id": "q", "gold_sentence_ids": ["S1"]}])
    cited = [["S1"], ["S2"], ["S1"]]
    answers = [
        {"question_id": "q", "repeat": number, "answer": f"a{number}", "cited_sentence_ids": ids}
        for number, ids in enumerate(cited)
    ]
    write(tmp_path / "rag.jsonl", answers)
    benchmark = Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(catalog.build("citation"),),
    )
    project = project_in(tmp_path, benchmark)
    visit(browser, published(project), "b", "#q=q")
    browser.find("#answers tbody")
    found = rows(browser)
    assert lines(found["Answer"][0]) == [
        "the first of 3 answers; the scores are the means of all",
        "a0",
    ]
    assert lines(found["citation"][0]) == ["f1 of each answer: 1.000, 0.000, 1.000", "details"]
