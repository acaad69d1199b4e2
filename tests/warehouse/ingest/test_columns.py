"""Columns and tags of a benchmark: what is ingested, what is stale, what the fast path refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.errors import InputError
from warehouse.formats.columns import Columns, Conversion
from warehouse.ingest import plan
from warehouse.ingest.ingest import PREDICTIONS, QUESTIONS, ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.ingest.small_files import require_valid
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

ASKED = [{"question_id": "a", "prompt": "Why?", "lang": "en", "level": 2}, {"question_id": "b"}]
GIVEN = [{"question_id": "a", "output": "So."}, {"question_id": "b", "output": "Yes."}]
COLUMNS = Columns(
    questions={"prompt": "question"}, predictions={"output": "answer"}, tags=("lang", "level")
)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "w.duckdb")


def files(
    tmp_path: Path,
    asked: list[dict[str, Any]],
    given: list[dict[str, Any]],
    columns: Columns = COLUMNS,
) -> BenchmarkFiles:
    return BenchmarkFiles(
        benchmark="t",
        format="canonical",
        questions=[write(tmp_path / "q.jsonl", asked)],
        predictions=[(write(tmp_path / "s.jsonl", given), "s")],
        columns=columns,
    )


def stored(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.fetch(
        "SELECT question_id, question, map_entries(q.tags), q.extra::VARCHAR, answer "
        "FROM questions q JOIN predictions USING (benchmark, question_id) ORDER BY question_id"
    ).rows()


def test_columns_and_tags_are_stored_as_fields_and_tags(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    ingest(warehouse, [files(tmp_path, ASKED, GIVEN)])
    tags = [{"key": "lang", "value": "en"}, {"key": "level", "value": "2"}]
    assert stored(warehouse) == [("a", "Why?", tags, None, "So."), ("b", None, None, None, "Yes.")]
    require_valid(warehouse, [files(tmp_path, ASKED, GIVEN)])


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_column_in_another_unit_is_converted(
    warehouse: Warehouse, tmp_path: Path, kind: str
) -> None:
    rows = [
        {"question_id": "a", "ms": 9, "cents": 12.5},
        {"question_id": "b", "ms": 1986500, "cents": None},
    ]
    path = tmp_path / f"given.{kind}"
    match kind:
        case "json":
            path.write_text(json.dumps(rows))
        case "csv":
            path.write_text("question_id,ms,cents\na,9,12.5\nb,1986500,\n")
        case "parquet":
            pl.DataFrame(rows).write_parquet(path)
        case _:
            write(path, rows)
    columns = Columns(
        predictions={"ms": Conversion("latency_s", 0.001), "cents": Conversion("cost_usd", 0.01)}
    )
    given = files(tmp_path, ASKED, GIVEN, columns)
    ingest(warehouse, [replace(given, predictions=[(path, "s")])])
    found = warehouse.fetch("SELECT latency_s, cost_usd FROM predictions ORDER BY question_id")
    # As decimal fractions: 9 * 0.001 is 0.009000000000000001.
    assert found.rows() == [(0.009, 0.125), (1986.5, None)]
    other = replace(columns, predictions=columns.predictions | {"ms": Conversion("latency_s", 1)})
    again = ingest(warehouse, [replace(given, predictions=[(path, "s")], columns=other)])
    assert not again["t", PREDICTIONS].unchanged


def test_a_text_is_not_converted(warehouse: Warehouse, tmp_path: Path) -> None:
    columns = Columns(predictions={"ms": Conversion("latency_s", 0.001)})
    given = [{"question_id": "a", "ms": "9 ms"}]
    with pytest.raises(InputError, match="ms: expected a number, found the text '9 ms'"):
        ingest(warehouse, [files(tmp_path, ASKED, given, columns)])


def test_files_are_read_again_when_their_columns_change(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    def unchanged(columns: Columns) -> tuple[bool, bool]:
        done = ingest(warehouse, [files(tmp_path, ASKED, GIVEN, columns)])
        return done["t", QUESTIONS].unchanged, done["t", PREDICTIONS].unchanged

    assert unchanged(COLUMNS) == (False, False)
    assert unchanged(COLUMNS) == (True, True)
    # New names of questions are new questions for the predictions.
    only_tags = Columns(predictions=COLUMNS.predictions, tags=COLUMNS.tags)
    assert unchanged(only_tags) == (False, False)
    assert stored(warehouse)[0][1] is None
    other = Columns(predictions={"output": "label"}, tags=COLUMNS.tags)
    assert unchanged(other) == (True, False)
    assert stored(warehouse)[0][4] is None
    fewer = Columns(predictions={"output": "label"}, tags=("lang",))
    assert unchanged(fewer) == (False, False)
    assert json.loads(stored(warehouse)[0][3]) == {"level": 2, "prompt": "Why?"}


def test_without_columns_digests_are_as_before() -> None:
    assert Columns().question_settings(from_predictions=False) == ()
    assert Columns().prediction_settings() == ()


def test_aliases_in_large_plain_files_are_noted(warehouse: Warehouse, tmp_path: Path) -> None:
    asked = [{"id": f"q{n}", "query": "Why?"} for n in range(300)]
    # The alias occurs only after the rows from which the schema is guessed.
    given = [{"question_id": f"q{n}", "answer": "x"} for n in range(250)]
    given += [{"question_id": f"q{n}", "response": "y"} for n in range(250, 300)]
    done = ingest(warehouse, [files(tmp_path, asked, given, Columns())])
    read = "read 'id' as 'question_id', 'query' as 'question' (to change this, set `columns`)"
    assert done["t", QUESTIONS].notes == (f"{tmp_path / 'q.jsonl'}: {read}",)
    assert done["t", PREDICTIONS].notes == (
        f"{tmp_path / 's.jsonl'}: read 'response' as 'answer' (to change this, set `columns`)",
    )
    answers = warehouse.fetch("SELECT answer, count(*) FROM predictions GROUP BY ALL ORDER BY ALL")
    assert answers.rows() == [("x", 250), ("y", 50)]


def test_an_unused_alias_stays_on_the_fast_path(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("read row by row")

    monkeypatch.setattr(plan, "write_questions", fail)
    monkeypatch.setattr(plan, "write_predictions", fail)
    asked = [{"question_id": "a", "id": 7, "question": "Why?", "query": "w"}]
    retrieved = [{"doc_id": "d", "text": "t"}]
    given = [{"question_id": "a", "answer": "x", "retrieved": retrieved, "context": "c"}]
    done = ingest(warehouse, [files(tmp_path, asked, given, Columns())])
    assert [each.notes for each in done.values()] == [(), ()]


def test_tags_must_occur_and_be_scalars(warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no row has a value for 'lnag'.*did you mean 'lang'"):
        ingest(warehouse, [files(tmp_path, ASKED, GIVEN, Columns(tags=("lnag",)))])
    asked = [{"question_id": "a", "lang": ["en"]}]
    with pytest.raises(InputError, match=r"q\.jsonl:1: tags\.lang: expected text or a number"):
        ingest(warehouse, [files(tmp_path, asked, GIVEN, Columns(tags=("lang",)))])


def test_a_tag_of_ragas_is_a_column_of_the_answers(warehouse: Warehouse, tmp_path: Path) -> None:
    rows = [
        {"user_input": "Why?", "response": "So.", "dataset": "x"},
        {"user_input": "How?", "response": "Thus.", "dataset": "y"},
    ]
    given = BenchmarkFiles(
        benchmark="t",
        format="ragas",
        predictions=[(write(tmp_path / "s.jsonl", rows), "s")],
        columns=Columns(tags=("dataset",)),
    )
    ingest(warehouse, [given])
    tags = warehouse.fetch("SELECT question, tags['dataset'] FROM questions ORDER BY question")
    assert tags.rows() == [("How?", "y"), ("Why?", "x")]


def test_columns_of_one_system_come_first(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"question_id": "a", "question": "Why?"}\n')
    (tmp_path / "north.csv").write_text("id,reply,note\na,Yes.,x\n")
    (tmp_path / "south.csv").write_text("id,output,reply\na,No.,unused\n")
    columns = Columns(predictions={"reply": "answer"}, systems={"south": {"output": "answer"}})
    files: list[tuple[Path, str | None]] = [
        (tmp_path / f"{name}.csv", name) for name in ("north", "south")
    ]
    given = BenchmarkFiles(
        benchmark="b",
        format="canonical",
        questions=[tmp_path / "q.jsonl"],
        predictions=files,
        columns=columns,
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest(warehouse, [given])
    sql = "SELECT system, answer FROM predictions ORDER BY 1"
    assert warehouse.fetch(sql).rows() == [("north", "Yes."), ("south", "No.")]
    # A change of one system's columns is read again.
    (tmp_path / "south.csv").write_text("id,output,reply\na,No.,Never.\n")
    changed = replace(given, columns=replace(columns, systems={}))
    ingest(warehouse, [changed])
    assert warehouse.fetch(sql).rows() == [("north", "Yes."), ("south", "Never.")]
    misspelt = replace(columns, systems={"sout": {"output": "answer"}})
    with pytest.raises(InputError, match=r"names the system 'sout', .*; did you mean 'south'\?"):
        ingest(warehouse, [replace(given, columns=misspelt)])
