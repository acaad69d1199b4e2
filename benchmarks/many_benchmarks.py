"""Many benchmarks and systems: what a project of 2,000 and 200 costs before any work is done.

`python -m benchmarks.many_benchmarks` writes such a project of tiny benchmarks, runs one of them,
all, and all again with nothing changed, and loads the code location. `--interface` opens the pages
of the interface in headless Chromium, too.

`--further 20 120` prints what each further small benchmark of a first run costs (50 questions, 3
systems, one evaluator): the difference of two runs of these sizes, in processor seconds and in R,
the processor time of `import dagster, duckdb, polars, pydantic`. Both are the least of `--repeat`.
`--further 1 2000` shows the peak memory of 2,000 of them, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmarks.measure import Cost, cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from selenium.webdriver import Chrome

IMPORT = "import dagster, duckdb, polars, pydantic"
"""What takes R, the unit of processor time."""

GOAL = 0.08
"""The most of R that each further small benchmark should take."""

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


def write_small(folder: Path, benchmarks: int) -> None:
    """Write a project of benchmarks with 50 questions and 3 systems, scored by `citation`."""
    described = {}
    for number in range(benchmarks):
        draw = random.Random(number)
        place = folder / "data" / f"b{number:04d}"
        place.mkdir(parents=True)
        questions, predictions = [], []
        for each in range(50):
            key = {"question_id": f"q{each}"}
            questions.append({**key, "question": f"What is {each}?", "gold_sentence_ids": ["S1"]})
            for system in "abc":
                cited = draw.sample(["S1", "S2", "S3"], draw.randint(1, 2))
                row = {"system": system, "answer": f"{each}.", "cited_sentence_ids": cited}
                predictions.append(key | row)
        for kind, rows in (("questions", questions), ("predictions", predictions)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (place / f"{kind}.jsonl").write_text(text, encoding="utf-8")
        described[place.name] = {
            "questions": f"data/{place.name}/questions.jsonl",
            "predictions": f"data/{place.name}/predictions.jsonl",
            "evaluators": ["citation"],
        }
    text = yaml.safe_dump({"benchmarks": described}, sort_keys=False)
    (folder / "scoreline.yaml").write_text(text, encoding="utf-8")


def further(home: Path, sizes: Sequence[int], repeat: int) -> None:
    """Print what first runs of small benchmarks cost, and what each further benchmark does."""
    unit, costs = [], {size: list[Cost]() for size in sizes}
    disk = dict.fromkeys(sizes, 0)
    for turn in range(repeat):
        unit.append(cost_of([sys.executable, "-c", IMPORT], folder=home))
        for size in sizes:
            folder = home / f"{turn}-{size}"
            folder.mkdir()
            write_small(folder, size)
            config = str(folder / "scoreline.yaml")
            command = [program("scoreline"), "run", "--config", config]
            costs[size].append(cost_of(command, folder=folder))
            made = (each for each in folder.rglob("*") if "data" not in each.parts)
            disk[size] = sum(each.stat().st_size for each in made if each.is_file())
            shutil.rmtree(folder)
    r = min(each.cpu_s for each in unit)
    least = {size: min(each.cpu_s for each in found) for size, found in costs.items()}
    rows = [
        [
            f"{size:,} benchmarks",
            f"{min(each.wall_s for each in found):.1f}",
            f"{least[size]:.1f}",
            f"{least[size] / r:.1f}",
            f"{max(each.peak_mb for each in found):.0f}",
            f"{disk[size] / 1e6:.0f}",
        ]
        for size, found in costs.items()
    ]
    few, many = min(sizes), max(sizes)
    each_s = (least[many] - least[few]) / (many - few)
    each_mb = (disk[many] - disk[few]) / (many - few) / 1e6
    rows.append(["each further", "", f"{each_s:.3f}", f"{each_s / r:.3f}", "", f"{each_mb:.2f}"])
    print(f"R = {r:.2f} s")
    print(table(["first run", "s", "CPU s", "R", "peak MB", "disk MB"], rows))
    print(f"The goal of each further one is {GOAL:g} R.")


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
    from tests.support.browser import started

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
    parser.add_argument(
        "--further", type=int, nargs=2, metavar="N", help="what each further small benchmark costs"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each size (with --further)")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scoreline-many-", dir=given.folder) as made:
        if given.further:
            further(Path(made), given.further, given.repeat)
            return
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
