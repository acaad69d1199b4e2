"""The commands for comparisons and human labels: compare, gate, labels import."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.comparison import COLUMNS, describe_comparison
from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline
from tests.support.services import takes_minutes
from warehouse.publish.snapshot import FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path

PAIR = ["--benchmark", "harbour"]


def run(folder: Path, *arguments: str) -> Ended:
    """Run a command in this process on a project."""
    config = ["--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_compare_prints_a_sentence(done_project: Path) -> None:
    ended = run(done_project, "compare", "reader", "keyword", *PAIR, "--metric", "citation.f1")
    assert ended.code == 0
    assert (
        "citation.f1: no significant difference between reader and keyword on 6 questions"
        in ended.out
    )
    assert "largest differences" in ended.out


def test_compare_with_swapped_systems(done_project: Path) -> None:
    either = [
        json.loads(run(done_project, "compare", a, b, *PAIR, "--format", "json").out)
        for a, b in (("reader", "keyword"), ("keyword", "reader"))
    ]
    assert len(either[0]) == len(either[1]) > 1
    for one, other in zip(*either, strict=True):
        assert one["metric"] == other["metric"]
        assert one["difference"] == pytest.approx(-other["difference"])
        assert (one["a"], one["b"]) == (other["b"], other["a"])
        assert one["p_adjusted"] == other["p_adjusted"]
        if one["ci_low"] is not None:
            assert one["ci_low"] == pytest.approx(-other["ci_high"])
        assert one["difference"] == pytest.approx(one["a"] - one["b"])


def test_too_few_questions(done_project: Path) -> None:
    ended = run(done_project, "compare", "reader", "keyword", *PAIR, "--slice", "topic=berths")
    assert ended.code == 0
    assert ": not enough data" in ended.out


NO_VALUE = (
    "not comparable: it has no value for one of the systems, or none without some of the questions."
)
ALONE = (
    "a is better than b by 0.100{} on {}, but not significantly among all statements of the "
    "report (adjusted p = 0.060; alone p = 0.030){}."
)
EXPLORATORY = (
    "a is significantly better than b by 0.100{} on {} (adjusted p below 0.001){}; "
    "exploratory: not corrected for other metrics and slices."
)
SAID = {
    "metric": "citation.f1",
    "best": "high",
    "n_pairs": 50,
    "n_clusters": 50,
    "difference": 0.1,
    "ci_low": 0.036,
    "ci_high": 0.152,
    "p_adjusted": 1e-12,
    "p_page": 2e-12,
    "verdict": "better",
    "detectable_difference": None,
}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {},
            "a is significantly better than b by 0.100{} on {} (adjusted p below 0.001){}.",
        ),
        (
            {"difference": 0.0, "verdict": "tied", "p_page": 0.5},
            "no significant difference between a and b on {1}: it is 0.000{0}, {3}{2}.",
        ),
        (
            {"p_adjusted": 0.03, "p_page": 0.06},
            ALONE,
        ),
        (
            {"p_page": None},
            EXPLORATORY,
        ),
        (
            {"difference": None, "verdict": "not_enough_data"},
            NO_VALUE,
        ),
    ],
)
def test_sentences_say_what_is_seen(changed: dict[str, Any], sentence: str) -> None:
    expected = sentence.format(
        " (95 % confidence interval 0.036 to 0.152)",
        "50 questions",
        "; no variation seen between the questions",
        "adjusted p = 0.500",
    )
    assert describe_comparison(SAID | changed, "a", "b") == f"citation.f1: {expected}"


@pytest.mark.parametrize(
    ("detectable", "largest", "words"),
    [
        (0.2, 1.0, "a difference below 0.200 is"),
        (1.234, 1.0, "even the largest difference on this scale, 1, is"),
        (1.234, 5.0, "a difference below 1.234 is"),
        (1.234, math.inf, "a difference below 1.234 is"),
        (1.234, None, "a difference below 1.234 is"),
    ],
)
def test_a_difference_beyond_the_scale_is_not_named(
    detectable: float, largest: float | None, words: str
) -> None:
    row = SAID | {"verdict": "tied", "p_page": 0.5, "detectable_difference": detectable}
    sentence = describe_comparison(row, "a", "b", largest)
    assert sentence.endswith(
        f"(difference +0.100, adjusted p = 0.500); {words} probably not detectable with so few "
        "questions."
    )


def test_compare_knows_the_scale(done_project: Path) -> None:
    ended = run(done_project, "compare", "reader", "keyword", *PAIR, "--metric", "citation.f1")
    assert "even the largest difference on this scale, 1, is probably not" in ended.out
    rows = json.loads(run(done_project, "compare", *PAIR, "--format", "json").out)
    assert all(row["detectable_difference"] > 1 for row in rows)


def test_sentences_without_an_interval() -> None:
    row = SAID | {"verdict": "tied", "p_page": 0.06, "n_clusters": 5, "ci_low": None}
    sentence = describe_comparison(row, "a", "b")
    assert sentence.endswith(
        "it is 0.100, adjusted p = 0.060; no variation seen between the 5 clusters of questions."
    )


def test_plan_says_how_many_questions_a_difference_takes(done_project: Path) -> None:
    given = ("plan", "--detect", "0.05", "--metric", "citation.f1")
    rows = json.loads(run(done_project, *given, "--format", "json").out)
    (row,) = [row for row in rows if row["benchmark"] == "harbour"]
    assert (row["metric"], row["questions"], row["missing"]) == ("citation.f1", 6, None)
    assert row["more"] == row["needed"] - 6 > 0
    assert row["detectable"] > 0.05
    assert {row["system_a"], row["system_b"]} == {"keyword", "reader"}
    ended = run(done_project, *given, "--benchmark", "harbour")
    assert ended.code == 0
    assert (
        f"harbour, citation.f1: a difference of 0.05 takes {row['needed']:,} questions for keyword "
        f"and reader; there are 6 questions, so {row['more']:,} more are needed."
    ) in ended.out


def test_plan_says_what_is_missing_for_an_answer(done_project: Path, own_project: Path) -> None:
    ended = run(done_project, "plan", "--detect", "2", *PAIR, "--metric", "citation.f1")
    assert "Missing: the largest possible difference is 1." in ended.out
    wrong = run(done_project, "plan", "--detect", "0.1", "--metric", "f9")
    assert wrong.code == 2
    assert "has no sample metric 'f9'" in wrong.err
    assert run(done_project, "plan", "--metric", "citation.f1").code == 2
    for file in own_project.rglob(FILE_NAME):
        file.unlink()
    ended = run(own_project, "plan", "--detect", "0.1")
    assert ended.code == 2
    assert "run `scoreline run` first" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reader", "keywrd", *PAIR], "there is no system 'keywrd' (did you mean 'keyword'?)"),
        (["reader", "reader", *PAIR], "cannot be compared with itself"),
        (["reader", "keyword", *PAIR, "--metric", "f2"], "there is no metric 'f2'"),
        (["reader", "keyword", *PAIR, "--slice", "topic"], "there is no slice 'topic'"),
        (["reader", "keyword", "--benchmark", "x"], "there is no benchmark 'x'"),
    ],
)
def test_compare_with_unknown_names(done_project: Path, arguments: list[str], words: str) -> None:
    ended = run(done_project, "compare", *arguments)
    assert ended.code == 2
    assert words in ended.err


def test_gate_passes_without_regression(done_project: Path) -> None:
    given = ["--system", "reader", "--baseline", "keyword", *PAIR, "--format", "json"]
    ended = run(done_project, "gate", *given)
    assert ended.code == 0
    rows = json.loads(ended.out)
    assert {row["verdict"] for row in rows} <= {"unchanged", "improved", "not_enough_data"}
    assert all(row["n_pairs"] <= 6 for row in rows)


def test_strict_gate_needs_enough_data(done_project: Path) -> None:
    given = ["--system", "keyword", "--baseline", "reader", *PAIR, "--metric", "citation.f1"]
    assert run(done_project, "gate", *given, "--tolerance", "0.01").code == 0
    ended = run(done_project, "gate", *given, "--tolerance", "0.01", "--strict")
    assert ended.code == 1
    assert "'keyword' does not pass: citation.f1: not_enough_data" in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--system", "x", "--baseline", "reader", *PAIR], "there is no system 'x'"),
        (
            ["--system", "keyword", "--baseline", "reader", *PAIR, "--metric", "x"],
            "has no sample metric",
        ),
        (["--system", "keyword", "--baseline", "reader", "--benchmark", "x"], "no benchmark 'x'"),
    ],
)
def test_gate_rejects_unknown_names(done_project: Path, arguments: list[str], words: str) -> None:
    ended = run(done_project, "gate", *arguments)
    assert ended.code == 2
    assert words in ended.err


def test_gate_rejects_different_signatures(own_project: Path) -> None:
    file = own_project / "scoreline.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("cutoffs: [1, 3, 5]", "cutoffs: [1, 2]"), encoding="utf-8")
    assert file.read_text(encoding="utf-8") != text
    ended = run(own_project, "gate", "--system", "keyword", "--baseline", "reader", *PAIR)
    assert ended.code == 2
    assert "was not scored by 'document_retrieval'" in ended.err


def labels(folder: Path, rows: list[dict[str, Any]]) -> Path:
    place = {"benchmark": "harbour", "evaluator": "citation", "metric": "f1"}
    file = folder / "labels.jsonl"
    lines = (json.dumps({**place, "annotator": "ann", **row}) for row in rows)
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_labels_calibrate_evaluators(own_project: Path) -> None:
    questions = json.loads(
        run(
            own_project,
            *("sql", "SELECT question_id FROM questions ORDER BY 1", "--format", "json"),
        ).out
    )
    given = [
        {"system": system, "question_id": row["question_id"], "value": at % 2}
        for system in ("reader", "keyword")
        for at, row in enumerate(questions)
    ]
    ended = run(own_project, "labels", "import", str(labels(own_project, given)))
    assert ended.code == 0, ended.err
    assert "12 labels imported" in ended.err
    assert "prediction_powered: corrected_mean is the judge's mean, plus its mean " in ended.err
    assert "prediction_powered" in ended.out
    asked = "SELECT system, n_labels, n_compared, corrected_mean, kappa FROM calibration"
    rows = json.loads(run(own_project, "sql", asked, "--format", "json").out)
    assert {row["system"]: row["n_labels"] for row in rows} == {"keyword": 6, "reader": 6}
    # Every sample has a label, so that the corrected mean is people's.
    assert [row["corrected_mean"] for row in rows] == [0.5, 0.5]
    again = run(own_project, "labels", "import", str(labels(own_project, given[:1])))
    assert "1 labels imported" in again.err
    (count,) = json.loads(
        run(own_project, "sql", "SELECT count(*) AS n FROM labels", "--format", "json").out
    )
    assert count == {"n": 12}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"value": 1.5}, "is outside the metric's bounds, 0 to 1"),
        ({"system": "redaer"}, "has no system 'redaer'; did you mean 'reader'?"),
        ({"question_id": "q99"}, "has no question 'q99'"),
        ({"metric": "f2"}, "has no metric 'citation.f2'; did you mean 'citation.f1'?"),
        ({"benchmark": "harbor"}, "there is no benchmark 'harbor'; did you mean 'harbour'?"),
        ({"value": "good"}, "value: expected a number, found the text 'good'"),
        ({"value": None}, "value: missing"),
    ],
)
def test_invalid_labels_are_reported_and_none_is_imported(
    own_project: Path, row: dict[str, Any], words: str
) -> None:
    (first,) = json.loads(
        run(
            own_project,
            *("sql", "SELECT min(question_id) AS question_id FROM questions", "--format", "json"),
        ).out
    )
    right = {"system": "reader", "question_id": first["question_id"], "value": 1}
    file = labels(own_project, [right, {**right, "annotator": "bob", **row}])
    ended = run(own_project, "labels", "import", str(file))
    assert ended.code == 2
    assert f"{file}:2: " in ended.err
    assert words in ended.err
    (count,) = json.loads(
        run(own_project, "sql", "SELECT count(*) AS n FROM labels", "--format", "json").out
    )
    assert count == {"n": 0}


def test_misspelt_field_is_reported_and_extra_field_ignored(own_project: Path) -> None:
    file = own_project / "labels.csv"
    row = "harbour,reader,last-ferry,citation,f1,1,bob,I am sure"
    head = "benchmark,system,question_id,evaluator,metric,value,{},remark"
    file.write_text(f"{head.format('anotator')}\n{row}\n", encoding="utf-8")
    ended = run(own_project, "labels", "import", str(file))
    assert ended.code == 2
    assert f"{file}:2: unknown field 'anotator'; did you mean 'annotator'?" in ended.err
    file.write_text(f"{head.format('annotator')}\n{row}\n", encoding="utf-8")
    assert "1 labels imported" in run(own_project, "labels", "import", str(file)).err


def test_duplicate_label_is_reported(own_project: Path) -> None:
    row = {"system": "reader", "question_id": "q1", "value": 1}
    ended = run(own_project, "labels", "import", str(labels(own_project, [row, row])))
    assert ended.code == 2
    assert "'ann' labels this sample twice; first in line 1" in ended.err


def test_lead_is_described_below_the_table(done_project: Path) -> None:
    ended = run(done_project, "leaderboard", "--metric", "citation.f1")
    assert "No winner on citation.f1: " in ended.out
    assert " too few to tell reader (" in ended.out


@takes_minutes
def test_compare_every_pair_of_several_systems(own_project: Path) -> None:
    data = own_project / "data"
    text = (data / "predictions_reader.jsonl").read_text(encoding="utf-8")
    (data / "predictions_third.jsonl").write_text(text, encoding="utf-8")
    assert scoreline(own_project, "run", "--quiet").code == 0
    every = run(own_project, "compare", "--metric", "citation.f1", "--format", "json")
    rows = json.loads(every.out)
    pairs = [("keyword", "reader"), ("keyword", "third"), ("reader", "third")]
    assert [(row["system_a"], row["system_b"]) for row in rows] == pairs
    for row, (a, b) in zip(rows, pairs, strict=True):
        named = run(own_project, "compare", a, b, "--metric", "citation.f1", "--format", "json")
        (alone,) = json.loads(named.out)
        assert row == {"system_a": a, "system_b": b, **{key: alone[key] for key in COLUMNS}}
    named = run(own_project, "compare", "third", "reader", "keyword", "--format", "json")
    assert {row["system_a"] for row in json.loads(named.out)} == {"third", "reader"}
    alone = run(own_project, "compare", "third")
    assert alone.code == 2
    assert "cannot be compared with itself" in alone.err


@takes_minutes
def test_a_single_system_is_compared_with_an_earlier_publication(own_project: Path) -> None:
    (own_project / "data" / "predictions_keyword.jsonl").unlink()
    assert scoreline(own_project, "run", "--quiet").code == 0
    ended = run(own_project, "compare")
    assert ended.code == 2
    said = "harbour has only one system, 'reader'; --before compares it with an earlier publication"
    assert said in ended.err
