"""Projects whose questions and predictions are queries, from configuration to leaderboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest

from orchestration.automation.file_watch import FileWatch
from orchestration.config import load
from orchestration.errors import SettingsError
from tests.orchestration.conftest import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """\
benchmarks:
  team:
    questions: {sql: "SELECT * FROM q", database: team.duckdb}
    predictions:
      sql: |
        SELECT question_id, system, answer
        FROM a
      database: team.duckdb
    evaluators: [rouge]
"""


def write_project(folder: Path) -> None:
    (folder / "scoreline.yaml").write_text(CONFIGURATION)
    with duckdb.connect(str(folder / "team.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE q AS SELECT i AS question_id, 'answer ' || i AS expected_answer "
            "FROM range(4) AS r(i)"
        )
        connection.execute(
            "CREATE TABLE a AS SELECT question_id, 'north' AS system, CASE WHEN question_id < 3 "
            "THEN expected_answer ELSE 'nothing' END AS answer FROM q"
        )


def change(folder: Path, statement: str) -> None:
    with duckdb.connect(str(folder / "team.duckdb")) as connection:
        connection.execute(statement)


def rouge_of_run(folder: Path) -> tuple[float, int, int]:
    """Return the mean ROUGE-L of the only system, its questions, and what the run scored."""
    done = scoreline(folder, "run", "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    rows = found["benchmarks"]["team"]["leaderboard"]
    (row,) = (row for row in rows if row["metric"] == "rouge_l")
    return row["mean"], row["n"], found["scored"]


@takes_minutes
def test_only_changed_rows_are_scored_again(tmp_path: Path) -> None:
    write_project(tmp_path)
    assert rouge_of_run(tmp_path) == (0.75, 4, 4)
    again = scoreline(tmp_path, "run")
    assert (again.code, "nothing has changed since" in again.err) == (0, True)
    # Equal rows in another order are no change.
    change(tmp_path, "CREATE OR REPLACE TABLE a AS SELECT * FROM a ORDER BY question_id DESC")
    assert "nothing has changed since" in scoreline(tmp_path, "run").err
    change(tmp_path, "UPDATE a SET answer = 'answer 3' WHERE question_id = 3")
    plan = scoreline(tmp_path, "plan")
    assert plan.code == 0, plan.err
    assert rouge_of_run(tmp_path) == (1.0, 4, 1)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("FROM a", "FROM b", 4, "team.predictions: Catalog Error: Table with name b"),
        ("FROM q", "FROM qq", 3, 'Table with name qq does not exist! Did you mean "q"?'),
        ("team.duckdb}", "taem.duckdb}", 3, "did you mean 'team.duckdb'?"),
        ("SELECT *", "DELETE", 3, "only reading is allowed: expected a SELECT, got DELETE"),
        ("question_id,", "question_id || 'x' AS question_id,", 4, "there is no question '0x'"),
    ],
)
def test_faults_of_queries_end_the_run_with_their_key(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    write_project(tmp_path)
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION.replace(old, new, 1))
    done = scoreline(tmp_path, "run")
    assert done.code == 2
    assert f"scoreline.yaml:{line}: benchmarks.team." in done.err
    assert words in done.err
    assert not (tmp_path / "published").exists()


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("{sql: SELECT 1}", "the key 'database' is missing in benchmarks.team.questions"),
        ("{sql: SELECT 1, databse: x}", "unknown key 'databse' (did you mean 'database'?)"),
        ("[a]", "benchmarks.team.questions: expected text"),
        ('{sql: S, database: "postgresql://u:hunter2@h/d"}', "must not hold a password"),
        (
            '{sql: S, database: "mysql://u@h/d"}',
            "file, or postgresql://..., found mysql://",
        ),
        ("{sql: S, database: x, password_env: P}", "only PostgreSQL has a password"),
    ],
)
def test_faults_of_keys(tmp_path: Path, new: str, words: str) -> None:
    old = '{sql: "SELECT * FROM q", database: team.duckdb}'
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION.replace(old, new, 1))
    with pytest.raises(SettingsError) as raised:
        load.load_config(tmp_path / "scoreline.yaml")
    assert words in str(raised.value)
    assert all(fault.line == 3 for fault in raised.value.faults)
    assert "hunter2" not in str(raised.value)


def test_only_the_canonical_format_takes_queries(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("  team:\n", "  team:\n    format: trec\n")
    (tmp_path / "scoreline.yaml").write_text(text)
    with pytest.raises(SettingsError, match="'trec' reads files, expected a path"):
        load.load_config(tmp_path / "scoreline.yaml")


def test_a_changed_database_starts_a_run(tmp_path: Path) -> None:
    write_project(tmp_path)
    project = load.load_config(tmp_path / "scoreline.yaml").project
    watch, ready, changing = FileWatch().update(project, 0.0)
    assert (ready, changing) == ([], ["team"])
    watch, ready, _ = watch.update(project, 100.0)
    assert ready == ["team"]
    watch = watch.mark_requested(ready)
    assert watch.update(project, 200.0)[1:] == ([], [])
    change(tmp_path, "INSERT INTO a VALUES (3, 'south', 'x')")
    assert watch.update(project, 300.0)[2] == ["team"]
    (tmp_path / "team.duckdb").unlink()
    assert watch.update(project, 400.0)[1:] == ([], [])
