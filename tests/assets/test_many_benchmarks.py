"""The rows of a benchmark do not depend on the others that are refreshed with it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from assets.analysis.asset import refresh_insights, refresh_problems
from assets.analysis.calibration import calibrate
from assets.gates.refresh import refresh_gates
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark, Gate
from assets.scoring.refresh import refresh_scores
from evaluators import catalog
from tests.support.services import takes_minutes
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.queries import benchmarks as parts
from warehouse.queries.benchmarks import split_benchmarks
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TIMES = {"published_at", "scored_at", "marked_at", "first_seen", "calibrated_at", "run_id"}
TABLES = (
    *("questions", "predictions", "grades", "leaderboard", "leaderboard_history"),
    *("system_scores", "comparisons", "gates", "problems", "insights", "marks"),
)
SYSTEMS = ("a", "b", "c")


def project(folder: Path, number: int) -> Benchmark:
    """Write a benchmark of its own size, with its own slices, clusters, failures and evaluators."""
    draw = random.Random(number)
    name = f"b{number}"
    home = folder / name
    home.mkdir(exist_ok=True)
    questions, predictions = [], []
    for each in range(10 + 3 * number):
        question: dict[str, Any] = {
            "question_id": f"q{each}",
            "question": "?",
            "gold_sentence_ids": ["S1", "S2"],
            "gold_doc_ids": ["d1"],
            "expected_answers": ["one two three"],
            "tags": {"half": "ab"[each % 2]},
        }
        if number % 3 == 0:
            question["cluster"] = f"c{each // 2}"
        questions.append(question)
        for system in SYSTEMS:
            row = {"question_id": f"q{each}", "system": system}
            if draw.random() < 0.1:
                predictions.append({**row, "error": "timed out"})
                continue
            cited = draw.sample(["S1", "S2", "S3", "S4"], draw.randint(0, 3))
            words = draw.sample(["one", "two", "three", "four", "five"], 3)
            predictions.append(
                {
                    **row,
                    "answer": " ".join(words),
                    "cited_sentence_ids": cited,
                    "retrieved": [{"doc_id": f"d{draw.randint(1, 3)}", "rank": 1}],
                    "latency_s": draw.random(),
                }
            )
    for kind, rows in (("questions", questions), ("predictions", predictions)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (home / f"{kind}.jsonl").write_text(text, encoding="utf-8")
    evaluators = ["citation", "rouge"] if number % 2 else ["citation", "document_retrieval"]
    return Benchmark(
        name=name,
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=tuple(catalog.build(each, {}) for each in evaluators),
        slices=("half",) if number % 2 else (),
        thresholds={"citation.f1": 0.5} if number % 4 == 1 else {},
        default_threshold="source" if number % 4 == 2 else "none",
        gates=(Gate(system="a", baseline="b"),) if number % 3 == 1 else (),
    )


def run(warehouse: Warehouse, benchmarks: Sequence[Benchmark]) -> None:
    """Make all tables of benchmarks together."""
    ingest(
        warehouse,
        [
            BenchmarkFiles(
                benchmark=each.name,
                format="canonical",
                questions=[] if each.questions is None else [each.questions],
                predictions=[(each.predictions, None)],
            )
            for each in benchmarks
        ],
    )
    for name in sorted({own.name for each in benchmarks for own in each.evaluators}):
        used = [(each, own) for each in benchmarks for own in each.evaluators if own.name == name]
        refresh_scores(warehouse, used, run_id="r")
    refresh_leaderboards(warehouse, benchmarks)
    refresh_gates(warehouse, benchmarks)
    for refresh in (calibrate, refresh_problems, refresh_insights):
        refresh(warehouse, benchmarks)


def rows_of(warehouse: Warehouse, table: str) -> list[tuple[object, ...]]:
    found = warehouse.fetch(f"SELECT * FROM {table}")
    columns = [name for name in found.columns if name not in TIMES]
    return sorted(found.select(columns).rows(), key=repr)


@takes_minutes
@pytest.mark.parametrize("most", [parts.MAX_SAMPLES, 100])
def test_results_do_not_depend_on_other_benchmarks(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmarks = [project(tmp_path, number) for number in range(6)]
    alone, together = (Warehouse(tmp_path / f"{name}.duckdb") for name in ("alone", "together"))
    for each in benchmarks:
        run(alone, [each])
    monkeypatch.setattr(parts, "MAX_SAMPLES", most)
    run(together, benchmarks)
    for table in TABLES:
        assert rows_of(together, table) == rows_of(alone, table), table
    assert {row[0] for row in rows_of(together, "leaderboard")} == {b.name for b in benchmarks}
    for table in ("comparisons", "gates", "problems", "insights"):
        assert rows_of(together, table), table


def test_a_changed_benchmark_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    benchmarks = [project(tmp_path, number) for number in range(3)]
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    run(warehouse, benchmarks)
    before = {table: rows_of(warehouse, table) for table in TABLES}
    history = len(before["leaderboard_history"])
    path = benchmarks[1].predictions
    path.write_text(path.read_text().replace('"S4"', '"S1"', 1))
    run(warehouse, benchmarks)
    boards = rows_of(warehouse, "leaderboard")
    assert [row for row in boards if row[0] != "b1"] == [
        row for row in before["leaderboard"] if row[0] != "b1"
    ]
    assert boards != before["leaderboard"]
    of_one = sum(row[0] == "b1" for row in boards)
    assert len(rows_of(warehouse, "leaderboard_history")) == history + of_one


def test_parts_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmarks = [project(tmp_path, number) for number in range(4)]
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    run(warehouse, benchmarks)
    names = [each.name for each in benchmarks]
    assert [part.names for part in split_benchmarks(warehouse, names)] == [names]
    monkeypatch.setattr(parts, "MAX_SAMPLES", 75)
    found = list(split_benchmarks(warehouse, names))
    # They have 30, 39, 48 and 57 samples.
    assert found == [(["b0", "b1"], 69), (["b2"], 48), (["b3"], 57)]
    monkeypatch.setattr(parts, "MAX_BENCHMARKS", 1)
    assert [part.names for part in split_benchmarks(warehouse, names)] == [[n] for n in names]


def small(folder: Path, name: str, systems: Sequence[str], questions: int) -> Benchmark:
    """Write a benchmark in which the first system is right and all others are wrong."""
    home = folder / name
    home.mkdir()
    asked = [{"question_id": f"q{n}", "question": "?"} for n in range(questions)]
    expected = [row | {"gold_sentence_ids": ["S1"]} for row in asked]
    given = [
        {"system": system, "answer": "It is.", "cited_sentence_ids": [f"S{1 + at}"]}
        for at, system in enumerate(systems)
    ]
    answers = [{"question_id": row["question_id"]} | each for row in asked for each in given]
    for kind, rows in (("questions", expected), ("predictions", answers)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (home / f"{kind}.jsonl").write_text(text, encoding="utf-8")
    return Benchmark(
        name=name,
        questions=home / "questions.jsonl",
        predictions=home / "predictions.jsonl",
        evaluators=(catalog.build("citation", {}),),
    )


def test_a_winner_after_many_ties_is_found(tmp_path: Path) -> None:
    tied = [small(tmp_path, f"b{number:03d}", "ab", questions=1) for number in range(101)]
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    run(warehouse, [*tied, small(tmp_path, "last", "zy", questions=20)])
    found = warehouse.fetch("SELECT benchmark, system FROM insights WHERE kind = 'winner'")
    winners = {name: system for name, system in found.iter_rows() if system is not None}
    assert (found.height, winners) == (102, {"last": "z"})
