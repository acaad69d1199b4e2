"""From JSONL to a leaderboard: `scoreline run` against two scripts, as whole processes.

`python -m benchmarks.end_to_end --rows 1000000` writes a million questions and predictions, runs
Scoreline, a plain script and one that leaves all to DuckDB on them, checks that the figures agree
to 1e-9, and prints times, memory and ratios. The goals are those of a million.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Cost, cost_of, program, table

SCRIPT = Path(__file__).with_name("plain_script.py")
DUCKDB_SCRIPT = Path(__file__).with_name("duckdb_script.py")
TOLERANCE = 1e-9
CONFIGURATION = """\
warehouse: warehouse.duckdb
benchmarks:
  synthetic:
    questions: questions.jsonl
    predictions: predictions-{system}.jsonl
    evaluators: [document_retrieval, citation]
    parameters: {document_retrieval: {cutoffs: [1, 5]}}
"""
FIGURES = """\
select metric, mean from leaderboard where slice = 'all' and (
    evaluator = 'document_retrieval' and metric in ('recall_at_1', 'recall_at_5')
    or evaluator = 'citation' and metric in ('precision', 'recall', 'f1'))"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the programs took on the same input.

    Attributes:
        rows: How many questions there were.
        script: The plain script, from its start to its averages.
        duckdb: The script with DuckDB, which keeps questions, predictions and scores.
        first: The first run, from its start to the published copy and the report.
        rerun: A run with nothing changed.
        changed: A run after one answer was changed.
        leaderboard_s: Seconds from the start of the first run until the leaderboard was folded,
            which is all that the script does.
    """

    rows: int
    script: Cost
    duckdb: Cost
    first: Cost
    rerun: Cost
    changed: Cost
    leaderboard_s: float


def write_input(rows: int, folder: Path, seed: int = 20) -> None:
    """Write questions and predictions: ten retrieved ids, one to three gold sentences.

    Seven rankings in ten hold the gold document somewhere; one answer in ten cites nothing. No
    ranking holds a document twice: the script would count both places, Scoreline only the first.
    """
    draw = random.Random(seed)
    sentences = [f"S{number}" for number in range(1, 41)]
    with (
        (folder / "questions.jsonl").open("w", encoding="utf-8") as questions,
        (folder / "predictions-model.jsonl").open("w", encoding="utf-8") as predictions,
    ):
        for number in range(rows):
            gold = f"doc{draw.randrange(100_000)}"
            question = {
                "question_id": f"q{number:07d}",
                "question": f"What does the handbook say about item {number}?",
                "expected_answer": f"It says that item {number} is kept in the shed.",
                "gold_doc_ids": [gold],
                "gold_sentence_ids": draw.sample(sentences, draw.randint(1, 3)),
            }
            ranking = [f"doc{place}" for place in draw.sample(range(100_000), 10)]
            if gold not in ranking and draw.random() < 0.7:
                ranking[draw.randrange(10)] = gold
            prediction = {
                "question_id": question["question_id"],
                "answer": f"Item {number} is kept in the shed.",
                "retrieved": [
                    {"doc_id": doc, "rank": rank, "score": round(20 - rank + draw.random() / 2, 4)}
                    for rank, doc in enumerate(ranking, start=1)
                ],
                "cited_sentence_ids": cite(question["gold_sentence_ids"], sentences, draw),
            }
            questions.write(json.dumps(question) + "\n")
            predictions.write(json.dumps(prediction) + "\n")


def cite(gold: list[str], sentences: list[str], draw: random.Random) -> list[str]:
    """What a middling system cites: most of the gold sentences and some others, or nothing."""
    if draw.random() < 0.1:
        return []
    others = draw.sample(sentences, draw.randint(0, 2))
    return list(dict.fromkeys([*(s for s in gold if draw.random() < 0.6), *others]))


def measure(rows: int, folder: Path) -> Measured:
    """Run the script, then Scoreline: first, with nothing changed, with one answer changed.

    Raises:
        SystemExit: When the two do not agree on a figure.
    """
    write_input(rows, folder)
    (folder / "scoreline.yaml").write_text(CONFIGURATION, encoding="utf-8")
    inputs = ["questions.jsonl", "predictions-model.jsonl", "results.json"]
    script_run = [sys.executable, str(SCRIPT), *inputs]
    script = cost_of(script_run, folder=folder)
    duckdb = cost_of([sys.executable, str(DUCKDB_SCRIPT), *inputs], folder=folder)
    run = [program("scoreline"), "run"]
    began = time.time()
    first = cost_of(run, folder=folder)
    agree(folder)
    (folded,) = asked("SELECT epoch(max(published_at)) AS at FROM leaderboard", folder)
    rerun = cost_of(run, folder=folder)
    agree(folder)
    change_one_answer(folder / "predictions-model.jsonl", rows // 2)
    changed = cost_of(run, folder=folder)
    cost_of(script_run, folder=folder)
    agree(folder)
    return Measured(rows, script, duckdb, first, rerun, changed, folded["at"] - began)


def change_one_answer(path: Path, number: int) -> None:
    """Give the answer in one line of a file another text and other citations."""
    copy = path.with_suffix(".copy")
    with path.open(encoding="utf-8") as lines, copy.open("w", encoding="utf-8") as changed:
        for at, line in enumerate(lines):
            if at != number:
                changed.write(line)
                continue
            sentences = ["S41", *json.loads(line)["cited_sentence_ids"]]
            row = {**json.loads(line), "answer": "Unknown.", "cited_sentence_ids": sentences}
            changed.write(json.dumps(row) + "\n")
    copy.replace(path)


def agree(folder: Path) -> None:
    """Hold Scoreline's published means against the script's averages.

    Raises:
        SystemExit: When one is missing or differs by more than 1e-9.
    """
    means = {row["metric"]: row["mean"] for row in asked(FIGURES, folder)}
    with (folder / "results.json").open(encoding="utf-8") as file:
        averages = json.load(file)["averages"]
    for name, average in averages.items():
        mean = means.get(name)
        if mean is None or abs(mean - average) > TOLERANCE:
            raise SystemExit(f"{name}: the script says {average!r}, Scoreline {mean!r}")


def asked(query: str, folder: Path) -> list[dict[str, Any]]:
    """The rows of a query on the published copy."""
    command = [program("scoreline"), "sql", query, "--format", "json"]
    told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    rows: list[dict[str, Any]] = json.loads(told)
    return rows


def report(measured: list[Measured]) -> str:
    """Times, memory and ratios, one line for each size."""
    heads = [
        "rows",
        "script s",
        "DuckDB script s",
        "first run s",
        "times faster (goal 5)",
        "leaderboard s",
        "times faster (goal 6)",
        "CPU s (script, DuckDB script)",
        "peak MB (script, DuckDB script)",
    ]
    heads += ["rerun s", "rerun/first", "us a row"]
    heads += ["one changed s", "CPU s", "one changed/first (goal 0.25)", "by CPU"]
    lines = [
        [
            f"{m.rows:,}",
            f"{m.script.wall_s:.2f}",
            f"{m.duckdb.wall_s:.2f}",
            f"{m.first.wall_s:.2f}",
            f"{m.script.wall_s / m.first.wall_s:.2f}",
            f"{m.leaderboard_s:.2f}",
            f"{m.script.wall_s / m.leaderboard_s:.2f}",
            f"{m.first.cpu_s:.1f} ({m.script.cpu_s:.1f}, {m.duckdb.cpu_s:.1f})",
            f"{m.first.peak_mb:.0f} ({m.script.peak_mb:.0f}, {m.duckdb.peak_mb:.0f})",
            f"{m.rerun.wall_s:.2f}",
            f"{m.rerun.wall_s / m.first.wall_s:.3f}",
            f"{m.first.wall_s / m.rows * 1e6:.1f}",
            f"{m.changed.wall_s:.2f}",
            f"{m.changed.cpu_s:.1f}",
            f"{m.changed.wall_s / m.first.wall_s:.3f}",
            f"{m.changed.cpu_s / m.first.cpu_s:.3f}",
        ]
        for m in measured
    ]
    return table(heads, lines)


def main() -> None:
    """Measure every size that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    usual = [10_000, 100_000, 1_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=usual, help="how many questions")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    arguments = parser.parse_args()
    measured = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(prefix="scoreline-", dir=arguments.folder) as folder:
            measured.append(measure(rows, Path(folder)))
    print(report(measured))


if __name__ == "__main__":
    main()
