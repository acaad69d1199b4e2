"""`scoreline history`, `tag` and `compare --before` after real runs."""

from __future__ import annotations

import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner

import scoreline as scoreline_api
from orchestration.cli.program import program
from scoreline import ScorelineError
from tests.orchestration.conftest import Ended, scoreline
from tests.support.lakes import configured, fresh
from tests.support.services import takes_minutes
from warehouse.publish.snapshot import FILE_NAME, amend

if TYPE_CHECKING:
    from pathlib import Path


def run(folder: Path, *arguments: str) -> Ended:
    """Run a command in this process on a project."""
    config = ["--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def rows(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """The objects that a command writes as JSON."""
    ended = run(folder, *arguments, "--format", "json")
    assert ended.code == 0, ended.err
    found: list[dict[str, Any]] = json.loads(ended.out)
    return found


def rewrite(folder: Path, name: str, **changes: dict[str, Any]) -> None:
    """Change fields of rows in a file of the project, by question."""
    file = folder / "data" / name
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [{**row, **changes.get(row["question_id"].replace("-", "_"), {})} for row in lines]
    file.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def twice(done_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter project, tagged v1.2, then published again with another answer of `keyword`.

    What `keyword` cites for `pay-late` becomes wrong, and for `night-call` right.
    """
    folder = shutil.copytree(done_project, tmp_path_factory.mktemp("twice") / "demo")
    tagged = run(folder, "tag", "v1.2")
    assert tagged.code == 0, tagged.err
    data = folder / "data"
    gold = {
        row["question_id"]: row
        for row in map(json.loads, (data / "questions.jsonl").read_text("utf-8").splitlines())
    }
    right = gold["night-call"]["gold_sentence_ids"]
    rewrite(
        folder,
        "predictions_keyword.jsonl",
        night_call={"cited_sentence_ids": right, "answer": "Channel 11 | <b>now</b>"},
        last_ferry={"cited_sentence_ids": ["S99"]},
    )
    ended = scoreline(folder, "run", "--quiet")
    assert ended.code == 0, ended.err
    return folder


def test_history_has_every_publication(twice: Path) -> None:
    found = rows(twice, "history")
    keys = {"published_at", "run_id", "tag", "benchmark", "system", "evaluator", "metric"}
    assert keys | {"mean", "ci_low", "ci_high", "comparable"} <= found[0].keys()
    f1 = [row for row in found if (row["evaluator"], row["metric"]) == ("citation", "f1")]
    assert [(row["system"], row["tag"]) for row in f1] == [
        *(("keyword", "v1.2"), ("reader", "v1.2")),
        *(("keyword", None), ("reader", None)),
    ]
    assert f1[1]["mean"] == f1[3]["mean"]
    assert all(row["comparable"] for row in found)
    assert len({row["run_id"] for row in found}) == 2
    chosen = rows(twice, "history", "--system", "reader", "--metric", "citation.f1")
    assert chosen == [f1[1], f1[3]]
    in_csv = csv.DictReader(io.StringIO(run(twice, "history", "--format", "csv").out))
    assert len(list(in_csv)) == len(found)


def test_history_as_a_table(twice: Path) -> None:
    lines = run(twice, "history").out.splitlines()
    assert lines[0] == "harbour: citation.f1"
    assert lines[1].split() == ["published", "run", "tag", "keyword", "reader", "changed"]
    assert [line.split()[3] for line in lines[3:]] == ["v1.2", "-"]


def test_a_tag_is_shown_whatever_was_scored(twice: Path, tmp_path: Path) -> None:
    """Also if the metric that orders systems now was not computed then."""
    folder = shutil.copytree(twice, tmp_path / "demo")
    with duckdb.connect(str(folder / "published" / FILE_NAME)) as connection:
        connection.execute(
            "DELETE FROM leaderboard_history WHERE metric = 'f1' AND published_at = "
            "(SELECT min(published_at) FROM leaderboard_history)"
        )
    (line,) = [each for each in run(folder, "history").out.splitlines() if "v1.2" in each]
    assert line.split()[-4:] == ["-", "-", "no", "score"]


def test_a_long_list_of_changes_says_what_it_leaves_out(
    twice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestration.cli.commands.compare.MAX_QUESTIONS", 1)
    ended = run(twice, "compare", "keyword", "--before", "v1.2", "--metric", "citation.f1")
    said = "2 of 6 scores changed, 2 flipped between pass and failure; 1 of 2 shown, --format json"
    assert f"keyword, citation.f1: {said} has all" in " ".join(ended.out.split())


def test_inputs_by_publication(twice: Path) -> None:
    found = rows(twice, "history", "--inputs", "--system", "keyword")
    kinds = ["questions", "documents", "predictions"]
    assert [row["kind"] for row in found] == 2 * kinds
    assert [row["rows"] for row in found] == 2 * [6, 13, 6]
    before, now = found[:3], found[3:]
    same = [a["digest"] == b["digest"] for a, b in zip(before, now, strict=True)]
    assert same == [True, True, False]
    assert [row["is_new"] for row in now] == [False, False, True]


def test_the_difference_of_two_data_sets(twice: Path) -> None:
    found = rows(twice, "history", "--between", "v1.2", "now")
    counts = ("is_same", "rows_before", "rows_after", "n_added", "n_removed", "n_changed")
    assert {(row["kind"], row["system"]): [row[name] for name in counts] for row in found} == {
        ("questions", None): [True, 6, 6, 0, 0, 0],
        # Documents are not kept.
        ("documents", None): [True, 13, 13, None, None, None],
        # Two predictions differ, one of them in its answer.
        ("predictions", "keyword"): [False, 6, 6, 0, 0, 1],
        ("predictions", "reader"): [True, 6, 6, 0, 0, 0],
    }
    assert run(twice, "history", "--between", "v1.2", "now").out.startswith("v1.2 (")
    assert run(twice, "history", "--between", "v1.3", "now").code == 2


def test_what_changed_since_a_tag(twice: Path) -> None:
    found = rows(twice, "compare", "--before", "v1.2", "--metric", "citation.f1")
    keyword, reader = found
    assert (keyword["system"], reader["system"]) == ("keyword", "reader")
    # One answer from right to wrong, one from wrong to right.
    assert keyword["difference"] == 0.0
    assert keyword["n_pairs"] == 6
    flipped = {row["question_id"]: row for row in keyword["questions"] if row["flipped"]}
    assert set(flipped) == {"last-ferry", "night-call"}
    assert (flipped["last-ferry"]["before"], flipped["last-ferry"]["now"]) == (1.0, 0.0)
    assert flipped["night-call"]["answer_before"] == "I do not know."
    assert flipped["night-call"]["answer_now"] == "Channel 11 | <b>now</b>"
    assert keyword["n_flipped"] == 2
    assert (reader["questions"], reader["n_flipped"]) == ([], 0)


def test_the_same_as_a_table_for_one_system(twice: Path) -> None:
    run_id = rows(twice, "history")[0]["run_id"]
    ended = run(twice, "compare", "keyword", "--before", run_id[:8], "--metric", "citation.f1")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("harbour: now and v1.2 (")
    assert "reader" not in ended.out
    assert "keyword, citation.f1: 2 of 6 scores changed, 2 flipped" in ended.out
    assert " shown, " not in ended.out
    unchanged = run(twice, "compare", "reader", "--before", "v1.2", "--metric", "citation.f1")
    assert "reader, citation.f1: no score has changed." in unchanged.out


@takes_minutes
def test_the_same_in_python(twice: Path) -> None:
    results = scoreline_api.open(twice / "published")
    found = rows(twice, "history", "--metric", "citation.f1")
    own = results.history.filter(evaluator="citation", metric="f1")
    assert own["mean"].to_list() == [row["mean"] for row in found]
    changes = results.changes("v1.2", "keyword", metric="citation.f1").row(0, named=True)
    (expected,) = rows(twice, "compare", "keyword", "--before", "v1.2", "--metric", "citation.f1")
    assert {name: changes[name] for name in ("n_flipped", "questions")} == {
        name: expected[name] for name in ("n_flipped", "questions")
    }
    with pytest.raises(ScorelineError, match=r"did you mean 'v1\.2'"):
        results.changes("v1.3")


def test_unknown_publications_suggest_a_near_name(twice: Path) -> None:
    ended = run(twice, "compare", "--before", "v1.3")
    assert ended.code == 2
    assert "no publication 'v1.3' (did you mean 'v1.2'?)" in ended.err
    early = run(twice, "compare", "--before", "2001-01-01")
    assert early.code == 2
    assert "there is no publication up to '2001-01-01'" in early.err
    metric = run(twice, "compare", "--before", "v1.2", "--metric", "citation.f2")
    assert metric.code == 2
    assert "did you mean 'citation.f1'" in metric.err
    assert run(twice, "compare", "--before", "v1.2", "--slice", "topic=fees").code == 2
    assert run(twice, "history", "--benchmark", "harbor").code == 2


@takes_minutes
def test_the_report_shows_a_tag_at_once(twice: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(twice, tmp_path / "demo")

    def pages() -> str:
        report = folder / "published" / "report"
        current = json.loads((report / ".folders.json").read_text("utf-8"))
        files = [file for name in current for file in (report / name).rglob("*.html")]
        return "".join(file.read_text("utf-8") for file in files)

    assert "v1.2" in pages()
    assert "v9-candidate" not in pages()
    assert run(folder, "tag", "v9-candidate").code == 0
    assert "v9-candidate" in pages()


@takes_minutes
def test_tags_are_not_taken_away_by_accident(twice: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(twice, tmp_path / "demo")
    moved = run(folder, "tag", "v1.2")
    assert moved.code == 2
    assert "'v1.2' is the tag of the publication of" in moved.err
    assert run(folder, "tag", "Größe/2").code == 0
    assert (
        run(folder, "tag", "Größe/2").out == "Größe/2 is the tag of the last publication already\n"
    )
    replaced = run(folder, "tag", "v2")
    assert (replaced.code, "has the tag 'Größe/2': --force replaces it" in replaced.err) == (
        2,
        True,
    )
    assert run(folder, "tag", "v1.2", "--force").code == 0
    assert {row["tag"] for row in rows(folder, "history")} == {None, "v1.2"}
    for bad in ("", "two words", "a\nb", "x" * 101):
        assert run(folder, "tag", "--", bad).code == 2, bad
    # Nothing has changed but the tag: the next run leaves it.
    assert scoreline(folder, "run", "--quiet").code == 0
    assert len({row["published_at"] for row in rows(folder, "history")}) == 2


@takes_minutes
def test_changed_questions_and_evaluators_are_said(twice: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(twice, tmp_path / "demo")
    rewrite(folder, "questions.jsonl", last_ferry={"question": "When is the last ferry?"})
    file = folder / "scoreline.yaml"
    keys = yaml.safe_load(file.read_text(encoding="utf-8"))
    keys["benchmarks"]["harbour"]["parameters"] = {"document_retrieval": {"cutoffs": [2]}}
    keys["benchmarks"]["harbour"]["thresholds"] = {}
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    assert scoreline(folder, "run", "--quiet").code == 0
    ended = run(folder, "compare", "--before", "v1.2", "--metric", "mrr", "--metric", "f1")
    assert ended.code == 0, ended.err
    assert "the questions have changed (1 changed): differences are over the 5 that" in ended.err
    assert (
        "document_retrieval.mrr: not comparable with then: the evaluator has changed" in ended.out
    )
    refused = run(folder, "compare", "--before", "v1.2", "--metric", "mrr")
    assert refused.code == 2
    assert "document_retrieval.mrr: the evaluator has changed" in refused.err
    last = rows(folder, "history")[-1]
    assert last["comparable"] is False
    assert "questions" in run(folder, "history").out.splitlines()[-1].split()


def test_missing_scores_are_an_error(twice: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(twice, tmp_path / "demo")
    copy = folder / "published" / FILE_NAME
    amend(copy.parent, "DELETE FROM kept_scores WHERE question_id = 'pay-late'", {}, 1.0)
    damaged = run(folder, "compare", "--before", "v1.2")
    assert damaged.code == 2
    assert "is damaged: 5 of 6 rows of scores keyword" in damaged.err
    copy.write_bytes(b"no database")
    for command in (("history",), ("tag", "v9"), ("compare", "--before", "v1.2")):
        ended = run(folder, *command)
        assert ended.code == 2, command
        assert "Traceback" not in ended.err


@takes_minutes
def test_the_same_on_a_lake(twice: Path, postgres_database: str, tmp_path: Path) -> None:
    folder = shutil.copytree(twice, tmp_path / "demo")
    shutil.rmtree(folder / "published")
    changed = (folder / "data" / "predictions_keyword.jsonl").read_text(encoding="utf-8")
    with fresh(postgres_database, tmp_path / "lake") as lake:
        file = folder / "scoreline.yaml"
        keys = yaml.safe_load(file.read_text(encoding="utf-8"))
        file.write_text(yaml.safe_dump({**keys, "warehouse": configured(lake)}), encoding="utf-8")
        rewrite(folder, "predictions_keyword.jsonl", last_ferry={"cited_sentence_ids": ["S98"]})
        assert scoreline(folder, "run", "--quiet").code == 0
        assert run(folder, "tag", "v1").code == 0
        (folder / "data" / "predictions_keyword.jsonl").write_text(changed, encoding="utf-8")
        rewrite(folder, "predictions_keyword.jsonl", night_call={"cited_sentence_ids": ["S97"]})
        assert scoreline(folder, "run", "--quiet").code == 0
        assert [row["tag"] for row in rows(folder, "history", "--system", "reader")][::99] == ["v1"]
        (keyword,) = rows(folder, "compare", "keyword", "--before", "v1", "--metric", "citation.f1")
        assert [row["question_id"] for row in keyword["questions"]] == ["night-call"]
