"""`scoreline.run` and `scoreline.open`: results of projects, equal to those of `evaluate`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
import yaml

import scoreline
from scoreline.testing import assert_metric
from tests.scoreline.rows import ANSWERS, MEANS, QUESTIONS
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one benchmark, whose questions depend on each other by language."""
    folder = tmp_path_factory.mktemp("project")
    answers = {f"{system}.answers": rows for system, rows in ANSWERS.items()}
    for name, rows in {"questions": QUESTIONS, **answers}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "{system}.answers.jsonl",
        "evaluators": ["citation"],
        "cluster": "language",
    }
    document = {"expectations": "sql", "benchmarks": {"evaluation": benchmark}}
    (folder / "scoreline.yaml").write_text(yaml.safe_dump(document), "utf-8")
    return folder


@takes_minutes
def test_a_run_a_copy_and_an_evaluation_have_the_same_figures(project: Path) -> None:
    ran = scoreline.run(project / "scoreline.yaml")
    opened = scoreline.open(project / "published")
    direct = scoreline.evaluate(QUESTIONS, ANSWERS, ["citation"], cluster="language")
    # A run also tests what has changed since the last one, which shares the level of a page.
    by_page = ["published_at", "n_statements", "threshold_p", "p_page"]
    for table in ("leaderboard", "comparisons"):
        frames = [getattr(each, table) for each in (ran, opened, direct)]
        first, second, third = (
            frame.drop(by_page, strict=False).sort(pl.all()) for frame in frames
        )
        assert first.equals(second)
        assert first.equals(third)
    gates = [each.gate("poor", "good", "citation.f1") for each in (ran, opened, direct)]
    assert gates[0] == gates[1] == gates[2]
    assert gates[0].value == pytest.approx(MEANS["poor"] - MEANS["good"])
    pairs = [each.compare("good", "poor").drop(by_page, strict=False) for each in (opened, direct)]
    assert pairs[0].equals(pairs[1])
    assert opened.sql("SELECT count(*) AS n FROM questions")["n"].item() == len(QUESTIONS)


def test_what_is_not_published_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(scoreline.ScorelineError, match="there is no published copy"):
        scoreline.open(tmp_path)
    with pytest.raises(scoreline.ScorelineError, match="does not exist"):
        scoreline.run(tmp_path / "scoreline.yaml")


def test_an_assertion_names_the_systems_that_miss_it() -> None:
    results = scoreline.evaluate(QUESTIONS, ANSWERS, ["citation"])
    assert_metric(results, "citation.f1", min=0.6, system="good")
    with pytest.raises(AssertionError, match=r"citation.f1 of poor is 0.333.*0.6 is required$"):
        assert_metric(results, "citation.f1", min=0.6)
    with pytest.raises(AssertionError, match=r"of good is 0\.611"):
        assert_metric(results, "citation.f1", max=0.5)
    with pytest.raises(scoreline.ScorelineError, match="`min`, `max` or both"):
        assert_metric(results, "citation.f1")
    with pytest.raises(scoreline.ScorelineError, match="did you mean"):
        assert_metric(results, "citation.f2", min=0.5)
