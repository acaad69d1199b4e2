"""A lake with several writing processes against one, and against a DuckDB file.

`python -m benchmarks.lake` ingests, grades and folds four benchmarks: one after the other in one
process, and side by side in four. It makes a schema of its own in a PostgreSQL on loopback
(`--catalog` names another) and drops it; where there is none, it says so and ends.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark
from assets.scoring.refresh import refresh_scores
from benchmarks.measure import table
from evaluators import catalog
from warehouse.errors import WarehouseError
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.storage.connection import Settings
from warehouse.storage.ducklake.session import connect_catalog
from warehouse.storage.location import Lake, Location, location_from_json, location_to_json
from warehouse.store import Warehouse

EVALUATORS = ("document_retrieval", "rouge")
NAMES = ("north", "east", "south", "west")
SYSTEMS = 5
WORDS = ("harbour", "ferry", "tide", "winter", "island", "bicycle", "ticket", "captain", "storm")


def write_input(folder: Path, questions: int) -> None:
    """Questions, and the answers of a few systems with what each retrieved."""
    draw = random.Random(folder.name)
    folder.mkdir()
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for at in range(questions):
            answer = " ".join(draw.choices(WORDS, k=30))
            row = {"question_id": f"q{at}", "expected_answer": answer, "gold_doc_ids": [f"d{at}"]}
            file.write(json.dumps(row) + "\n")
    for system in range(SYSTEMS):
        with (folder / f"s{system}.jsonl").open("w", encoding="utf-8") as file:
            for at in range(questions):
                found = [{"doc_id": f"d{at + draw.randrange(8)}"} for _ in range(10)]
                answer = " ".join(draw.choices(WORDS, k=30))
                row = {"question_id": f"q{at}", "answer": answer, "retrieved": found}
                file.write(json.dumps(row) + "\n")


def work(place: Location, folder: Path, names: list[str]) -> None:
    """Take benchmarks from their files to their leaderboards, once somebody says so."""
    warehouse = Warehouse(place, patience_s=300.0)
    warehouse.fingerprints("nothing")
    print("ready", flush=True)
    sys.stdin.readline()
    for name in names:
        benchmark = Benchmark(
            name=name,
            questions=folder / name / "questions.jsonl",
            predictions=folder / name / "{system}.jsonl",
            evaluators=tuple(catalog.build(each, {}) for each in EVALUATORS),
        )
        given = BenchmarkFiles(
            benchmark=name,
            format="canonical",
            questions=[folder / name / "questions.jsonl"],
            predictions=[(folder / name / f"s{n}.jsonl", f"s{n}") for n in range(SYSTEMS)],
        )
        ingest(warehouse, [given])
        for evaluator in benchmark.evaluators:
            refresh_scores(warehouse, [(benchmark, evaluator)], run_id="benchmark")
        refresh_leaderboards(warehouse, [benchmark])


def seconds(place: Location, folder: Path, shares: list[list[str]]) -> float:
    """How long processes take for their shares of the benchmarks, their start apart."""
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.lake"),
                *("--work", json.dumps(location_to_json(place))),
                *("--folder", str(folder), *names),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for names in shares
    ]
    for process in processes:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError("a process did not get ready")
    begun = time.perf_counter()
    for process in processes:
        if process.stdin is not None:
            process.stdin.write("\n")
            process.stdin.close()
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError("a process failed")
    return time.perf_counter() - begun


def lake(catalog_: str, folder: Path) -> Lake:
    """A lake that nobody has made yet."""
    name = f"benchmark_{uuid4().hex[:8]}"
    return Lake(catalog_, str(folder / name), folder / f"{name}.beside", name)


def drop(place: Lake) -> None:
    """Drop the catalogue of a lake."""
    with connect_catalog(place, Settings(), 0.0) as connection:
        connection.execute(f"ATTACH '{place.connection}' AS owned (TYPE postgres)")
        statement = f"DROP SCHEMA IF EXISTS {place.schema} CASCADE"
        connection.execute(f"CALL postgres_execute('owned', '{statement}')")


def compare(catalog_: str, questions: int) -> None:
    """Print what each way takes, and their ratios."""
    together, apart = [list(NAMES)], [[name] for name in NAMES]
    with tempfile.TemporaryDirectory(prefix="scoreline-lake-") as name:
        folder = Path(name)
        for each in NAMES:
            write_input(folder / each, questions)
        rows = []
        for what, shares in (("1 process", together), ("4 processes", apart)):
            file = seconds(folder / f"{len(shares)}.duckdb", folder, shares)
            place = lake(catalog_, folder)
            try:
                rows.append((what, file, seconds(place, folder, shares)))
            finally:
                drop(place)
    (_, file_alone, lake_alone), _ = rows
    heads = ["", "file s", "lake s", "lake / file", "file: times faster", "lake: times faster"]
    shown = [
        [
            *(what, f"{file:.1f}", f"{on_lake:.1f}", f"{on_lake / file:.2f}"),
            *(f"{file_alone / file:.2f}", f"{lake_alone / on_lake:.2f}"),
        ]
        for what, file, on_lake in rows
    ]
    samples = len(NAMES) * questions * SYSTEMS
    print(f"{samples:,} samples of {len(NAMES)} benchmarks by {', '.join(EVALUATORS)}")
    print(table(heads, shown))


def main() -> None:
    """Compare, or work for the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", default="dbname=postgres host=127.0.0.1 user=postgres")
    parser.add_argument("--questions", type=int, default=4_000)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(location_from_json(json.loads(given.work)), given.folder, given.names)
        return
    try:
        Lake(given.catalog, "", Path()).exists()
    except WarehouseError as error:
        print(f"skipped: no PostgreSQL to keep a lake's catalogue in: {error}")
        return
    compare(given.catalog, given.questions)


if __name__ == "__main__":
    main()
