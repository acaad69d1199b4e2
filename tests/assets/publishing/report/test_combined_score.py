"""The combined score by weight: the numbers of single questions, and where the order changes."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import pytest

import scoreline
from assets.publishing.report.panels.combined_score import Line, crossing, describe_crossings
from tests.assets.conftest import write
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply

WEIGHT = 0.3
N = 60
PROJECT = """
publish: published
judge: {{model: openai/judge, api_base: "{url}"}}
benchmarks:
  grounded:
    questions: questions.jsonl
    documents: documents.jsonl
    predictions: "{{system}}_answers.jsonl"
    evaluators: [rubric_combined]
    parameters: {{rubric_combined: {{answer_weight: {weight}}}}}
"""


def grade(request: dict[str, Any]) -> Reply:
    """Grade an excellent answer with 5, any other with 2."""
    score = 5 if "excellent" in request["messages"][1]["content"] else 2
    return Reply(
        content=json.dumps({"reasoning": "", "missing": [], "incorrect": [], "score": score})
    )


def write_project(home: Path, url: str) -> Path:
    """Two systems: `writer` answers well and cites one of two sentences, `citer` the reverse."""
    scale = {str(at): f"Level {at}." for at in range(1, 6)}
    write(
        home / "questions.jsonl",
        (
            {
                "question_id": f"q{at}",
                "question": f"What of {at}?",
                "expected_answer": "It is so.",
                "doc_id": "d",
                "gold_sentence_ids": ["S1", "S2"],
                "rubric": {"description": "Whether it is right.", "scale": scale},
            }
            for at in range(N)
        ),
    )
    write(home / "documents.jsonl", [{"doc_id": "d", "sentences": ["one two", "six ten", "x"]}])
    for system, quality in (("writer", "excellent"), ("citer", "short")):
        write(
            home / f"{system}_answers.jsonl",
            (
                {
                    "question_id": f"q{at}",
                    "answer": f"An {quality} answer {at}.",
                    "cited_sentence_ids": ["S1", "S2"] if system == "citer" else ["S1", "S3"],
                }
                # The first answer of the citer fails.
                if at or system == "writer"
                else {"question_id": "q0", "error": "timed out"}
                for at in range(N)
            ),
        )
    path = home / "scoreline.yaml"
    path.write_text(PROJECT.format(url=url, weight=WEIGHT), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[scoreline.Results, str]:
    """The results of a run, and the page of the benchmark."""
    home = tmp_path_factory.mktemp("combined")
    with JudgeServer(grade) as server:
        results = scoreline.run(write_project(home, server.url))
    (page,) = (home / "published" / "report").glob("grounded-*/index.html")
    return results, page.read_text(encoding="utf-8")


def points(page: str) -> dict[tuple[str, float], tuple[float, int]]:
    """The points of the chart, by system and weight."""
    found = re.search(r'id="chart-combined">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    spec = json.loads(html.unescape(found[1]))
    alt.Chart.from_dict(spec)
    rows = spec["data"]["values"]
    return {(row["system"], row["weight"]): (row["mean"], row["n"]) for row in rows}


def test_every_point_is_the_mean_of_single_questions(
    results: tuple[scoreline.Results, str],
) -> None:
    found, page = results
    drawn = points(page)
    assert len(drawn) == 2 * 21
    for (system, weight), (mean, n) in drawn.items():
        # Worked out: the writer has 5/5 and half of the words, the citer 2/5 and all of them.
        answer, evidence = (1.0, 0.5) if system == "writer" else (0.4 * (N - 1) / N, (N - 1) / N)
        assert mean == pytest.approx(weight * answer + (1 - weight) * evidence)
        assert n == N
    means = found.sql("SELECT system, mean FROM leaderboard WHERE evaluator = 'rubric_combined'")
    for system, mean in means.iter_rows():
        assert drawn[system, WEIGHT][0] == pytest.approx(mean)


def test_the_page_says_where_the_order_changes(results: tuple[scoreline.Results, str]) -> None:
    _, page = results
    text = html.unescape(page)
    # 0.5 + 0.5 w = 59/60 - 59/100 w
    assert "they change places at λ = 0.44. Both differences are significant." in text
    assert f"The dashed line is the weight of this benchmark, {WEIGHT}." in text
    assert "Combined score by weight" in text


def test_crossings_are_those_of_the_lines() -> None:
    steep, flat = Line(0.2, 0.8, 9), Line(0.5, 0.5, 9)
    weight = crossing(steep, flat)
    assert weight == pytest.approx(0.5)
    assert steep.mean(0.5) == pytest.approx(flat.mean(0.5))
    assert crossing(steep, Line(0.1, 0.7, 9)) is None
    # Equal at one end, or everywhere: no change of places.
    assert crossing(steep, Line(0.2, 0.5, 9)) is None
    assert crossing(flat, flat) is None


def test_significant_crossings_come_first() -> None:
    lines = {"a": Line(0.2, 0.8, 9), "b": Line(0.5, 0.5, 9), "c": Line(0.7, 0.6, 9)}
    both = {("answer_score", "c", "a"), ("evidence_recall", "a", "c")}
    first, second = describe_crossings(lines, {*both, ("answer_score", "a", "b")})
    assert first.startswith("\u2068c\u2069 has the higher evidence recall, \u2068a\u2069 the")
    assert "λ = 0.71. Both differences are significant." in first
    assert "λ = 0.50. Only one difference is significant." in second
    assert "Neither is significant." in describe_crossings(lines, set())[0]


def test_the_query_of_the_page_gives_the_same_numbers(
    results: tuple[scoreline.Results, str],
) -> None:
    found, page = results
    text = (Path(__file__).parents[4] / "docs" / "report.md").read_text(encoding="utf-8")
    query = re.search(r'scoreline sql "(select system, w / 10 .*)"', text)
    assert query is not None
    rows = found.sql(query[1]).rows()
    assert len(rows) == 2 * 11
    drawn = points(page)
    for system, weight, combined, n in rows:
        assert (combined, n) == (pytest.approx(drawn[system, weight][0]), N)
