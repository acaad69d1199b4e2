"""Noise robustness: the rules of being right, alternatives, and real runs of RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.library.rgb.noise_robustness import NoiseRobustness
from evaluators.scoring import score
from tests.evaluators.rgb.published import figures, output_samples, outputs
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

if TYPE_CHECKING:
    from pathlib import Path

NOISE = NoiseRobustness()
GOLDEN = [case for case in golden("rgb")["cases"] if case["kind"] == "correctness"]


def accuracy(answer: str, *expected: str) -> float | None:
    return values(NOISE, {"answer": answer, "expected_answers": list(expected)})["accuracy"]


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("It is Paris, of course", ["Paris"], 1.0),
        ("  PARIS?! ", ["paris"], 1.0),
        ("The city\n of   light.", ["city of light"], 1.0),
        ("Obama", ["Barack Obama"], 1.0),  # shorter, and contained
        ("Obama Barack", ["Barack Obama"], 1.0),  # both words, in another order
        ("delta gamma beta alpha", ["alpha beta gamma delta epsilon"], 1.0),  # 4 of 5 words
        ("gamma beta alpha zeta eta theta", ["alpha beta gamma delta epsilon"], 0.0),  # 3 of 5
        ("alpha, beta gamma delta", ["alpha beta gamma delta"], 0.0),  # "alpha," is another word
        ("gamma beta alpha", ["alpha alpha beta gamma delta"], 0.0),  # 3 of 4 different words
        ("London", ["Paris", "Lutetia"], 0.0),
        ("Lutetia", ["Paris", "Lutetia"], 1.0),
        ("", ["Paris"], 0.0),
        (" .!? ", ["Paris"], 0.0),
        ("anything", ["Paris", " "], 0.0),  # a blank alternative makes nothing right
    ],
)
def test_flexible_matching(answer: str, expected: list[str], right: float) -> None:
    assert accuracy(answer, *expected) == right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("  PARIS?! ", 1.0),
        ("Lutetia", 1.0),
        ("It is Paris, of course", 0.0),
        ("Par", 0.0),
        ("", 0.0),
        (" .!? ", 0.0),
    ],
)
@pytest.mark.parametrize("name", ["noise_robustness", "information_integration"])
def test_strict_matching_asks_for_the_whole_answer(name: str, answer: str, right: float) -> None:
    row = {"answer": answer, "expected_answers": ["Paris", "Lutetia", " "]}
    found = values(build(name, {"strict": True}), row)
    assert found["accuracy"] == right
    # The other rules are those of the benchmark's script and its prompt.
    assert found["accuracy_exact"] == values(build(name), row)["accuracy_exact"]


def test_strict_corrections() -> None:
    row = {"expected_answers": ["Rome"], "counterfactual_answer": "Milan"}
    strict = build("counterfactual_robustness", {"strict": True})
    for answer, corrected in (("rome.", 1.0), ("It is Rome.", 0.0), ("Milan", 0.0)):
        assert values(strict, row | {"answer": answer})["error_correction_rate"] == corrected


@pytest.mark.parametrize(
    ("answer", "expected", "exact", "normalized"),
    [
        ("PARIS it is", "Paris", 1.0, 1.0),
        ("Obama", "Barack Obama", 0.0, 0.0),
        ("There is insufficient information, but Paris.", "Paris", 0.0, 1.0),
        ("Insufficient information. Paris.", "Paris", 1.0, 1.0),
        ("January\u202f2,\u00a02022", "January 2, 2022", 0.0, 1.0),
        ("a ﬁne day", "fine day", 0.0, 1.0),
        ("New  York", "New York", 0.0, 1.0),
        ("北 京", "北京", 0.0, 0.0),
    ],
)
def test_the_stricter_rules(answer: str, expected: str, exact: float, normalized: float) -> None:
    found = values(NOISE, {"answer": answer, "expected_answers": [expected]})
    assert (found["accuracy_exact"], found["accuracy_normalized"]) == (exact, normalized)


def test_the_exact_rule_ignores_spaces_in_chinese() -> None:
    row = {"answer": "答案是北 京", "expected_answers": ["北京"]}
    assert values(NoiseRobustness(language="zh"), row)["accuracy_exact"] == 1.0
    assert values(NOISE, row)["accuracy_exact"] == 0.0


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden_flexible(case: dict[str, Any]) -> None:
    truth = case["input"]["truth"]
    found = values(NOISE, {"answer": case["input"]["response"], "expected_answers": [truth]})
    expected = float(case["expected"]["seed_correct"]) if truth.strip() else None
    assert found["accuracy"] == expected


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden_exact(case: dict[str, Any]) -> None:
    gold = case["input"]["official_gold"]
    parts = [part if isinstance(part, list) else [part] for part in _listed(gold)]
    found = values(NOISE, {"answer": case["input"]["response"], "expected_parts": parts})
    known = any(text.strip() for part in parts for text in part)
    assert found["accuracy_exact"] == (
        float(case["expected"]["official"]["correct"]) if known else None
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"answer": "Paris"}, "no expected_answers"),
        ({"answer": "Paris", "expected_answers": []}, "no expected_answers"),
        ({"answer": "Paris", "expected_answers": ["", " "]}, "no expected_answers"),
        ({"answer": "Paris", "expected_parts": [[], [" "]]}, "no expected_answers"),
        ({"expected_answers": ["Paris"]}, "no answer"),
        (
            {"answer": "x", "expected_answers": ["x"], "scenario": "negative_rejection"},
            "the scenario is negative_rejection",
        ),
        (
            {"answer": "", "error": "timeout", "scenario": "negative_rejection"},
            "the scenario is negative_rejection",
        ),
    ],
)
def test_not_applicable(row: dict[str, Any], reason: str) -> None:
    (found,) = outcomes(NOISE, samples([row]))
    assert set(found.values()) == {Outcome(None, "not_applicable", reason)}


def test_a_failed_answer_is_wrong() -> None:
    row = {"answer": "", "error": "timeout", "expected_answers": ["Paris"]}
    (found,) = outcomes(NOISE, samples([row | {"scenario": "noise_robustness"}]))
    assert set(found.values()) == {Outcome(0.0, "scored", "target_error")}


def test_the_detail_names_the_rules() -> None:
    rows = [
        {"answer": "Paris and Rome", "expected_parts": [["Paris"], ["Oslo"]]},
        {"answer": "Obama", "expected_answers": ["Barack Obama"]},
    ]
    details = score(NOISE, samples(rows)).frame["detail"].to_list()
    assert details == ['{"rules": ["contains", null]}', '{"rules": ["contained"]}']


def test_languages_are_checked() -> None:
    assert build("noise_robustness", {"language": "zh"}) == NoiseRobustness(language="zh")
    with pytest.raises(BadParameters, match="language"):
        build("noise_robustness", {"language": "fr"})


def test_accuracy_by_noise_ratio_of_published_runs(shared: Path) -> None:
    marked = output_samples(shared)
    frame = samples(marked, [*NOISE.columns, "noise_ratio"])
    grades = score(NOISE, frame).frame
    by_ratio = (
        frame.select("noise_ratio", right=grades["values"].list.get(1))
        .group_by("noise_ratio")
        .agg(pl.col("right").sum().alias("tt"), pl.col("right").mean().alias("accuracy"))
        .rows_by_key("noise_ratio", named=True, unique=True)
    )
    lines = figures(shared, "figures_50.csv")
    assert len(lines) == 3
    for line in lines:
        assert by_ratio[float(line["noise_rate"])] == {
            "tt": float(line["tt"]),
            "accuracy": pytest.approx(float(line["accuracy"]), abs=1e-12),
        }


@pytest.mark.parametrize("ability", ["noise_robustness", "counterfactual_nodocs"])
def test_normalized_accuracy_is_the_mark_of_published_runs(shared: Path, ability: str) -> None:
    rows = outputs(shared, ability)
    assert len(rows) == {"noise_robustness": 750, "counterfactual_nodocs": 300}[ability]
    found = outcomes(NOISE, samples([row.sample for row in rows], NOISE.columns))
    wrong = [
        (row.system, row.question)
        for row, outcome in zip(rows, found, strict=True)
        if outcome["accuracy_normalized"].value != row.marks["accuracy"]
    ]
    assert wrong == []


def test_figures_without_documents(shared: Path) -> None:
    rows = outputs(shared, "counterfactual_nodocs")
    found = outcomes(NOISE, samples([row.sample for row in rows], NOISE.columns))
    lines = [
        line
        for line in figures(shared, "figures_v2.csv")
        if line["ability"] == "counterfactual_nodocs"
    ]
    assert len(lines) == 3
    for line in lines:
        of_system = [
            outcome["accuracy_normalized"].value or 0.0
            for row, outcome in zip(rows, found, strict=True)
            if row.system == line["model"]
        ]
        assert 100 * sum(of_system) / len(of_system) == pytest.approx(float(line["value"]))


def _listed(gold: Any) -> list[Any]:
    return gold if isinstance(gold, list) else [gold]
