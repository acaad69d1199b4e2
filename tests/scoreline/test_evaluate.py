"""`scoreline.evaluate`: every kind of input gives the same numbers, and every slip an error."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys
import traceback
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline
from tests.scoreline.rows import ANSWERS, MEANS, QUESTIONS
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

KEYS = ["system", "slice", "evaluator", "metric"]


@pytest.fixture(scope="module")
def results() -> scoreline.Results:
    return scoreline.evaluate(
        QUESTIONS, ANSWERS, ["citation"], tags=["language"], slices=["language"]
    )


def means(results: scoreline.Results, metric: str = "f1", part: str = "all") -> dict[str, float]:
    rows = results.leaderboard.filter(pl.col("metric") == metric, pl.col("slice") == part)
    return dict(rows.select("system", "mean").iter_rows())


def test_means_are_those_computed_by_hand(results: scoreline.Results) -> None:
    assert means(results) == pytest.approx(MEANS)
    assert means(results, part="language=de") == pytest.approx({"good": 2 / 3 * 4 / 6, "poor": 0})


def flat() -> list[dict[str, Any]]:
    return [{"system": name, **row} for name, rows in ANSWERS.items() for row in rows]


def as_pandas(rows: Iterable[dict[str, Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(list(rows))


def as_arrow(rows: Iterable[dict[str, Any]]) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pylist(list(rows))


@pytest.mark.parametrize(
    "convert",
    [
        pl.DataFrame,
        *(pytest.param(each, marks=takes_minutes) for each in (list, as_pandas, as_arrow)),
        pytest.param(pl.LazyFrame, marks=takes_minutes),
    ],
)
def test_every_kind_of_rows_gives_the_same_leaderboard(
    results: scoreline.Results, convert: Callable[[list[dict[str, Any]]], Any]
) -> None:
    found = scoreline.evaluate(
        convert(QUESTIONS), convert(flat()), ["citation"], tags=["language"], slices=["language"]
    )
    own = results.leaderboard.drop("published_at")
    assert found.leaderboard.drop("published_at").equals(own)
    systems = {name: convert(rows) for name, rows in ANSWERS.items()}
    by_system = scoreline.evaluate(convert(QUESTIONS), systems, "citation", tags=["language"])
    assert means(by_system) == means(results)


def test_paths_are_read_where_they_are(tmp_path: Path) -> None:
    for name, rows in {"questions": QUESTIONS, **ANSWERS}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    before = sorted(tmp_path.iterdir())
    by_pattern = {name: tmp_path / f"{name}.jsonl" for name in ANSWERS}
    found = scoreline.evaluate(tmp_path / "questions.jsonl", by_pattern, ["citation"])
    assert means(found) == pytest.approx(MEANS)
    assert sorted(tmp_path.iterdir()) == before


def test_columns_are_renamed() -> None:
    questions = [{"query": row["question"], **row} for row in QUESTIONS]
    for row in questions:
        del row["question"]
    found = scoreline.evaluate(
        questions, ANSWERS, ["citation"], columns={"questions": {"query": "question"}}
    )
    assert means(found) == pytest.approx(MEANS)


@pytest.mark.parametrize("convert", [list, pl.DataFrame, as_pandas, as_arrow])
def test_names_of_other_tools_are_understood(
    convert: Callable[[list[dict[str, Any]]], Any],
) -> None:
    questions = [{"id": row["question_id"], "user_input": row["question"]} for row in QUESTIONS]
    gold = {row["question_id"]: row["gold_sentence_ids"] for row in QUESTIONS}
    for row in questions:
        row["gold"] = gold[row["id"]]
    answers = [
        {
            "id": row["question_id"],
            "model": row["system"],
            "response": row["answer"],
            "cited_sentence_ids": row["cited_sentence_ids"],
        }
        for row in flat()
    ]
    columns = {"questions": {"gold": "gold_sentence_ids"}, "predictions": {"model": "system"}}
    found = scoreline.evaluate(convert(questions), convert(answers), "citation", columns=columns)
    assert means(found) == pytest.approx(MEANS)
    asked = "questions: read 'id' as 'question_id', 'user_input' as 'question'"
    given = "predictions: read 'id' as 'question_id', 'response' as 'answer'"
    end = " (to change this, set `columns`)"
    assert list(found.notes) == [asked + end, given + end]


def test_columns_of_paths_and_of_rows_are_renamed(tmp_path: Path) -> None:
    rows = [{"qid": row["question_id"], **row} for row in flat()]
    for row in rows:
        del row["question_id"]
    good = tmp_path / "good.jsonl"
    good.write_text("".join(json.dumps(row) + "\n" for row in rows if row["system"] == "good"))
    poor = [row for row in rows if row["system"] == "poor"]
    columns = {"predictions": {"qid": "question_id"}}
    found = scoreline.evaluate(QUESTIONS, {"good": good, "poor": poor}, "citation", columns=columns)
    assert means(found) == pytest.approx(MEANS)


@pytest.mark.parametrize("convert", [list, pl.DataFrame, as_pandas])
@pytest.mark.parametrize("name", ["question_id", "question"])
def test_columns_of_frames_beside_paths_are_renamed(
    tmp_path: Path, convert: Callable[[list[dict[str, Any]]], Any], name: str
) -> None:
    """Whether the frame has the ids of questions or, beside other ids, their texts."""
    questions = [{**row, "question": f"What is {row['question_id']}?"} for row in QUESTIONS]
    texts = {row["question_id"]: row["question"] for row in questions}
    good, poor = (
        [{"qid": row["question_id"], "reply": row["answer"], **row} for row in ANSWERS[system]]
        for system in ("good", "poor")
    )
    for row in [*good, *poor]:
        del row["question_id"], row["answer"]
    for row in poor:
        row["question" if name == "question" else "note"] = texts[row["qid"]]
    path = tmp_path / "good.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in good))
    found = scoreline.evaluate(
        questions,
        {"good": path, "poor": convert(poor)},
        "citation",
        columns={"predictions": {"qid": "question_id", "reply": "answer"}},
    )
    assert means(found) == pytest.approx(MEANS)
    assert found.sql("SELECT count(answer) AS n FROM predictions")["n"].item() == len(flat())


def test_missing_values_of_frames_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{**row, "answer": None if n == 0 else row["answer"]} for n, row in enumerate(flat())]
    frame = pandas.DataFrame(rows)
    frame.loc[1, "latency_s"] = 0.5  # NaN elsewhere
    found = scoreline.evaluate(QUESTIONS, frame, ["citation"])
    assert found.sql("SELECT count(latency_s) AS n FROM predictions")["n"].item() == 1


def test_compare_has_the_numbers_of_the_table(results: scoreline.Results) -> None:
    row = results.compare("good", "poor", "citation.f1").row(0, named=True)
    stored = results.comparisons.filter(slice="all", evaluator="citation", metric="f1")
    assert {name: row[name] for name in stored.columns} == stored.row(0, named=True)
    assert row["difference"] == pytest.approx(MEANS["good"] - MEANS["poor"])
    assert row["verdict"] == "better"
    inverted = results.compare("poor", "good", "f1").row(0, named=True)
    assert (inverted["difference"], inverted["verdict"]) == (-row["difference"], "worse")


def test_gate_says_whether_a_system_passes(results: scoreline.Results) -> None:
    worse = results.gate("poor", "good", "citation.f1", tolerance=0.02)
    assert (worse.passed, worse.verdict) == (False, "regressed")
    assert results.gate("good", "poor").verdict == "improved"
    assert results.gate("good", metric="citation.f1", min=0.6).passed
    missed = results.gate("good", metric="citation.f1", max=0.6)
    assert (missed.passed, missed.value) == (False, pytest.approx(MEANS["good"]))


def test_gate_needs_no_system_where_there_is_one(results: scoreline.Results) -> None:
    only = scoreline.evaluate(QUESTIONS, {"good": ANSWERS["good"]}, "citation")
    found = only.gate(metric="citation.f1", min=0.6)
    assert (found.system, found.verdict) == ("good", "met")
    with pytest.raises(scoreline.ScorelineError, match="expected `system`, one of good, poor"):
        results.gate(metric="citation.f1", min=0.6)


def len_of(answer: str) -> int:
    return len(answer)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"columns": {"questions": {"qestion": "question"}}},
            "questions: no column 'qestion', which `columns` names; found 'question_id', ",
        ),
        ({"columns": {"predictions": {"x": "answr"}}}, "unknown field 'answr' .did you mean 'ans"),
        ({"columns": {"questoins": {}}}, "unknown key 'questoins' .did you mean 'questions'"),
        ({"tags": ["lnaguage"]}, "no row has a value for 'lnaguage'.*did you mean 'language'"),
        ({"evaluators": ["citaton"]}, "did you mean 'citation'"),
        ({"evaluators": [{"rouge": {"wordz": "x"}}]}, "unknown parameter 'wordz'"),
        ({"questions": 7}, "questions: expected a Polars, pandas or Arrow frame"),
        (
            {"questions": [{"question_id": "a", "question": 3}]},
            r"questions\[0\]: question: expected text",
        ),
        (
            {"predictions": {"a": [{"question_id": "q", "answer": ""}]}},
            r"predictions\['a'\]\[0\]: there is no question 'q'",
        ),
        ({"predictions": {}}, "at least one system"),
        ({"questions": []}, "^questions: there are no rows$"),
        ({"predictions": []}, "^predictions: there are no rows$"),
        ({"predictions": {"a": []}}, r"^predictions\['a'\]: there are no rows$"),
        (
            {"predictions": pl.DataFrame(schema=["question_id", "system"])},
            "^predictions: there are no rows$",
        ),
        (
            {
                "predictions": [
                    {"question_id": "q0", "answer": "", "system": "a"},
                    {"question_id": "q1", "answer": ""},
                ]
            },
            r"predictions\[1\]: system: missing",
        ),
        ({"evaluators": []}, r"evaluators: expected at least one, such as evaluators=\['rouge'\]"),
        ({"thresholds": {"citation.f2": 0.5}}, "did you mean 'citation.f1'"),
        ({"rank_by": "citation.f2"}, "did you mean 'citation.f1'"),
        ({"judge": {"modell": "x"}}, "did you mean 'model'"),
        ({"questions": "nowhere/*.jsonl"}, "no file matches"),
        ({"questions": [{"question_id": "a", "x": object()}]}, r"questions\[0\]: .*object"),
        (
            {"evaluators": [len_of]},
            "'len_of' is a plain function: decorate it with `@score",
        ),
        ({"evaluators": len_of}, "'len_of' is a plain function: decorate it with `@score"),
        ({"evaluators": None}, "evaluators: expected names, .*, found None"),
        ({"evaluators": ["rouge", 7]}, "evaluators: expected names, .*, found 7"),
        ({"evaluators": {"rouge": {"wordz": "x"}}}, "unknown parameter 'wordz'"),
        ({"evaluators": [{"rouge": None}]}, "expected parameters of 'rouge' by name, found null"),
        (
            {"columns": {"nr": "question_id"}},
            r'columns: expected .*\{"questions": \{"column": "field"\}, "predictions": ',
        ),
        ({"columns": "nr"}, "columns: expected fields by column"),
        ({"tags": "kind"}, "tags: expected a list"),
        ({"tags": 7}, "^tags: expected a list$"),
        ({"slices": "kind"}, "slices: expected a list"),
        ({"missing": 7}, "missing: expected a mapping"),
        ({"judge": 7}, "judge: expected a mapping"),
        ({"models": 7}, "models: expected a mapping"),
        ({"ledger": 7}, "ledger: expected a path, found the number 7"),
        (
            {"predictions": {"a": [{"question_id": "q0", "answer": "", "system": "zz"}]}},
            r"predictions\['a'\]\[0\]: system: the row says 'zz', its key 'a'$",
        ),
        (
            {"predictions": {"s": [{"question_id": "q0", "answer": ""}] * 2}},
            r"\['s'\]\[1\]: a second .* 'q0', the first in predictions\['s'\]\[0\]; several ",
        ),
        (
            {"questions": [QUESTIONS[0]] * 2},
            r"questions\[1\]: question 'q0' occurs twice, first in questions\[0\]$",
        ),
        (
            {"predictions": {"a": [{"question_id": "q0", "answer": "", "latency_s": math.nan}]}},
            r"predictions\['a'\]\[0\]: latency_s: NaN is not a number; use None",
        ),
        (
            {"predictions": {"a": [{"question_id": "q0", "usage": {"tokens": [1, -math.inf]}}]}},
            r"predictions\['a'\]\[0\]: usage: -Infinity is not a number",
        ),
    ],
)
def test_slips_are_errors(given: dict[str, Any], message: str) -> None:
    usual = {"questions": QUESTIONS, "predictions": ANSWERS, "evaluators": ["citation"]}
    with pytest.raises(scoreline.ScorelineError, match=message) as raised:
        scoreline.evaluate(**{**usual, **given})
    shown = "".join(traceback.format_exception(raised.value))
    assert shown.count("Traceback") == 1


def test_a_wrong_name_of_a_result_is_an_error(results: scoreline.Results) -> None:
    for call, message in (
        (lambda: results.compare("good", "por"), "did you mean 'poor'"),
        (lambda: results.compare("good", "poor", "f2"), "f2"),
        (lambda: results.gate("god", min=0.5), "did you mean 'good'"),
        (lambda: results.gate("good"), "exactly one of"),
        (lambda: results.gate("good", min=0.5, benchmark="x"), "there is no benchmark 'x'"),
        (lambda: results.sql("DELETE FROM scores"), "read-only|SELECT|cannot"),
        (lambda: results.sql("SELECT nothing"), "nothing"),
    ):
        with pytest.raises(scoreline.ScorelineError, match=message):
            call()


@takes_minutes
@pytest.mark.parametrize("is_running", [False, True])
def test_judged_replies_are_kept_in_the_ledger(tmp_path: Path, *, is_running: bool) -> None:
    """Inside a running event loop, too, as in a notebook."""
    questions = [{**row, "contexts": ["It opens early."]} for row in QUESTIONS[:3]]
    rows = [{"question_id": row["question_id"], "answer": "Early."} for row in questions]
    contexts = [{**row, "contexts": ["It opens early. It closes late."]} for row in rows]
    ledger = tmp_path / "judge.ledger"

    with JudgeServer() as server:
        judge = {"model": "openai/judge", "api_base": server.url}

        def evaluate(**given: Any) -> scoreline.Results:
            return scoreline.evaluate(
                QUESTIONS[:3], {"a": contexts}, ["context_relevancy"], judge=judge, **given
            )

        async def in_loop() -> scoreline.Results:
            return evaluate(ledger=ledger)

        first = asyncio.run(in_loop()) if is_running else evaluate(ledger=ledger)
        assert server.count == 3
        again = evaluate(ledger=ledger)
        assert server.count == 3
        assert means(first, "relevancy") == means(again, "relevancy")
        evaluate()
        assert server.count == 6
    assert [each.name for each in tmp_path.iterdir()] == ["judge.ledger"]


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(  # noqa: D102
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onerror"} & {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:  # noqa: D102
        self.text += data


def test_pages_escape_names(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    rows = {evil: ANSWERS["good"], "poor": ANSWERS["poor"]}
    found = scoreline.evaluate(QUESTIONS, rows, ["citation"])
    page = Tags(found.to_html(tmp_path / "results.html").read_text("utf-8"))
    notebook = Tags(found._repr_html_())
    for each in (page, notebook):
        assert "img" not in each.tags
        assert "script" not in each.tags
        assert evil in each.text
        assert f"{MEANS['good']:.3f}" in each.text
    assert f"{MEANS['good'] - MEANS['poor']:.3f}" in page.text


def test_notebooks_show_intervals_ranks_and_the_best(results: scoreline.Results) -> None:
    tags = re.compile("<style>.*?</style>|<[^>]*>", re.DOTALL)
    lines = " ".join(tags.sub(" ", results._repr_html_()).split())
    good, poor = (
        results.leaderboard.filter(
            pl.col("system") == name, pl.col("metric") == "f1", pl.col("slice") == "all"
        ).row(0, named=True)
        for name in ("good", "poor")
    )
    interval = "{ci_low:.3f} to {ci_high:.3f}"
    # The better system is marked, because the other one is significantly worse.
    assert f"1 good 0.611 * {interval.format(**good)} 24" in lines
    assert f"2 poor 0.333 {interval.format(**poor)} 24" in lines
    # In a slice of a few questions they are tied: ranges of ranks, and no mark.
    assert "1 (1 to 2) good 0.444 0." in lines
    # Slices have no marks; the second mark is the explanation's.
    assert lines.count("*") == 2


def test_evaluating_loads_neither_dagster_nor_great_expectations() -> None:
    code = """
import sys
import scoreline
from tests.scoreline.rows import ANSWERS, QUESTIONS
scoreline.evaluate(QUESTIONS, ANSWERS, ["citation"]).leaderboard
heavy = ("dagster", "great_expectations", "litellm", "sqlalchemy", "torch")
print([name for name in heavy if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
