"""The report of a large benchmark: how long it takes to write, and to open in a browser.

`python -m benchmarks.report` makes 10,000 questions and 10 systems with five passages each, runs
them, writes the report once more from the published copy alone, and opens its pages in Chromium.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assets.publishing.report.write import FOLDER, write_report
from benchmarks.many_systems import reference
from benchmarks.measure import cost_of, program, table
from warehouse.publish.snapshot import FILE_NAME, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from selenium.webdriver.remote.webdriver import WebDriver

WORDS = (
    *("harbour", "ferry", "tide", "winter", "island", "bicycle"),
    *("ticket", "captain", "storm", "cargo", "school", "night"),
)
CONFIGURATION = """\
warehouse: warehouse.duckdb
benchmarks:
  large:
    questions: questions.jsonl
    predictions: predictions-{system}.jsonl
    evaluators: [document_retrieval, citation, classification, tokens_presence]
    slices: [half]
"""


def write_input(questions: int, systems: int, folder: Path, seed: int = 7) -> None:
    """Write questions and predictions: answers of 500 characters, five passages of 630 each."""
    draw = random.Random(seed)
    passages = [" ".join(draw.choices(WORDS, k=100)) for _ in range(2_000)]
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for at in range(questions):
            row = {
                "question_id": f"q{at:05d}",
                "question": " ".join(draw.choices(WORDS, k=15)) + "?",
                "expected_answer": " ".join(draw.choices(WORDS, k=25)),
                "expected_label": draw.choice(WORDS[:4]),
                "constraints": [WORDS[at % len(WORDS)]],
                "gold_doc_ids": [f"d{at % len(passages)}"],
                "gold_sentence_ids": draw.sample(["S1", "S2", "S3", "S4"], 2),
                "tags": {"half": str(at % 2)},
            }
            file.write(json.dumps(row) + "\n")
    for system in range(systems):
        with (folder / f"predictions-s{system:02d}.jsonl").open("w", encoding="utf-8") as file:
            for at in range(questions):
                found = draw.sample(range(len(passages)), 5)
                if draw.random() < 0.4 + 0.02 * system:
                    found[draw.randrange(5)] = at % len(passages)
                row = {
                    "question_id": f"q{at:05d}",
                    "answer": " ".join(draw.choices(WORDS, k=80)),
                    "label": draw.choice(WORDS[:4]),
                    "retrieved": [{"doc_id": f"d{p}", "text": passages[p]} for p in found],
                    "cited_sentence_ids": draw.sample(["S1", "S2", "S3", "S4"], 2),
                    "latency_s": round(draw.random(), 3),
                    "cost_usd": round(draw.random() / 1000, 6),
                }
                file.write(json.dumps(row) + "\n")


@contextmanager
def browser() -> Iterator[WebDriver]:
    """Chromium with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        yield driver
    finally:
        driver.quit()


def opened(page: Path, ready: str) -> float:
    """The seconds until a page is ready in Chromium.

    Args:
        page: The page.
        ready: A script that tells whether it is.
    """
    from selenium.webdriver.support.wait import WebDriverWait

    with browser() as driver:
        start = time.perf_counter()
        driver.get(page.absolute().as_uri())
        WebDriverWait(driver, 60, 0.02).until(lambda d: d.execute_script(ready))
        return time.perf_counter() - start


FILTER = """
const done = arguments[arguments.length - 1];
const field = document.querySelector("#heat-filter");
const finish = () => done(performance.now() - start);
const seen = new MutationObserver(() => requestAnimationFrame(finish));
seen.observe(document.querySelector("#heat-table"), { childList: true });
const start = performance.now();
field.value = arguments[0];
field.dispatchEvent(new Event("input"));
"""
"""Types a text into the filter and returns the milliseconds until the questions are drawn."""


def search(page: Path, texts: Sequence[str]) -> tuple[float, float]:
    """The seconds to load all answers for a search, and the most milliseconds of later filters."""
    from selenium.webdriver.support.wait import WebDriverWait

    with browser() as driver:
        driver.get(page.absolute().as_uri() + "#text=x&in=answers")
        start = time.perf_counter()
        loaded = "return / questions$/.test(document.querySelector('#heat-count').textContent)"
        WebDriverWait(driver, 120, 0.05).until(lambda d: d.execute_script(loaded))
        took = time.perf_counter() - start
        return took, max(driver.execute_async_script(FILTER, text) for text in texts)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--systems", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        write_input(given.questions, given.systems, folder)
        (folder / "scoreline.yaml").write_text(CONFIGURATION, encoding="utf-8")
        r = reference(folder)
        whole = cost_of([program("scoreline"), "run"], folder=folder)
        publish = folder / "published"
        shutil.rmtree(publish / FOLDER)
        start, used = time.perf_counter(), time.process_time()
        write_report(Snapshot(publish / FILE_NAME), publish)
        written, used = time.perf_counter() - start, time.process_time() - used
        (page,) = (publish / FOLDER).glob("large-*/index.html")
        size = sum(path.stat().st_size for path in page.parent.rglob("*") if path.is_file())
        heads = ["questions x systems", "whole run s", "CPU s", "R (goal 15)", "peak MB"]
        line = [f"{given.questions:,} x {given.systems}", f"{whole.wall_s:.1f}"]
        line += [f"{whole.cpu_s:.1f}", f"{whole.cpu_s / r:.1f}", f"{whole.peak_mb:.0f}"]
        heads += ["report s", "report CPU s", "report MB"]
        line += [f"{written:.1f}", f"{used:.1f}", f"{size / 1e6:.0f}"]
        if shutil.which("chromium") and shutil.which("chromedriver"):
            ready = "return document.documentElement.dataset.ready === 'yes'"
            cells = (
                "document.querySelector('#heat-table').scrollIntoView(); "
                "return document.querySelectorAll('#heat-table .cell').length > 0"
            )
            heads += ["first page s", "benchmark's page s", "its heat map s"]
            line += [f"{opened(publish / 'index.html', ready):.2f}"]
            line += [f"{opened(page, script):.2f}" for script in (ready, cells)]
            heads += ["answers to search s", "filter ms"]
            took, slowest = search(page, ("zebra", "eeq", "night night night night"))
            line += [f"{took:.1f}", f"{slowest:.0f}"]
        print(table(heads, [line]))


if __name__ == "__main__":
    main()
