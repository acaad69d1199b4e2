"""The form for labels in the report: by keyboard, kept in the browser, imported from its file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from assets.project import Benchmark, Project
from evaluators import catalog
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.support.services import takes_minutes
from warehouse.ingest.labels import import_labels

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]
HOSTILE = "<img src=x onerror='window.struck = 1'>"
SYSTEMS = ("<b>one</b>", "two")
N = 4


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    home = tmp_path_factory.mktemp("labels")
    questions = [
        {
            "question_id": f"q{n}{HOSTILE}",
            "question": f"Question {n} {HOSTILE}",
            "expected_label": "x",
        }
        for n in range(N)
    ]
    write(home / "questions.jsonl", iter(questions))
    answers = [
        {
            "question_id": each["question_id"],
            "system": system,
            "answer": f"Answer {HOSTILE}",
            "label": "x" if n % 2 else "y",
            **({"error": "down"} if (n, system) == (0, "two") else {}),
        }
        for n, each in enumerate(questions)
        for system in SYSTEMS
    ]
    write(home / "predictions.jsonl", iter(answers))
    benchmark = Benchmark(
        name="b",
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=(catalog.build("classification"),),
    )
    return project_in(home, benchmark)


@pytest.fixture(scope="module")
def report(project: Project) -> Report:
    return published(project)


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        ActionChains(browser.driver).send_keys(key).perform()


def given(browser: Browser) -> int:
    (text,) = browser.texts("#label-count")
    return int(text.partition(" ")[0])


def begin(browser: Browser, name: str) -> None:
    browser.run("document.getElementById('label-annotator').focus()")
    press(browser, name, Keys.ENTER)
    browser.find("#label-sample h3")


def test_labels_are_given_by_keys_kept_and_imported(
    project: Project, report: Report, browser: Browser, tmp_path: Path
) -> None:
    page = report.page("b")
    browser.open(page)
    browser.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    browser.run("document.getElementById('labels').scrollIntoView()")
    begin(browser, "ann")
    shown = browser.texts("#label-sample")[0]
    assert HOSTILE in shown
    assert not any(system in shown for system in SYSTEMS)
    assert browser.all("#label-sample img, #label-sample b") == []
    for count, key in enumerate("101", start=1):
        press(browser, key)
        browser.until(lambda count=count: given(browser) == count)
    browser.click("#label-undo")
    browser.until(lambda: given(browser) == 2)
    assert browser.barriers() == []

    # The labels outlast the page, and another person begins anew.
    browser.open(page)
    browser.until(lambda: given(browser) == 2)
    begin(browser, "ben")
    press(browser, "1")
    browser.until(lambda: given(browser) == 3)
    browser.click("#label-download")
    file = tmp_path / "labels.jsonl"
    browser.until(file.is_file)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(row["annotator"], row["value"]) for row in rows] == [
        ("ann", 1),
        ("ann", 0),
        ("ben", 1),
    ]
    # Both began with the same answer, and the second one was of the other system.
    assert rows[0]["question_id"] == rows[2]["question_id"]
    assert {rows[0]["system"], rows[1]["system"]} == set(SYSTEMS)

    scales = {"b": {(rows[0]["evaluator"], rows[0]["metric"]): (0.0, 1.0)}}
    import_labels(project.open_warehouse(), file, scales)
    stored = project.open_warehouse().fetch("SELECT annotator, value FROM labels ORDER BY ALL")
    assert stored.rows() == [("ann", 0.0), ("ann", 1.0), ("ben", 1.0)]
    assert browser.complaints() == []


def test_all_scored_answers_are_labelled_once(report: Report, browser: Browser) -> None:
    browser.open(report.page("b"))
    browser.run("localStorage.clear()")
    browser.driver.refresh()
    begin(browser, "eva")
    for count in range(1, 2 * N):  # one answer failed
        press(browser, "1")
        browser.until(lambda count=count: given(browser) == count)
    browser.until(lambda: "All 7 answers have your label" in browser.texts("#label-sample")[0])
