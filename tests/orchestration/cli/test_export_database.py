"""`scoreline export --as database`: SQLite, and PostgreSQL where it runs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.support.services import POSTGRES, database
from warehouse.publish.database import EXPORTED, Target, write_database
from warehouse.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def export(folder: Path, *arguments: str) -> tuple[int, str, str]:
    config = ["--config", str(folder / "scoreline.yaml")]
    command = ["export", "--as", "database", *arguments, *config]
    result = CliRunner().invoke(program, command, prog_name="scoreline")
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def copy(done_project: Path, tmp_path: Path) -> Snapshot:
    """A published copy that a test may change."""
    target = tmp_path / "copy" / "scoreline.duckdb"
    target.parent.mkdir()
    shutil.copy(done_project / "published" / "scoreline.duckdb", target)
    return Snapshot(target)


def change(copy: Snapshot, *statements: str) -> None:
    with duckdb.connect(str(copy.path)) as connection:
        for statement in statements:
            connection.execute(statement)


def rows(file: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(sql).fetchall()


def test_sqlite_has_the_rows_of_the_copy(done_project: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    for _ in range(2):  # the second replaces the rows
        code, out, err = export(done_project, "--to", f"sqlite:///{file}")
        assert code == 0, err
        names = out.split()
        assert {"leaderboard", "comparisons", "scores", "questions", "predictions"} <= set(names)
        assert "marks" not in names
        assert f"tables of sqlite:///{file}" in err
    with duckdb.connect(
        str(done_project / "published" / "scoreline.duckdb"), read_only=True
    ) as own:
        for name in names:
            expected = own.execute(f'SELECT count(*) FROM "{name}"').fetchall()
            assert rows(file, f'SELECT count(*) FROM "{name}"') == expected, name
        query = "SELECT system, slice, metric, mean, n FROM leaderboard"
        expected = own.execute(query).fetchall()
    assert sorted(rows(file, query), key=repr) == sorted(expected, key=repr)
    # Six questions; two systems.
    assert rows(file, "SELECT count(*) FROM questions") == [(6,)]
    assert rows(file, "SELECT count(*), count(DISTINCT system) FROM predictions") == [(12, 2)]


def test_lists_and_mappings_are_json(copy: Snapshot, tmp_path: Path) -> None:
    change(
        copy,
        "UPDATE questions SET expected_answers = ['a\"b', 'c'], tags = MAP {'k': 'v'}, "
        "extra = '{\"n\": [1, null]}'",
    )
    file = tmp_path / "results.db"
    write_database(copy, Target(f"sqlite:///{file}"))
    (found,) = set(rows(file, "SELECT expected_answers, tags, extra FROM questions"))
    assert [json.loads(each) for each in found] == [['a"b', "c"], {"k": "v"}, {"n": [1, None]}]
    (digest,) = set(rows(file, "SELECT typeof(input_digest) FROM scores"))
    assert digest == ("text",)


def test_one_benchmark_leaves_the_others(copy: Snapshot, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    target = Target(f"sqlite:///{file}")
    write_database(copy, target)
    change(copy, "UPDATE questions SET benchmark = 'other'")
    written = write_database(copy, target, "other")
    assert written.tables["questions"] == 6
    assert rows(file, "SELECT benchmark, count(*) FROM questions GROUP BY 1 ORDER BY 1") == [
        ("harbour", 6),
        ("other", 6),
    ]
    write_database(copy, target)
    assert rows(file, "SELECT DISTINCT benchmark FROM questions") == [("other",)]


def test_tables_of_others_are_not_touched(done_project: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE questions (mine TEXT)")
    code, _, err = export(done_project, "--to", f"sqlite:///{file}")
    assert code == 2
    assert "error: the database has a table 'questions' that no export has written" in err
    assert rows(file, "SELECT name FROM sqlite_master") == [("questions",)]


def test_a_failed_export_changes_nothing(
    copy: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.db"
    target = Target(f"sqlite:///{file}")
    write_database(copy, target)
    change(copy, "UPDATE questions SET question = 'changed'")
    last = EXPORTED[-1].name

    def fail(self: Any, table: Any, *arguments: Any) -> int:
        if table.name == last:
            raise RuntimeError(last)
        return replace(self, table, *arguments)

    from warehouse.publish.database import _Export

    replace = _Export._replace
    monkeypatch.setattr(_Export, "_replace", fail)
    with pytest.raises(RuntimeError, match=last):
        write_database(copy, target)
    assert rows(file, "SELECT count(*) FROM questions WHERE question = 'changed'") == [(0,)]
    assert rows(file, "SELECT count(*) FROM questions") == [(6,)]


def test_changed_columns_make_a_table_again(copy: Snapshot, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    target = Target(f"sqlite:///{file}")
    write_database(copy, target)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("ALTER TABLE questions ADD COLUMN older TEXT")
        connection.execute(
            "UPDATE scoreline_export SET columns_digest = 'x' WHERE table_name = 'questions'"
        )
    with pytest.raises(Exception, match="'questions' was exported with other columns: export with"):
        write_database(copy, target, "harbour")
    write_database(copy, target)
    columns = [name for _, name, *_ in rows(file, "PRAGMA table_info(questions)")]
    assert "older" not in columns
    assert rows(file, "SELECT count(*) FROM questions") == [(6,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--to'"),
        (["--to", "sqlite:///x.db", "--out", "y"], "has '--to' instead of '--out'"),
        (["--to", "s3cret"], "expected the URL of a database, such as postgresql://"),
        (["--to", "oracel://u:s3cret@h/d"], "expected the URL of a database"),
        (["--to", "sqlite:///x.db", "--password-env", "NOT_SET"], "NOT_SET, which holds the pass"),
        (["--to", "sqlite:////nowhere/x.db"], "cannot export to sqlite:////nowhere/x.db: unable"),
        (["--to", "mysql+pymysql://u:s3cret@127.0.0.1/d"], "'mysql' needs the package 'pymysql'"),
        (
            ["--to", "postgresql://u:s3cret@127.0.0.1:1/d"],
            "cannot export to postgresql://u:***@127.0.0.1:1/d: ",
        ),
        (
            ["--to", "postgresql://u@127.0.0.1:1/d?password=s3cret"],
            "cannot export to postgresql://u@127.0.0.1:1/d: ",
        ),
    ],
)
def test_slips_are_errors_without_secrets(
    done_project: Path, arguments: list[str], message: str
) -> None:
    code, out, err = export(done_project, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "s3cret" not in err
    assert "Traceback" not in err


@pytest.fixture
def postgres() -> Iterator[str]:
    with database() as name:
        yield name


def test_postgresql_has_types_and_schemas(
    copy: Snapshot, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setenv("REPORTS", "any")
    address = "postgresql://{user}@{host}:{port}".format(**POSTGRES) + f"/{postgres}"
    first = "(SELECT min(question_id) FROM questions)"
    change(
        copy, f"UPDATE questions SET question = 'a' || chr(0) || 'b' WHERE question_id = {first}"
    )
    target = Target(address, 'odd "schema"', "REPORTS")
    written = write_database(copy, target)
    assert "any" not in written.address
    assert written.replaced_nuls >= 1
    with psycopg.connect(host="127.0.0.1", user="postgres", dbname=postgres) as connection:
        schema = '"odd ""schema"""'
        connection.execute(f"CREATE VIEW best AS SELECT system, mean FROM {schema}.leaderboard")
        connection.commit()
        asked = f"SELECT count(*) FROM {schema}.questions WHERE question = 'a\ufffdb'"
        assert connection.execute(asked).fetchall() == [(1,)]
        types = dict(
            connection.execute(
                "SELECT column_name, data_type FROM information_schema.columns "
                "WHERE table_name = 'leaderboard'"
            ).fetchall()
        )
        assert (types["mean"], types["n"]) == ("double precision", "bigint")
        assert types["published_at"] == "timestamp without time zone"
    # Views on the tables of the first export do not hinder the next one, and a reader does not.
    with psycopg.connect(host="127.0.0.1", user="postgres", dbname=postgres) as reader:
        before = reader.execute("SELECT count(*) FROM best").fetchall()
        write_database(copy, target)
        assert reader.execute("SELECT count(*) FROM best").fetchall() == before
        own = duckdb.connect(str(copy.path)).execute("SELECT count(*) FROM leaderboard").fetchall()
        assert before == own
