"""Rows of DuckDB, SQLite and PostgreSQL are read like those of files, and nothing is written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.support.services import POSTGRES, database, takes_minutes
from warehouse.errors import InputError
from warehouse.formats.canonical import read_predictions, read_questions
from warehouse.formats.columns import Columns
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.query import Query
from warehouse.formats.readers.sql import query_digest, query_rows
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.ingest.result import Ingested

ORIGIN = "scoreline.yaml:3: benchmarks.b.predictions"

QUESTIONS = """
CREATE TABLE q (question_id INTEGER, question VARCHAR, expected_answer VARCHAR, tags VARCHAR);
INSERT INTO q VALUES (1, 'One?', '["one", "1"]', '{"lang": "de"}'), (2, 'Two?', 'two', NULL);
CREATE TABLE a (question_id INTEGER, system VARCHAR, answer VARCHAR, latency_s DECIMAL(6, 3));
INSERT INTO a VALUES (1, 'north', 'one', 0.5), (2, 'north', 'three', 2), (1, 'south', 'x', 1);
"""


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """A database of each kind with the same rows; the path of a file, or an address."""
    if request.param == "duckdb":
        # The kind of a file follows from its content, not from its name.
        with duckdb.connect(str(tmp_path / "team.db")) as connection:
            connection.execute(QUESTIONS)
        yield tmp_path / "team.db"
    elif request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "team.db")) as connection:
            connection.executescript(QUESTIONS)
        yield tmp_path / "team.db"
    else:
        with database() as name:
            address = f"postgresql://{POSTGRES['user']}@{POSTGRES['host']}/{name}"
            subprocess.run(["psql", "--quiet", address, "--command", QUESTIONS], check=True)
            yield address


def ingest_tables(
    tmp_path: Path, tables: Path | str, answers: str = "SELECT * FROM a"
) -> tuple[Warehouse, dict[tuple[str, str], Ingested]]:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = BenchmarkFiles(
        benchmark="b",
        format="canonical",
        questions=[Query("SELECT * FROM q;", tables, "questions")],
        predictions=[(Query(answers, tables, ORIGIN), None)],
    )
    return warehouse, ingest(warehouse, [files])


def test_rows_become_questions_and_predictions(tmp_path: Path, tables: Path | str) -> None:
    warehouse, done = ingest_tables(tmp_path, tables)
    questions = warehouse.fetch(
        "SELECT question_id, question, expected_answers, tags FROM questions ORDER BY 1"
    ).rows()
    assert questions == [
        ("1", "One?", ["one", "1"], {"lang": "de"}),
        ("2", "Two?", ["two"], None),
    ]
    predictions = warehouse.fetch(
        "SELECT system, question_id, answer, latency_s, error FROM predictions ORDER BY 1, 2"
    ).rows()
    assert predictions == [
        ("north", "1", "one", 0.5, None),
        ("north", "2", "three", 2.0, None),
        ("south", "1", "x", 1.0, None),
        ("south", "2", None, None, "no prediction"),
    ]
    assert done["b", "predictions"].rows == 4


def test_only_other_rows_are_new(tmp_path: Path, tables: Path | str) -> None:
    ingest_tables(tmp_path, tables)
    _, again = ingest_tables(tmp_path, tables, "SELECT * FROM a ORDER BY answer DESC")
    assert again["b", "questions"].unchanged
    assert again["b", "predictions"].unchanged
    warehouse, changed = ingest_tables(tmp_path, tables, "SELECT * FROM a WHERE system = 'north'")
    assert not changed["b", "predictions"].unchanged
    assert warehouse.fetch("SELECT DISTINCT system FROM predictions").rows() == [("north",)]


def test_a_repeated_row_changes_the_digest(tables: Path | str) -> None:
    once = query_digest(Query("SELECT answer FROM a", tables, ORIGIN))
    every = "SELECT answer FROM a UNION ALL SELECT answer FROM a"
    assert query_digest(Query(every, tables, ORIGIN)) != once
    assert query_digest(Query(f"{every} UNION ALL {every}", tables, ORIGIN)) != once


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM a",
        "INSERT INTO a VALUES (2, 'south', 'y', 1)",
        "CREATE TABLE other (x INTEGER)",
        "DROP TABLE a",
        "SELECT 1; DELETE FROM a",
        "WITH gone AS (SELECT 1) DELETE FROM a",
    ],
)
def test_nothing_can_be_changed(tables: Path | str, sql: str) -> None:
    count = "SELECT count(*) AS n, count(answer) AS m FROM a"
    with pytest.raises(InputError, match=ORIGIN):
        list(query_rows(Query(sql, tables, ORIGIN)))
    (row,) = query_rows(Query(count, tables, ORIGIN))
    assert not isinstance(row, Reject)
    assert row.fields == {"n": 3, "m": 3}


def test_faults_name_the_key(tables: Path | str) -> None:
    for sql, words in (
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT nothing FROM a", "nothing"),
        ("SELEC 1", "syntax error"),
        ("SELECT answer, answer FROM a", "two columns have the name 'answer'"),
    ):
        with pytest.raises(InputError) as raised:
            list(query_rows(Query(sql, tables, ORIGIN)))
        assert str(raised.value).startswith(f"{ORIGIN}: ")
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_row_that_is_not_valid_is_named_by_its_number(tmp_path: Path, tables: Path | str) -> None:
    answers = "SELECT * FROM a UNION ALL SELECT 3, 'north', 'unknown', 1"
    with pytest.raises(InputError, match=rf"^{ORIGIN}:4: there is no question '3'"):
        ingest_tables(tmp_path, tables, answers)


def test_nested_values_of_duckdb_are_read(tmp_path: Path) -> None:
    file = tmp_path / "team.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT [{'doc_id': 'd', 'score': 0.25::DECIMAL(4, 2), 'text': NULL}]"
            " AS retrieved, MAP {'d': 2} AS gold_relevance, [1.0, 2.5]::DOUBLE[2] AS pair, "
            "DATE '2026-01-02' AS day, 7::HUGEINT AS huge, NULL AS nothing, 'é' AS text"
        )
    (row,) = query_rows(Query("FROM t", file, ORIGIN))
    assert not isinstance(row, Reject)
    assert row.fields == {
        "retrieved": [{"doc_id": "d", "score": 0.25}],
        "gold_relevance": {"d": 2},
        "pair": [1.0, 2.5],
        "day": "2026-01-02",
        "huge": 7,
        "nothing": None,
        "text": "é",
    }


def test_a_text_that_begins_with_a_bracket_stays_a_text(tables: Path | str) -> None:
    asked = "SELECT 'q' AS question_id, '[1] Paris' AS expected_answer"
    (read,) = read_questions(Source(Path(ORIGIN), query=Query(asked, tables, ORIGIN)))
    assert isinstance(read, Read)
    assert read.record.expected_answer == ["[1] Paris"]
    for context, contexts in (
        ("[1] Paris is the capital.", ["[1] Paris is the capital."]),
        ('["Paris", "Rome"]', ["Paris", "Rome"]),
    ):
        answered = f"SELECT 'q' AS question_id, '{context}' AS context"
        (given,) = read_predictions(
            Source(Path(ORIGIN), "s", query=Query(answered, tables, ORIGIN))
        )
        assert isinstance(given, Read)
        assert given.record.contexts == contexts
    broken = Query("SELECT 'q' AS question_id, '[\"Paris' AS context", tables, ORIGIN)
    (reject,) = read_predictions(Source(Path(ORIGIN), "s", query=broken))
    assert isinstance(reject, Reject)
    assert reject.reason.startswith("context: expected JSON, found '[\"Paris'")


@pytest.mark.parametrize("tables", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("number", "shown"),
    [("'Infinity'", "inf"), ("'-Infinity'", "-inf"), ("'NaN'", "nan"), ("1e5000", "inf")],
)
def test_a_decimal_without_a_counterpart_is_a_rejected_row(
    tables: str, number: str, shown: str
) -> None:
    rows = f"(VALUES (1, 0.5), (2, {number}::numeric)) AS a (question_id, latency_s) ORDER BY 1"
    query = Query(f"SELECT * FROM {rows}", tables, ORIGIN)
    read, reject = read_predictions(Source(Path(ORIGIN), "s", query=query))
    assert isinstance(read, Read)
    assert read.record.latency_s == 0.5
    assert isinstance(reject, Reject)
    assert (reject.line, reject.reason) == (
        2,
        f"latency_s: expected a finite number, found {shown}",
    )


def test_a_tag_is_a_finite_number(tmp_path: Path) -> None:
    file = tmp_path / "team.duckdb"
    duckdb.connect(str(file)).close()
    asked = "SELECT 'q' AS question_id, {'price': 'inf'::DOUBLE} AS tags"
    (reject,) = read_questions(Source(Path(ORIGIN), query=Query(asked, file, ORIGIN)))
    assert isinstance(reject, Reject)
    assert "tags.price: expected text or a number, found inf" in reject.reason


def test_binary_data_are_refused(tables: Path | str) -> None:
    sql = "SELECT CAST('x' AS BYTEA) AS answer"
    if isinstance(tables, Path):
        sql = sql.replace("BYTEA", "BLOB")
    (reject,) = query_rows(Query(sql, tables, ORIGIN))
    assert isinstance(reject, Reject)
    assert "binary data" in reject.reason


def test_files_that_are_no_databases_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.duckdb").write_text("not a database")
    for name, words in (
        ("note.duckdb", "did you mean 'notes.duckdb'"),
        ("notes.duckdb", "not a DuckDB database"),
    ):
        with pytest.raises(InputError, match=words):
            list(query_rows(Query("SELECT 1", tmp_path / name, ORIGIN)))


def test_a_database_in_a_folder_without_write_access_is_read(tmp_path: Path) -> None:
    file = tmp_path / "team.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(QUESTIONS)
    before = sorted(path.name for path in tmp_path.iterdir())
    content = file.read_bytes()
    assert len(list(query_rows(Query("SELECT * FROM a", file, ORIGIN)))) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert file.read_bytes() == content


def test_the_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    query = Query("SELECT 1", "postgresql://u@127.0.0.1:1/d", ORIGIN, "TEAM_PASSWORD")
    with pytest.raises(InputError, match="TEAM_PASSWORD, which holds the password of the database"):
        list(query_rows(query))
    monkeypatch.setenv("TEAM_PASSWORD", "hunter2")
    with pytest.raises(InputError, match="Connection refused") as raised:
        list(query_rows(query))
    assert "hunter2" not in str(raised.value)


@takes_minutes
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_large_result_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """A result of 1.2 GB, of which DuckDB keeps at most 200 MB."""
    file = tmp_path / "team.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS question_id, repeat(md5(i::VARCHAR), 60) AS answer "
            "FROM range(600000) AS r(i)"
        )
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from warehouse.formats.query import Query\n"
        "from warehouse.formats.readers.sql import query_digest\n"
        "file = Path(sys.argv[1])\n"
        "query_digest(Query('SELECT * FROM t', file, 'o', memory_limit='200MB'))\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(file)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert int(done.stdout) < 800_000


@takes_minutes
def test_a_file_that_another_process_writes_is_named(tmp_path: Path) -> None:
    file = tmp_path / "team.duckdb"
    script = (
        "import duckdb, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=rf"^{ORIGIN}: .* is open in process {holder.pid}"):
            list(query_rows(Query("SELECT 1", file, ORIGIN)))
        holder.communicate()
    assert len(list(query_rows(Query("SELECT 1", file, ORIGIN)))) == 1


def test_columns_with_other_names_are_read(tmp_path: Path, tables: Path | str) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb")
    questions = "SELECT question_id AS id, question AS ask, 'de' AS lang FROM q"
    answers = "SELECT question_id, system AS version, answer AS response FROM a"
    files = BenchmarkFiles(
        benchmark="b",
        format="canonical",
        questions=[Query(questions, tables, "questions")],
        predictions=[(Query(answers, tables, ORIGIN), None)],
        columns=Columns(
            questions={"ask": "question"}, predictions={"version": "system"}, tags=("lang",)
        ),
    )
    done = ingest(warehouse, [files])
    rows = warehouse.fetch("SELECT question_id, question, tags FROM questions ORDER BY 1").rows()
    assert rows == [("1", "One?", {"lang": "de"}), ("2", "Two?", {"lang": "de"})]
    assert warehouse.fetch("SELECT count(answer) FROM predictions").item() == 3
    (note,) = done["b", "questions"].notes
    assert note.startswith("questions: read 'id' as 'question_id'")
