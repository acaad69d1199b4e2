"""Every page of several projects, on a phone and a desk, in light and dark mode."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dagster._core.errors import DagsterAssetCheckFailedError

from assets.project import Benchmark, Gate
from evaluators import catalog
from orchestration.starter import write_starter
from scoreline import evaluate
from tests.assets.conftest import project_in, write
from tests.assets.publishing.report.conftest import Report, published
from tests.support.command import scoreline
from tests.support.page_walk import find_faults, published_pages
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [pytest.mark.browser, takes_minutes]

LONG = "retrieval_augmented_generation_with_reranking_and_compression_2026_11_01"
SYSTEMS = (LONG, "نظام-الاسترجاع", "検索拡張生成システム")
WORDS = "Wort" * 60
TEXTS = (
    "ما هي ساعات العمل في المكتبة؟ " * 3,
    "図書館の開館時間は何時ですか。" * 20,
    f"A long word: {WORDS}.",
    "An answer of sixteen kilobytes. " * 512,
    "Short.",
    "# Not a heading",
)
EXPECTATIONS = {
    table: [
        {
            "name": "expect_column_values_to_be_in_set",
            "kwargs": {"column": column, "value_set": ["another"]},
            "severity": "warn",
        }
    ]
    for table, column in (("predictions", "system"), ("questions", "question_id"))
}


def files_of(
    home: Path, name: str, systems: tuple[str, ...], right: tuple[int, ...]
) -> dict[str, Any]:
    """Write the files of a benchmark in which systems choose the right class so often."""
    n = len(TEXTS) * 5
    write(
        home / f"{name}-questions.jsonl",
        (
            {
                "question_id": f"{name}-{at}-{WORDS[: at % 3 * 40]}",
                "question": TEXTS[at % len(TEXTS)],
                "expected_label": "a",
                "expected_answer": TEXTS[(at + 1) % len(TEXTS)],
                "tags": {"kind": "even" if at % 2 else LONG},
            }
            for at in range(n)
        ),
    )
    write(
        home / f"{name}-predictions.jsonl",
        (
            {
                "question_id": f"{name}-{at}-{WORDS[: at % 3 * 40]}",
                "system": system,
                "repeat": repeat,
                "answer": TEXTS[at % len(TEXTS)],
                "label": "a" if at < correct else LONG,
                "latency_s": 0.5 + at / 10,
                "cost_usd": 0.001,
            }
            for system, correct in zip(systems, right, strict=True)
            for at in range(n)
            for repeat in range(2 if name == "repeated" else 1)
        ),
    )
    return {
        "questions": home / f"{name}-questions.jsonl",
        "predictions": home / f"{name}-predictions.jsonl",
    }


def benchmark(home: Path, name: str, systems: tuple[str, ...], right: tuple[int, ...]) -> Benchmark:
    """A benchmark of classes and of texts."""
    return Benchmark(
        name=name,
        **files_of(home, name, systems, right),
        evaluators=(catalog.build("classification"), catalog.build("rouge")),
        slices=("kind",),
    )


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Long and foreign texts, a failed gate, one or equal systems, repeats, no problems."""
    home = tmp_path_factory.mktemp("odd")
    names = replace(
        benchmark(home, f"{LONG}_names", SYSTEMS, (30, 20, 3)),
        gates=(Gate(metrics=("classification.accuracy",), min=0.9),),
    )
    alone = benchmark(home, "alone", ("only",), (30,))
    equal = benchmark(home, "equal", ("one", "other", "third"), (20, 20, 20))
    repeated = benchmark(home, "repeated", ("one", "other"), (25, 20))
    project = project_in(home, names)
    every = {each.name: each for each in (names, alone, equal, repeated)}
    with suppress(DagsterAssetCheckFailedError):  # the failed gate, after the report is written
        published(replace(project, benchmarks=every))
    return Report(project.publish)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The starter, with an expectation of its own that Great Expectations finds violated."""
    home = tmp_path_factory.mktemp("starter") / "home"
    write_starter(home)
    config = home / "scoreline.yaml"
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    settings["benchmarks"]["harbour"]["expectations"] = EXPECTATIONS
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    done = scoreline(home, "run", "--quiet", SCORELINE_EXPECTATIONS="full")
    assert done.code == 0, done.err
    return Report(home / "published")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("project", ["odd", "starter", "handbook"])
def test_no_page_has_a_fault(
    browser: Browser, request: pytest.FixtureRequest, project: str, width: int, dark: bool
) -> None:
    report: Report = request.getfixturevalue(project)
    assert len(published_pages(report.publish)) >= {"odd": 5, "starter": 3, "handbook": 13}[project]
    faults = find_faults(browser, report.publish, width, dark=dark)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("benchmark", ["alone", "equal"])
def test_nothing_is_marked_as_best_without_a_winner(
    browser: Browser, odd: Report, benchmark: str
) -> None:
    browser.open(odd.page(benchmark))
    browser.find("#lb-table tbody tr")
    assert browser.all("#lb-table :is(strong, .badge)") == []
    assert browser.all(".verdicts .won") == []
    browser.open(odd.index)
    assert browser.all(f"#{benchmark} :is(strong, b)") == []
    assert browser.all(f"tr[data-benchmark={benchmark}] .best") == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_page_of_results_from_python_has_no_fault(
    browser: Browser, tmp_path: Path, dark: bool
) -> None:
    asked = [{"question_id": "q1", "question": "Who?", "expected_answer": WORDS}]
    answers = {system: [{"question_id": "q1", "answer": WORDS}] for system in SYSTEMS}
    evaluate(asked, answers, ["rouge"]).to_html(tmp_path / "index.html")
    for width in (390, 1440):
        faults = find_faults(browser, tmp_path, width, dark=dark)
        assert not faults, "\n".join(faults)
