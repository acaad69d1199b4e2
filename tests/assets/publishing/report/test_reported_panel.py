"""The panel with the scores of other tools: agreement worked out by hand, and what it lists."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import scoreline
from assets.publishing.report.formatting import NO_VALUE
from tests.assets.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.browser import Browser

PROJECT = """
publish: published
benchmarks:
  labels:
    questions: questions.jsonl
    predictions: "{system}.jsonl"
    evaluators: [classification, {theirs: reported}, {harm: reported}, {nothing: reported}]
    parameters:
      theirs: {name: pass}
      harm: {bounds: [0, 5], best: low}
      nothing: {name: harms}
  plain:
    questions: questions.jsonl
    predictions: "{system}.jsonl"
    evaluators: [classification]
"""


def prediction(at: int) -> dict[str, Any]:
    """The first twelve labels are right; the other tool passes ten of them and two others."""
    if at == 20:
        return {"question_id": "q20", "error": "timed out"}
    is_right = at < 12
    passes = at < 10 or at in {12, 13}
    reported = {"pass": passes, "harm": 0 if is_right else 4}
    return {"question_id": f"q{at:02}", "label": "a" if is_right else "b", "reported": reported}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the benchmark."""
    home = tmp_path_factory.mktemp("reported")
    asked = [
        {"question_id": f"q{at:02}", "question": "?", "expected_label": "a"} for at in range(21)
    ]
    write(home / "questions.jsonl", asked)
    write(home / "north.jsonl", map(prediction, range(21)))
    (home / "scoreline.yaml").write_text(PROJECT, encoding="utf-8")
    scoreline.run(home / "scoreline.yaml")
    (found,) = (home / "published" / "report").glob("labels-*/index.html")
    return found


def cells(page: Path) -> list[list[str]]:
    """The texts of the rows of the first table of the panel."""
    section = page.read_text("utf-8").partition('id="reported"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", section, re.DOTALL)
    plain = [re.sub("<wbr>|<span[^>]*>|</span>", "", row) for row in rows]
    return [
        [
            html.unescape(cell).strip("\u2068\u2069 ")
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t", row)
        ]
        for row in plain
    ]


def test_agreement_with_another_tool(page: Path) -> None:
    (passes, harm) = cells(page)
    assert passes[1:5] == ["20", "0.600", "0.600", "0.800"]
    # By chance, 0.52 of the verdicts would be equal.
    assert re.fullmatch(r"0\.583 \[0\.\d{3}, 0\.\d{3}\]", passes[5])
    assert passes[6] == "0.583"
    # No harm where the label is right: the same order.
    assert harm[1:] == ["20", "0.600", "1.600", NO_VALUE, NO_VALUE, "1.000"]


def test_answers_that_differ_are_listed(page: Path) -> None:
    text = page.read_text("utf-8")
    found = re.search(r'"reported": ?(\[.*?\}\])', text)
    assert found is not None
    passes, harm = json.loads(found[1])
    names = re.search(r'"n_shown": ?(\d+)', text)
    assert names is not None
    assert names[1] == "21"
    assert [row[3:] for row in passes["rows"]] == [[1, 0, 1]] * 2 + [[0, 1, 1]] * 2
    # 4 of 5 is 0.2 on the scale on which a wrong label is 0.
    assert [row[3:] for row in harm["rows"]] == [[0, 4, pytest.approx(0.2)]] * 8


def test_a_benchmark_without_reported_scores_has_no_such_panel(page: Path) -> None:
    (plain,) = page.parents[1].glob("plain-*/index.html")
    assert 'id="reported"' not in plain.read_text("utf-8")
    assert 'id="reported"' in page.read_text("utf-8")


@pytest.mark.parametrize("width", [390, 1300])
def test_the_panel_in_a_browser(page: Path, browser: Browser, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.open(page)
        browser.see("#reported-pair")
        browser.until(lambda: len(browser.all("#reported-table tbody tr")) == 4)
        browser.reads("#reported-table tbody td:last-child", ["1.000"] * 4)
        assert browser.run("return document.documentElement.scrollWidth") <= width
        assert browser.barriers(ignored=()) == []
        browser.run(
            "const one = document.getElementById('reported-pair'); one.value = '1';"
            "one.dispatchEvent(new Event('change'))"
        )
        browser.until(lambda: len(browser.all("#reported-table tbody tr")) == 8)
        browser.click("#reported-table tbody button.link")
        browser.until(lambda: browser.all("dialog[open]"))
        assert browser.complaints() == []
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
