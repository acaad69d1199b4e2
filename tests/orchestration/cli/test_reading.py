"""The commands that read published results: leaderboard and sql; and evaluators."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def invoke(done_project: Path) -> Any:
    """Run a command in this process on the starter project."""

    def run(*arguments: str) -> tuple[int, str, str]:
        config = ["--config", str(done_project / "scoreline.yaml")]
        result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
        return result.exit_code, result.stdout, result.stderr

    return run


def test_leaderboard_as_json_is_the_table(invoke: Any) -> None:
    code, out, _ = invoke("leaderboard", "--format", "json")
    rows = json.loads(out)
    assert code == 0
    assert set(rows[0]) == {column.name for column in TABLES["leaderboard"].columns}
    assert {row["slice"] for row in rows} == {"all"}
    found = {row["system"]: row for row in rows if (row["evaluator"], row["metric"]) == F1}
    assert found["reader"]["mean"] == 5 / 6
    assert (found["reader"]["n"], found["reader"]["n_target_error"]) == (6, 1)
    assert found["keyword"]["mean"] == pytest.approx((1 + 0 + 2 / 3 + 0 + 0 + 2 / 3) / 6)
    assert [found["reader"]["rank"], found["keyword"]["rank"]] == [1, 2]
    assert (found["reader"]["threshold"], found["reader"]["passes"]) == (0.6, 1)


F1 = ("citation", "f1")


def test_leaderboard_as_csv_has_the_same_rows(invoke: Any) -> None:
    rows = json.loads(invoke("leaderboard", "--format", "json")[1])
    read = list(csv.DictReader(io.StringIO(invoke("leaderboard", "--format", "csv")[1])))
    assert [row["metric"] for row in read] == [row["metric"] for row in rows]
    means = [float(row["mean"]) if row["mean"] else None for row in read]
    assert means == [row["mean"] for row in rows]


@pytest.mark.parametrize(
    ("arguments", "slices", "metrics"),
    [
        (["--metric", "citation.f1"], {"all"}, {"f1"}),
        (["--metric", "f1", "--metric", "mrr"], {"all"}, {"f1", "mrr"}),
        (["--metric", "f1", "--slice", "topic=berths"], {"topic=berths"}, {"f1"}),
        (
            ["--metric", "f1", "--slice", "topic"],
            {"topic=berths", "topic=ferries", "topic=safety"},
            {"f1"},
        ),
    ],
)
def test_leaderboard_filters(
    invoke: Any, arguments: list[str], slices: set[str], metrics: set[str]
) -> None:
    rows = json.loads(invoke("leaderboard", *arguments, "--format", "json")[1])
    assert {row["slice"] for row in rows} == slices
    assert {row["metric"] for row in rows} == metrics


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--metric", "citation.f2"], "there is no metric 'citation.f2' (did you mean 'citation"),
        (["--slice", "topik"], "there is no slice 'topik' (did you mean 'topic'?)"),
        (["--benchmark", "x"], "there is no benchmark 'x'; known: 'harbour'"),
    ],
)
def test_leaderboard_rejects_unknown_names(invoke: Any, arguments: list[str], words: str) -> None:
    code, out, err = invoke("leaderboard", *arguments)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("form", ["table", "md"])
def test_leaderboard_of_one_metric(invoke: Any, form: str) -> None:
    code, out, _ = invoke("leaderboard", "--metric", "citation.f1", "--format", form)
    assert code == 0
    assert "f1 ↑" in out
    assert out.index("reader") < out.index("keyword")
    assert "failed" in out


def test_sql(invoke: Any) -> None:
    query = "SELECT system, count(*) AS n FROM scores GROUP BY system ORDER BY system"
    code, out, _ = invoke("sql", query, "--format", "json")
    assert code == 0
    assert [row["system"] for row in json.loads(out)] == ["keyword", "reader"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT systm FROM leaderboard", '"systm" not found'),
        ("SELEC 1", "syntax error"),
        ("DROP TABLE leaderboard", "only reading is allowed: expected a SELECT, got DROP"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled by configuration"),
        ("SELECT 1; SELECT 2", "expected one statement"),
        ("  ", "the query is empty"),
    ],
)
def test_bad_sql(invoke: Any, query: str, words: str) -> None:
    code, out, err = invoke("sql", query)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_sql_from_standard_input(done_project: Path) -> None:
    arguments = ["sql", "-", "--format", "csv", "--config", str(done_project / "scoreline.yaml")]
    result = CliRunner().invoke(program, arguments, input="SELECT 1 AS one")
    assert (result.exit_code, result.stdout) == (0, "one\n1\n")


@pytest.mark.parametrize("command", [["leaderboard"], ["sql", "SELECT 1"]])
def test_nothing_is_published_yet(tmp_path: Path, command: list[str]) -> None:
    CliRunner().invoke(program, ["init", str(tmp_path)])
    config = ["--config", str(tmp_path / "scoreline.yaml")]
    result = CliRunner().invoke(program, [*command, *config])
    assert result.exit_code == 2
    assert "nothing is published yet" in result.stderr
    assert "run `scoreline run` first" in result.stderr


def test_evaluators_as_json() -> None:
    result = CliRunner().invoke(program, ["evaluators", "--format", "json"])
    rows = {row["evaluator"]: row for row in json.loads(result.stdout)}
    assert rows["citation"]["family"] == "citations"
    assert rows["citation"]["primary"] == "f1"
    assert rows["citation"]["reads"] == ["cited_sentence_ids", "gold_sentence_ids"]


def test_description_of_an_evaluator() -> None:
    page = CliRunner().invoke(program, ["evaluators", "document_retrieval"]).stdout
    assert page.startswith("document_retrieval (retrieval)\n\nDid the right documents come back")
    assert "cutoffs" in page
    assert "[1, 5, 10]" in page
    assert "gold_doc_ids" in page
