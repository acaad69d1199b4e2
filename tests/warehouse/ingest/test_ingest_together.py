"""All files of a run are taken, or none of them: whichever is wrong, the warehouse is as before."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.errors import InputError
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.store import Warehouse


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def asked(number: int) -> dict[str, Any]:
    return {"question_id": f"q{number}", "question": f"What is {number}?"}


def files(folder: Path, name: str) -> BenchmarkFiles:
    """The files of a benchmark, as they are now."""
    return BenchmarkFiles(
        benchmark=name,
        format="canonical",
        questions=[folder / f"{name}.questions.jsonl"],
        predictions=[(folder / f"{name}.s.jsonl", "s")],
    )


@pytest.fixture
def two(tmp_path: Path, warehouse: Warehouse) -> list[BenchmarkFiles]:
    """Two benchmarks of two questions, ingested."""
    for name in ("a", "b"):
        write(tmp_path / f"{name}.questions.jsonl", asked(1), asked(2))
        write(tmp_path / f"{name}.s.jsonl", {"question_id": "q1", "answer": "1"})
    given = [files(tmp_path, name) for name in ("a", "b")]
    done = ingest(warehouse, given)
    assert {place: result.rows for place, result in done.items()} == {
        ("a", "questions"): 2,
        ("a", "predictions"): 2,
        ("b", "questions"): 2,
        ("b", "predictions"): 2,
    }
    return given


def dump(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    names = [name for name, table in TABLES.items() if table.view_of is None]
    return {
        name: sorted(map(repr, warehouse.fetch(f"SELECT * FROM {name}").rows())) for name in names
    }


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"question_id": "q1", "answer": "x"', r"b\.s\.jsonl:2: .*JSON"),
        ('{"question_id": "q1", "answer": 5}', r"b\.s\.jsonl:2: answer: expected text"),
        ('{"question_id": "q9", "answer": "x"}', r"b\.s\.jsonl:2: .*q9"),
        ('{"question_id": "q2", "answer": "again"}', r"b\.s\.jsonl:2: .*q2"),
    ],
    ids=["broken", "wrong type", "unknown question", "second answer"],
)
def test_a_bad_prediction_of_one_benchmark_leaves_all_as_it_was(
    two: list[BenchmarkFiles], tmp_path: Path, warehouse: Warehouse, bad: str, message: str
) -> None:
    before = dump(warehouse)
    write(tmp_path / "a.questions.jsonl", asked(1), asked(2), asked(3))
    write(tmp_path / "b.questions.jsonl", asked(1), asked(2), asked(3))
    write(tmp_path / "b.s.jsonl", {"question_id": "q2", "answer": "2"}, bad)
    with pytest.raises(InputError, match=message):
        ingest(warehouse, two)
    assert dump(warehouse) == before


def test_questions_that_change_are_known_to_the_answers(
    two: list[BenchmarkFiles], tmp_path: Path, warehouse: Warehouse
) -> None:
    write(tmp_path / "a.questions.jsonl", asked(1), asked(3))
    # What looks like a trailing comma is for row-by-row validation, which needs the new questions.
    write(tmp_path / "a.s.jsonl", '{"question_id": "q3", "answer": "3 ,}"}')
    ingest(warehouse, two)
    answers = warehouse.fetch(
        "SELECT question_id, answer, error FROM predictions WHERE benchmark = 'a' ORDER BY 1"
    )
    assert answers.rows() == [("q1", None, "no prediction"), ("q3", "3 ,}", None)]


def test_only_what_has_changed_is_read(
    two: list[BenchmarkFiles], tmp_path: Path, warehouse: Warehouse
) -> None:
    write(tmp_path / "b.s.jsonl", {"question_id": "q1", "answer": "one"})
    done = ingest(warehouse, two)
    assert [place for place, result in done.items() if not result.unchanged] == [
        ("b", "predictions")
    ]


OPENED: list[str] = []
"""The paths that Python has opened while `is_counting`."""

is_counting = False


def _count(event: str, arguments: tuple[Any, ...]) -> None:
    if is_counting and event == "open":
        OPENED.append(str(arguments[0]))


sys.addaudithook(_count)


@contextmanager
def counted_reads(folder: Path) -> Iterator[Counter[str]]:
    """Count how often each file of a folder is opened for reading rows."""
    global is_counting  # noqa: PLW0603 - an audit hook cannot be removed
    counts: Counter[str] = Counter()
    OPENED.clear()
    is_counting = True
    try:
        yield counts
    finally:
        is_counting = False
        counts.update(Path(each).name for each in OPENED if Path(each).parent == folder)


def many(folder: Path, count: int, suffix: str, question: str, answer: str) -> list[BenchmarkFiles]:
    """Benchmarks with this content, of whose rows half may be rejected."""
    found = []
    for number in range(count):
        questions = folder / f"{number}.questions{suffix}"
        answers = folder / f"{number}.s{suffix}"
        questions.write_text(question, encoding="utf-8")
        answers.write_text(answer, encoding="utf-8")
        found.append(
            BenchmarkFiles(
                benchmark=f"b{number}",
                format="canonical",
                questions=[questions],
                predictions=[(answers, "s")],
                max_reject_ratio=0.5,
            )
        )
    return found


@pytest.mark.parametrize(
    ("suffix", "question", "answer", "reads"),
    [
        (".csv", "question_id,question\nq1,Why?\n", "question_id,answer\nq1,So.\n", 2),
        (".json", '[{"question_id": "q1"}]', '[{"question_id": "q1", "answer": "So."}]', 2),
        # DuckDB would read the escapes in the keys differently.
        (".jsonl", '{"question_id": "q1", "qu\\u0065stion": ""}', '{"question\\u005fid": "q1"}', 4),
        # The negative latency is seen when the rows are written.
        (
            ".jsonl",
            '{"question_id": "q1"}',
            '{"question_id": "q1"}\n{"question_id": "q1", "latency_s": -1}',
            4,
        ),
    ],
    ids=["CSV", "JSON", "unusual JSON Lines", "refused when written"],
)
def test_files_are_read_as_often_however_many_benchmarks_there_are(
    tmp_path: Path, warehouse: Warehouse, suffix: str, question: str, answer: str, reads: int
) -> None:
    """A read for the digest of the file, one of the rows, and with JSON Lines those of the scan."""
    inputs = many(tmp_path, 3, suffix, question, answer)
    with counted_reads(tmp_path) as counts:
        done = ingest(warehouse, inputs)
    assert [result.rows for result in done.values()] == [1] * 6
    assert len(counts) == 6
    assert max(counts.values()) <= reads
