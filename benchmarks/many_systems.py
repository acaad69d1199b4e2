"""Many systems and many slices: what the pairwise comparisons of a large leaderboard cost.

`python -m benchmarks.many_systems` writes a project of many systems with four evaluators and 29
slices, and one of three systems with a slice for each document, and runs each of them once. R is
the processor time of importing Dagster, DuckDB, Polars and pydantic, measured beside each run.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import yaml

from benchmarks.measure import Cost, cost_of, program, table

if TYPE_CHECKING:
    from collections.abc import Sequence

IMPORT = "import dagster, duckdb, polars, pydantic"
TAGS = {"topic": 20, "difficulty": 5, "kind": 4}
"""The tags of a question, and how many values each has: together the 29 slices."""

EVALUATORS = ("citation", "classification", "rouge", "tokens_presence")
LABELS = ("refund", "exchange", "delivery", "complaint", "other")
SENTENCES = [f"S{number}" for number in range(1, 13)]
WORDS = tuple(f"{a}{b}" for a in ("har", "mel", "tor", "vin", "sol", "ka") for b in ("bor", "ta"))


def write_questions(folder: Path, questions: int, documents: int) -> pl.DataFrame:
    """Write questions with everything that the four evaluators read."""
    draw = random.Random(1)
    rows = []
    for number in range(questions):
        expected = draw.choices(WORDS, k=8)
        rows.append(
            {
                "question_id": f"q{number:06d}",
                "question": f"What of {number}?",
                "doc_id": f"d{number % documents:05d}",
                "expected_answer": " ".join(expected),
                "expected_label": draw.choice(LABELS),
                "gold_sentence_ids": draw.sample(SENTENCES, 2),
                "constraints": [expected[0]],
                "tags": {tag: f"{tag[0]}{number % n:02d}" for tag, n in TAGS.items()},
            }
        )
    found = pl.DataFrame(rows)
    found.write_ndjson(folder / "questions.jsonl")
    return found


def write_predictions(folder: Path, questions: pl.DataFrame, systems: int) -> None:
    """Write the answers of systems that are right more and more often, from 50 to 90 %."""
    (folder / "p").mkdir()
    answers = questions.select("question_id", "expected_answer", "expected_label")
    answers = answers.with_columns(gold=questions["gold_sentence_ids"])
    for system in range(systems):
        draw = random.Random(f"system {system}")
        skill = 0.5 + 0.4 * system / max(1, systems - 1)
        rows = []
        for key, expected, label, gold in answers.iter_rows():
            words = [w if draw.random() < skill else draw.choice(WORDS) for w in expected.split()]
            cited = [s if draw.random() < skill else draw.choice(SENTENCES) for s in gold]
            rows.append(
                {
                    "question_id": key,
                    "answer": " ".join(words),
                    "label": label if draw.random() < skill else draw.choice(LABELS),
                    "cited_sentence_ids": sorted(set(cited)),
                }
            )
        pl.DataFrame(rows).write_ndjson(folder / "p" / f"s{system:04d}.jsonl")


def write_project(
    folder: Path,
    *,
    systems: int,
    questions: int,
    evaluators: Sequence[str] = EVALUATORS,
    documents: int | None = None,
) -> None:
    """Write a project with one benchmark.

    Args:
        folder: The folder of the project.
        systems: The number of systems.
        questions: The number of questions.
        evaluators: The evaluators.
        documents: The number of documents; if given, each document is a slice.
    """
    folder.mkdir(parents=True)
    write_predictions(folder, write_questions(folder, questions, documents or questions), systems)
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "p/{system}.jsonl",
        "evaluators": list(evaluators),
        "slices": ["doc_id"] if documents else list(TAGS),
    }
    text = yaml.safe_dump({"benchmarks": {"many": benchmark}}, sort_keys=False)
    (folder / "scoreline.yaml").write_text(text, encoding="utf-8")


def reference(folder: Path) -> float:
    """Return R, the processor seconds of the four imports: the least of three."""
    command = [sys.executable, "-c", IMPORT]
    return min(cost_of(command, folder=folder).cpu_s for _ in range(3))


def disk_mb(folder: Path) -> float:
    """Return the size of everything that a run wrote, in MB of 10^6 bytes."""
    written = (folder / ".scoreline", folder / "published")
    files = (file for each in written for file in each.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in files) / 1e6


def stored_pairs(folder: Path) -> int:
    """Return the number of rows in the table `comparisons`."""
    copy = next((folder / "published").glob("*.duckdb"))
    with duckdb.connect(str(copy), read_only=True) as connection:
        (count,) = connection.sql("SELECT count(*) FROM comparisons").fetchone() or (0,)
    return int(count)


def line(name: str, cost: Cost, r: float, folder: Path) -> list[str]:
    """Return a line of the table."""
    numbers = (cost.wall_s, cost.cpu_s, cost.cpu_s / r, cost.peak_mb, disk_mb(folder))
    return [name, *(f"{number:,.1f}" for number in numbers), f"{stored_pairs(folder):,}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, nargs="*", default=[200])
    parser.add_argument("--questions", type=int, nargs="*", default=[400])
    parser.add_argument("--sliced-questions", type=int, default=20_000)
    parser.add_argument("--slices", type=int, default=5_000, help="documents; 0: leave out")
    parser.add_argument("--evaluator", action="append", choices=EVALUATORS)
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    parser.add_argument("--only-write", action="store_true", help="write the projects, run nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scoreline-systems-") as made:
        root = given.folder or Path(made)
        sizes = [(s, q, None) for s, q in zip(given.systems, given.questions, strict=True)]
        goals = {(200, 400, None): "40", (3, 20_000, 5_000): "15"}
        if given.slices:
            sizes.append((3, given.sliced_questions, given.slices))
        lines = []
        for systems, questions, documents in sizes:
            slices = documents or sum(TAGS.values())
            folder = root / f"{systems}-{questions}-{slices}"
            evaluators = given.evaluator or EVALUATORS if documents is None else ("citation",)
            write_project(
                folder,
                systems=systems,
                questions=questions,
                evaluators=evaluators,
                documents=documents,
            )
            if given.only_write:
                continue
            r = reference(folder)
            cost = cost_of([program("scoreline"), "run"], folder=folder)
            name = f"{systems:,} systems, {questions:,} questions, {slices:,} slices"
            goal = goals.get((systems, questions, documents), "")
            lines.append([*line(name, cost, r, folder), goal])
            print(" ".join(lines[-1]), file=sys.stderr)
        heads = ["project", "s", "CPU s", "R", "peak MB", "disk MB", "comparisons", "goal R"]
        print(table(heads, lines))


if __name__ == "__main__":
    main()
