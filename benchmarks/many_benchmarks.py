"""Many benchmarks and systems: what a project of 2,000 and 200 costs before any work is done.

`python -m benchmarks.many_benchmarks` writes such a project of tiny benchmarks, runs one of them,
all, and all again with nothing changed, and loads the code location. `--interface` opens the pages
of the interface in headless Chromium, too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmarks.measure import Cost, cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

QUESTIONS = 5
SYSTEMS_EACH = 2
"""Systems that answer each benchmark; the next one is answered by the next ones."""

LOAD = "from orchestration.definitions import defs; defs()"
PATIENCE_S = 300.0
SEEN = {
    "assets of the results": ("/asset-groups", "//*[@title='results']"),
    "page of the leaderboard": ("/assets/leaderboard", "//*[contains(., 'Overview')]"),
    "its partitions": (
        "/assets/leaderboard?view=partitions",
        "//*[normalize-space()='b0000' or normalize-space()='b0001']",
    ),
    "runs": ("/runs", "//*[normalize-space()='Success']"),
}
"""Pages, and what is seen on each when it is there."""


def write_project(folder: Path, benchmarks: int, systems: int) -> None:
    """Write a project of tiny benchmarks, each answered by two of all systems."""
    described = {}
    for number in range(benchmarks):
        name = f"b{number:04d}"
        place = folder / "data" / name
        place.mkdir(parents=True)
        questions, predictions = [], []
        for each in range(QUESTIONS):
            key = f"q{each}"
            gold = {"gold_doc_ids": [f"d{number + each}"], "gold_sentence_ids": ["S1", "S2"]}
            questions.append({"question_id": key, "question": f"What of {number}, {each}?", **gold})
            predictions += [
                {
                    "question_id": key,
                    "system": f"system{(number * SYSTEMS_EACH + which) % systems:03d}",
                    "answer": f"It is {each}.",
                    "retrieved": [{"doc_id": f"d{number + each + which}", "rank": 1}],
                    "cited_sentence_ids": ["S1"] if which else ["S2", "S3"],
                }
                for which in range(SYSTEMS_EACH)
            ]
        for kind, rows in (("questions", questions), ("predictions", predictions)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (place / f"{kind}.jsonl").write_text(text, encoding="utf-8")
        described[name] = {
            "questions": f"data/{name}/questions.jsonl",
            "predictions": f"data/{name}/predictions.jsonl",
            "evaluators": ["document_retrieval", "citation"],
        }
    text = yaml.safe_dump({"benchmarks": described}, sort_keys=False)
    (folder / "scoreline.yaml").write_text(text, encoding="utf-8")


def commands(folder: Path) -> Iterator[tuple[str, Cost]]:
    """What each command costs, one after the other on the same project."""
    run = [program("scoreline"), "run"]
    os.environ["SCORELINE_CONFIG"] = str(folder / "scoreline.yaml")
    yield "load the code location", cost_of([sys.executable, "-c", LOAD], folder=folder)
    yield "first run, of one benchmark", cost_of([*run, "--benchmark", "b0001"], folder=folder)
    yield "first run of all others", cost_of(run, folder=folder)
    yield "run of all, nothing changed", cost_of(run, folder=folder)
    one = [*run, "--benchmark", "b0001"]
    yield "run of one, nothing changed", cost_of(one, folder=folder)
    answers = folder / "data" / "b0001" / "predictions.jsonl"
    text = answers.read_text(encoding="utf-8")
    answers.write_text(text.replace("S1", "S2"), encoding="utf-8")
    yield "run of one, changed", cost_of(one, folder=folder)


def pages(folder: Path, profile: Path) -> Iterator[tuple[str, float]]:
    """The seconds until each page of the interface shows what it is about."""
    with interface(folder) as (address, started), browser(profile) as driver:
        yield "interface is up", started
        for what, (path, xpath) in SEEN.items():
            start = time.perf_counter()
            driver.get(address + path)
            until(lambda: bool(driver.find_elements("xpath", xpath)), what)  # noqa: B023
            yield what, time.perf_counter() - start


@contextmanager
def interface(folder: Path) -> Iterator[tuple[str, float]]:
    """`scoreline dev` on a project: its address, and the seconds until it knows its location."""
    from tests.orchestration import daemon

    start = time.perf_counter()
    with daemon.interface(folder) as running:
        yield running.address, time.perf_counter() - start


@contextmanager
def browser(profile: Path) -> Iterator[Chrome]:
    """Headless Chromium without a history."""
    from tests.browser import started

    for each in started(profile):
        yield each.driver


def until(holds: object, what: str) -> None:
    """Wait until something holds.

    Raises:
        TimeoutError: It does not.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not holds():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=2_000)
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--interface", action="store_true", help="open the interface's pages, too")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scoreline-many-", dir=given.folder) as made:
        folder = Path(made) / "project"
        folder.mkdir()
        write_project(folder, given.benchmarks, given.systems)
        lines = []
        for what, cost in commands(folder):
            line = [what, f"{cost.wall_s:.1f}", f"{cost.cpu_s:.1f}", f"{cost.peak_mb:.0f}"]
            lines.append(line)
            print(" ".join(line), file=sys.stderr)
        print(table(["command", "s", "CPU s", "peak MB"], lines))
        if given.interface:
            shown = [[what, f"{took:.1f}"] for what, took in pages(folder, Path(made) / "browser")]
            print(table(["page", "s"], shown))


if __name__ == "__main__":
    main()
