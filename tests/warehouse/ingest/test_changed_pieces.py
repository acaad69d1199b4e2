"""After a change to a large file, the warehouse is as if the file had been read whole."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.ingest import changed_pieces
from warehouse.ingest.changed_pieces import changed_range, read_pieces
from warehouse.ingest.plan import PredictionLoad
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from warehouse.ingest.result import Ingested

ROWS = 60

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece has about four rows."""
    monkeypatch.setattr(changed_pieces, "PIECE_BYTES", 400)
    monkeypatch.setattr(changed_pieces, "LARGE_BYTES", 0)


@pytest.fixture
def read_whole(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The benchmarks whose files are read whole, in the order of their loads."""
    loads: list[str] = []
    original = PredictionLoad.scan

    def scan(self: PredictionLoad) -> None:
        loads.append(self.files.benchmark)
        original(self)

    monkeypatch.setattr(PredictionLoad, "scan", scan)
    return loads


def predictions(system: str) -> list[Row]:
    draw = random.Random(system)
    return [
        {
            "question_id": f"q{number:02}",
            "answer": f"{system} says {number}",
            "retrieved": [{"doc_id": f"d{draw.randrange(99)}", "rank": 1, "score": draw.random()}],
            "cited_sentence_ids": ["S1"] * draw.randrange(3),
        }
        for number in range(ROWS)
    ]


class Files:
    """Questions, and the predictions of two systems, as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = {system: predictions(system) for system in ("a", "b")}
        self.questions = folder / "questions.jsonl"
        rows = [{"question_id": f"q{number:02}", "question": "?"} for number in range(ROWS)]
        self.write(self.questions, rows)

    def write(self, path: Path, rows: list[Row]) -> None:
        """Write one row a line."""
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def load(self, warehouse: Warehouse, *, force: bool = False) -> Ingested:
        """Write the predictions as they are now, and ingest both kinds of files."""
        for system, rows in self.rows.items():
            self.write(self.folder / f"{system}.jsonl", rows)
        ingest_questions(
            warehouse, benchmark="m", format="canonical", questions=[self.questions], force=force
        )
        paths = [(self.folder / f"{system}.jsonl", system) for system in self.rows]
        return ingest_predictions(
            warehouse, benchmark="m", format="canonical", files=paths, force=force
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def contents(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.fetch("SELECT * FROM predictions ORDER BY system, question_id").rows()


def fresh_contents(files: Files) -> list[tuple[Any, ...]]:
    """The predictions of a new warehouse."""
    warehouse = Warehouse(files.folder / "fresh.duckdb")
    files.load(warehouse, force=True)
    return contents(warehouse)


def change_one(rows: list[Row]) -> None:
    rows[30]["answer"] = "another and longer answer"


def change_the_ends(rows: list[Row]) -> None:
    rows[0]["answer"] = ""
    rows[-1]["answer"] = "x" * 1000


def change_the_order(rows: list[Row]) -> None:
    rows[7], rows[41] = rows[41], rows[7]


def add_a_field(rows: list[Row]) -> None:
    rows[12]["latency_s"] = 1.5
    rows[12]["note"] = {"by": "hand"}


def exchange_ids(rows: list[Row]) -> None:
    rows[3]["question_id"], rows[50]["question_id"] = "q50", "q03"


@pytest.mark.parametrize(
    "change", [change_one, change_the_ends, change_the_order, add_a_field, exchange_ids]
)
def test_only_the_changed_pieces_are_read(
    warehouse: Warehouse, files: Files, read_whole: list[str], change: Callable[[list[Row]], None]
) -> None:
    first = files.load(warehouse)
    change(files.rows["b"])
    again = files.load(warehouse)
    assert read_whole == ["m"]
    assert (again.rows, again.notes, again.problems) == (first.rows, first.notes, first.problems)
    assert again.digest != first.digest
    assert contents(warehouse) == fresh_contents(files)


def test_changes_follow_each_other(warehouse: Warehouse, files: Files) -> None:
    files.load(warehouse)
    draw = random.Random(3)
    for _ in range(5):
        for rows in files.rows.values():
            rows[draw.randrange(ROWS)]["answer"] = "y" * draw.randrange(300)
        files.load(warehouse)
    assert contents(warehouse) == fresh_contents(files)


def test_an_unchanged_row_is_not_written(
    warehouse: Warehouse, files: Files, read_whole: list[str]
) -> None:
    files.load(warehouse)
    warehouse.write(
        lambda transaction: transaction.execute(
            "UPDATE predictions SET answer = 'kept' WHERE system = 'a' OR question_id = 'q00'"
        )
    )
    change_one(files.rows["b"])
    files.load(warehouse)
    kept = warehouse.fetch("SELECT count(*) FROM predictions WHERE answer = 'kept'")
    assert kept.item() == ROWS + 1
    assert read_whole == ["m"]


def remove_a_row(rows: list[Row]) -> None:
    del rows[20]


def test_a_removed_row_is_missing(warehouse: Warehouse, files: Files) -> None:
    files.load(warehouse)
    remove_a_row(files.rows["b"])
    again = files.load(warehouse)
    assert again.notes == ("system 'b' did not answer 1 question: 'q20'",)
    assert contents(warehouse) == fresh_contents(files)
    # The next load is of files with a missing prediction, which are read whole.
    files.rows["b"][5]["answer"] = "new"
    assert files.load(warehouse).notes == again.notes
    assert contents(warehouse) == fresh_contents(files)


def copy_another_row(rows: list[Row]) -> None:
    rows[20] = rows[40]


def repeat_an_id(rows: list[Row]) -> None:
    rows[20]["question_id"] = "q40"


def name_an_unknown_question(rows: list[Row]) -> None:
    rows[20]["question_id"] = "q99"


def break_a_type(rows: list[Row]) -> None:
    rows[20]["answer"] = 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (copy_another_row, r"b\.jsonl:41: .*q40"),
        (repeat_an_id, r"b\.jsonl:41: .*q40"),
        (name_an_unknown_question, r"b\.jsonl:21: .*q99"),
        (break_a_type, r"b\.jsonl:21: answer: expected text"),
    ],
)
def test_an_error_is_found_where_it_is_in_the_file(
    warehouse: Warehouse, files: Files, change: Callable[[list[Row]], None], message: str
) -> None:
    files.load(warehouse)
    before = contents(warehouse)
    change(files.rows["b"])
    with pytest.raises(InputError, match=message):
        files.load(warehouse)
    assert contents(warehouse) == before


def test_other_systems_and_questions_are_read_whole(
    warehouse: Warehouse, files: Files, read_whole: list[str]
) -> None:
    files.load(warehouse)
    files.rows["c"] = predictions("c")
    files.load(warehouse)
    assert read_whole == ["m", "m"]
    rows = [{"question_id": f"q{number:02}", "question": "Why?"} for number in range(ROWS)]
    files.write(files.questions, rows)
    change_one(files.rows["a"])
    files.load(warehouse)
    assert read_whole == ["m", "m", "m"]
    assert contents(warehouse) == fresh_contents(files)


def test_small_files_have_no_record(
    warehouse: Warehouse, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_pieces, "LARGE_BYTES", 1 << 20)
    files.load(warehouse)
    assert warehouse.fetch("SELECT name FROM meta WHERE name LIKE 'pieces%'").is_empty()


def test_pieces_end_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(500)) + b"the end")
    pieces = read_pieces(path)
    text, at = path.read_bytes(), 0
    for size, _ in pieces:
        at += size
        assert at == len(text) or text[at - 1 : at] == b"\n"
    assert at == len(text)
    assert len(pieces) > 1


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("abcd", "abXd", (2, 3)),
        ("abcd", "abcd", (4, 4)),
        ("abcd", "Xbcd", (0, 1)),
        ("aaaa", "aaa", (3, 3)),
        ("aaa", "aaaa", (3, 4)),
        ("abcd", "abXYd", (2, 4)),
        ("abcd", "", (0, 0)),
    ],
)
def test_the_changed_range(before: str, now: str, expected: tuple[int, int]) -> None:
    as_pieces = ([(1, name) for name in text] for text in (before, now))
    assert changed_range(*as_pieces) == expected
