"""The first page, read in a real browser: who won, what to look at, and lasting addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl
import pytest
from selenium.webdriver import Keys

from assets.checks.data_docs import write_expectations_page
from assets.project import Benchmark
from assets.publishing.report.index_page import index_page
from assets.publishing.report.matrix import matrix_cells
from assets.publishing.report.write import write_report
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.support.services import takes_minutes
from warehouse.publish import snapshot
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.assets.conftest import Workshop
    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

SHOWN = (
    "return [...document.querySelectorAll(arguments[0])]"
    ".filter((e) => e.checkVisibility()).map((e) => e.textContent.trim())"
)


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """No page logs an error or requests a remote address."""
    yield
    assert browser.complaints() == []


def plain(texts: list[str]) -> list[str]:
    """Return texts without the marks that isolate text directions."""
    return [text.replace("\u2068", "").replace("\u2069", "") for text in texts]


def test_the_first_lines_say_who_won_and_what_to_look_at(
    browser: Browser, handbook: Report
) -> None:
    browser.open(handbook.index)
    (summary,) = plain(browser.texts("#winners .verdict"))
    assert summary == "1 of 12 benchmarks has a winner: certain (1)."
    lines = plain(browser.texts("#winners li"))
    assert lines[0] == (
        "deck-hand-exam: certain (0.835) is best on option_confidence.phi, before confident "
        "(0.541): the difference is significant."
    )
    assert lines[1] == (
        "counter-manners: No winner on byop.passes: 5 questions are too few for any significant "
        "difference between rag (0.800), keyword (0.400) and plain-llm (0.000)."
    )
    assert lines[3] == (
        "handbook-answers: No winner on citation.f1: 23 questions in 11 clusters are too few to "
        "tell rag (0.861) from keyword (0.522) and plain-llm (0.000)."
    )
    assert lines[4] == "and 8 more, without a winner"
    (shared,) = browser.texts("#winners p.fine")
    assert "5 % level, shared by all statements of this page and of the benchmark's page" in shared
    assert browser.texts("#acts .verdict") == [
        *("6 problems of high severity", "1 ranking by a judge that is not validated")
    ]
    acts = browser.texts("#acts li")
    assert acts[1].startswith("deck-hand-exam: option_confidence.phi of guesser is 0.260, lower")
    assert acts[3] == "and 3 more, in red below"
    assert acts[4].startswith(
        "counter-manners: the judge of byop.passes is not validated: it agrees too little with 15 "
    )
    assert plain(browser.texts("#changes li")) == [
        "handbook-answers: keyword −0.268 to 0.522 (worse, not significant)",  # noqa: RUF001
        "handbook-answers: rag +0.072 to 0.861 (better, not significant)",
    ]
    # All of this stands on the first screen.
    for css in ("#winners li:last-child", "#changes li:last-child"):
        assert browser.find(css).rect["y"] < 900


def test_a_page_says_what_has_changed_below_its_verdict(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.page("handbook-answers"))
    (said,) = plain(browser.texts("#changes"))
    assert said.partition(" UTC: ")[2] == (
        "keyword −0.268 to 0.522 (worse, not significant); "  # noqa: RUF001
        "rag +0.072 to 0.861 (better, not significant). History"
    )
    browser.click("#changes a")
    browser.until(lambda: browser.find("#history").rect["y"] > 0)
    browser.open(handbook.page("mail-routing"))
    assert browser.all("#changes") == []


def test_only_what_needs_an_act_is_red(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.index)
    assert browser.texts("#ticket-counter .warn") == ["11 problems (1 high)"]
    # A mean below its threshold that may be chance, and a failed answer, are not red.
    own = browser.find("#handbook-answers").text
    assert "1 failed answer, 6 problems\n" in own
    assert browser.texts("#handbook-answers .warn") == []
    assert browser.texts("#page-search .warn") == []
    browser.open(handbook.page("mail-routing"))
    assert browser.texts("#overview .warn") == []


def test_the_matrix_shows_values_and_marks_and_opens_pages(
    browser: Browser, handbook: Report
) -> None:
    browser.open(handbook.index)
    first = "#matrix .wide:first-child"
    assert browser.texts(f"{first} thead th") == ["Benchmark", "rag", "keyword", "plain-llm"]
    cells = [" ".join(text.split()) for text in browser.texts("tr[data-benchmark=mail-routing] td")]
    assert cells == ["0.875 tied", "0.542 tied", "0.792 tied"]
    cells = [" ".join(text.split()) for text in browser.texts("tr[data-benchmark=page-search] td")]
    assert cells == ["0.944 tied", "0.417 tied", ""]
    cells = [" ".join(text.split()) for text in browser.texts("tr[data-benchmark$=exam] td")]
    assert cells == ["0.835 best", "0.541", "0.260", "0.010"]
    browser.click("tr[data-benchmark=mail-routing] td a")
    browser.reads("h1", ["mail-routing"])
    (verdict,) = plain(browser.texts(".verdicts li"))
    assert verdict == (
        "No winner on classification.accuracy: 24 questions are too few to tell rag (0.875) "
        "from plain-llm (0.792) and keyword (0.542)."
    )


def test_the_search_finds_metrics_that_are_only_named(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.index)
    browser.find("#find").send_keys("trace.adherence")
    browser.until(lambda: browser.run(SHOWN, ".benchmarks h3") == ["ticket-counter"])
    assert browser.run(SHOWN, "tr[data-benchmark] th a") == ["ticket-counter"]


def test_a_search_without_a_result_says_so(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.index)
    browser.find("#find").send_keys("xyzzy")
    said = "Nothing found: no benchmark, system or metric contains “xyzzy”."
    browser.until(lambda: browser.run(SHOWN, "#nothing") == [said])
    assert browser.run(SHOWN, ".benchmarks h3") == []
    assert browser.run(SHOWN, "#matrix table") == []
    browser.find("#find").send_keys(*[Keys.BACKSPACE] * 5)
    browser.until(lambda: len(browser.run(SHOWN, ".benchmarks h3")) == 12)
    assert browser.run(SHOWN, "#nothing") == []


def test_an_address_of_a_question_survives_a_publication(
    browser: Browser, workshop: Workshop
) -> None:
    odd = "a/b c%?#ü"
    workshop.with_question(1, question_id=odd)
    for system in workshop.predictions:
        workshop.with_prediction(system, 1, question_id=odd)
    workshop.run()
    report = Report(workshop.project.publish)
    before = report.page("trial")
    address = f"{report.index.as_uri()}#trial/{quote(odd, safe='')}"
    workshop.with_prediction("poor", 2, answer="something else", cited_sentence_ids=["S2"])
    workshop.run()
    after = next(
        page for page in (report.publish / "report").glob("trial-*/index.html") if page != before
    )
    browser.driver.get("about:blank")
    browser.driver.get(address)
    wanted = f"{after.as_uri()}#q={quote(odd, safe='')}"
    browser.until(lambda: browser.driver.current_url.startswith(after.as_uri()))
    # The page adds the systems that it shows.
    assert browser.driver.current_url.partition("&")[0] == wanted
    browser.until(lambda: odd in browser.find("#sample-title").text)
    # The page that only passes on is not in the history.
    browser.driver.back()
    browser.until(lambda: browser.driver.current_url == "about:blank")


def test_the_matrix_shows_changes_since_the_publication_before(
    browser: Browser, workshop: Workshop
) -> None:
    workshop.rank_by = "citation.f1"
    workshop.run()
    report = Report(workshop.project.publish)
    browser.open(report.index)
    assert browser.all("#changes") == []
    assert "changes since" not in browser.find("#matrix").text
    before = _cells(browser)
    for at in range(3):
        given = workshop.predictions["good"][at]["cited_sentence_ids"]
        workshop.with_prediction("poor", at, cited_sentence_ids=given)
    workshop.run()
    browser.open(report.index)
    assert before == [["1.000", "best"], ["0.000"]]
    # Three of six questions become right, so the other three are too few for a winner.
    assert _cells(browser) == [["1.000", "tied"], ["0.500", "tied", "+0.500"]]
    (said,) = plain(browser.texts("#changes li"))
    assert said == "trial: poor +0.500 to 0.500 (better, not significant)"
    assert "citation.f1 ↑, 6 questions; changes since 20" in browser.texts("#matrix tbody th")[0]
    assert browser.barriers() == []
    workshop.with_question(0, question="Is this another question?")
    workshop.run()
    browser.open(report.index)
    assert _cells(browser) == [
        ["1.000", "tied", "other", "questions"],
        ["0.500", "tied", "other", "questions"],
    ]
    said = "trial: other questions, so means are not comparable"
    assert browser.texts("#changes li") == [said]


def _cells(browser: Browser) -> list[list[str]]:
    return [text.split() for text in browser.texts("tr[data-benchmark=trial] td")]


def test_an_address_of_an_unknown_benchmark_says_so(browser: Browser, handbook: Report) -> None:
    browser.open(handbook.index)
    browser.run("location.hash = '#gone<i>/q1'")
    said = "This report has no benchmark “gone<i>”."
    browser.until(lambda: browser.run(SHOWN, "#unknown") == [said])


def test_the_expectations_are_linked_and_fold_what_holds(
    browser: Browser, workshop: Workshop
) -> None:
    workshop.run()
    publish = workshop.project.publish
    results = [
        {"run_id": "r1", "table": "predictions", "expectation": name, "success": success}
        | {"observed": None, "unexpected_count": None, "severity": "warn"}
        for name, success in (("ids are unique", 1), ("latency is known", 0), ("<b>text</b>", 1))
    ]
    at = datetime(2026, 1, 1, tzinfo=UTC)
    frame = pl.DataFrame(
        [{**each, "validated_at": at} for each in results],
        schema_overrides={"observed": pl.String, "unexpected_count": pl.Int64},
    )
    workshop.warehouse.replace("validations", frame, where={"table": ["predictions"]})
    write_expectations_page(workshop.warehouse, publish)
    write_report(Snapshot(snapshot.publish(workshop.warehouse, publish)), publish)
    browser.open(publish / "index.html")
    browser.reads("header a", ["1 of 3 expectations of the data failed"])
    browser.click("header a")
    browser.reads("h1", ["Expectations"])
    assert browser.run(SHOWN, "tbody td:first-child") == ["latency is known"]
    browser.click("summary")
    assert sorted(browser.run(SHOWN, "tbody td:first-child")) == [
        *("<b>text</b>", "ids are unique", "latency is known")
    ]
    assert browser.barriers() == []
    browser.click("header a")
    browser.reads("h1", ["Leaderboards"])


def many_cards(benchmarks: int, systems: int) -> list[dict[str, Any]]:
    """Return the cards of many benchmarks with the same systems, of which the first one wins."""
    names = [f"system-{at:02d}" for at in range(systems)]
    ranked = [
        {
            "system": name,
            "rank": at + 1,
            "mark": "worse" if at else "best",
            "mean": 1 - at / systems,
            "best": "high",
        }
        for at, name in enumerate(names)
    ]
    metric = {
        "title": "citation.f1 ↑",
        "low": "0",
        "high": "1",
        "more": names[5:],
        "rows": [
            {"system": name, "mean": "0.500", "part": "", "is_best": False, "interval": ""}
            for name in names[:5]
        ],
    }
    return [
        {
            "name": f"benchmark-{at:03d}",
            "address": f"report/benchmark-{at:03d}/index.html",
            "published_at": datetime(2026, 1, 1, tzinfo=UTC),
            "totals": dict.fromkeys(
                ("questions", "failed", "problems", "high_problems", "rejects"), 1
            ),
            "metric": ["citation", "f1 ↑"],
            "verdict": "system-00 (1.000) is best on citation.f1.",
            "winner": "system-00",
            "since": None,
            "unvalidated_judge": None,
            "without_scores": None,
            "cells": matrix_cells(ranked),
            "acts": [{"is_gate": at == 42, "message": "citation.f1 of system-09 is too low"}],
            "gates": [],
            "more_gates": 0,
            "n_systems": systems,
            "metrics": [metric] * 4,
            "more_metrics": [],
        }
        for at in range(benchmarks)
    ]


def test_a_hundred_benchmarks_open_within_a_second(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(index_page(many_cards(100, 12), ""), encoding="utf-8")
    seconds = min(browser.processor_seconds(page) for _ in range(3))
    assert 0.05 < seconds <= 1
    assert len(browser.all("#matrix tbody tr")) == 100
    assert len(browser.all("#matrix thead th")) == 10
    assert plain(browser.texts("#winners .verdict")) == [
        "100 of 100 benchmarks have a winner: system-00 (100)."
    ]
    assert browser.texts("#acts li")[0].startswith("benchmark-042: gate failed: citation.f1 of ")
    assert browser.texts("#acts li")[-1] == "and 97 more, in red below"
    browser.find("#find").send_keys("benchmark-042")
    browser.until(lambda: browser.run(SHOWN, ".benchmarks h3") == ["benchmark-042"])


def test_an_empty_project_says_so(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    page.write_text(index_page([], ""), encoding="utf-8")
    browser.open(page)
    assert browser.texts("#winners li") == ["no benchmark has scores"]
    assert browser.texts("#acts p") == [
        "Nothing yet: scoreline run scores the benchmarks of the project."
    ]
    assert browser.barriers() == []


def test_a_benchmark_without_scores_says_why(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path / "questions.jsonl", [{"question_id": "q1", "question": "Who?"}])
    for system in ("a", "b"):
        write(tmp_path / f"answers_{system}.jsonl", [{"question_id": "q1", "answer": "Me."}])
    trial = Benchmark(
        name="trial",
        questions=tmp_path / "questions.jsonl",
        predictions=tmp_path / "answers_{system}.jsonl",
        evaluators=(catalog.build("faithfulness"),),
    )
    report = published(project_in(tmp_path, trial))
    why = "No metric has a value: faithfulness: no contexts"
    browser.open(report.index)
    assert browser.texts("#winners li") == ["no benchmark has scores"]
    assert plain(browser.texts("#acts li")) == [f"trial: {why}"]
    assert browser.barriers() == []
    browser.open(report.page("trial"))
    assert plain(browser.texts(".verdicts li")) == [why]
    browser.see("#leaderboard")
    browser.reads("#lb-table tbody bdi", ["a", "b"])
    browser.see("#questions")
    browser.click("#heat-table tbody .cell")
    browser.until(lambda: "no contexts" in browser.find("#answers").text)
    assert browser.barriers() == []
