"""Counterfactual robustness: detecting and correcting a planted error, and real runs of RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluators.library.rgb.counterfactual_robustness import CounterfactualRobustness
from evaluators.scoring import score
from tests.evaluators.rgb.published import figures, outputs
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

if TYPE_CHECKING:
    from pathlib import Path

ROBUSTNESS = CounterfactualRobustness()
SENTENCE = "There are factual errors in the provided documents."
UNDETECTED = Outcome(None, "undefined", "the answer detects no error")


def capital(answer: str, **facts: Any) -> dict[str, Any]:
    return {
        "answer": answer,
        "expected_answers": ["Paris"],
        "counterfactual_answer": "London",
        **facts,
    }


@pytest.mark.parametrize(
    ("answer", "detected", "corrected"),
    [
        ("The documents state London, but that is incorrect. It is Paris.", 1.0, 1.0),
        ("According to the documents, the capital is London.", 0.0, 0.0),
        ("The documents are wrong - the capital is Tokyo.", 1.0, 0.0),
        ("Terror struck London.", 1.0, 0.0),
        ("It is not London.", 1.0, 0.0),
        ("I think LONDON is wrong.", 1.0, 0.0),
        ("Paris", 0.0, 1.0),
        ("", 0.0, 0.0),
    ],
)
def test_flexible_rules(answer: str, detected: float, corrected: float) -> None:
    found = values(ROBUSTNESS, capital(answer))
    assert found["error_detection_rate"] == detected
    assert found["error_correction_rate"] == found["accuracy"] == corrected


@pytest.mark.parametrize(
    ("answer", "expected", "corrected"),
    [
        # Right by its words only, and it names the wrong answer: a repetition.
        ("one three two four London", "one two three four five", 0.0),
        ("one three two four Oslo", "one two three four five", 1.0),
        # Right because it contains the right answer: no repetition, whatever else it names.
        ("London, or Paris", "Paris", 1.0),
        # Short, contained in the right answer, and itself the wrong one.
        ("London", "Greater London", 0.0),
    ],
)
def test_repeating_the_error(answer: str, expected: str, corrected: float) -> None:
    row = capital(answer, expected_answers=[expected])
    assert values(ROBUSTNESS, row)["error_correction_rate"] == corrected


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_without_a_counterfactual_answer_the_phrases_count(nothing: str | None) -> None:
    row = capital("It is not London. not   at all", counterfactual_answer=nothing)
    assert values(ROBUSTNESS, row)["error_detection_rate"] == 0.0
    row = capital("four three two one", expected_answers=["one two three four five"])
    assert values(ROBUSTNESS, row | {"counterfactual_answer": nothing})["accuracy"] == 1.0


@pytest.mark.parametrize(
    "case",
    [case for case in golden("rgb")["cases"] if case["kind"] == "counterfactual"],
    ids=lambda case: case["id"],
)
def test_golden(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    row = capital(
        given["response"],
        expected_answers=[given["truth"]],
        counterfactual_answer=given["counterfactual"],
    )
    (found,) = outcomes(ROBUSTNESS, samples([row]))
    assert found["error_detection_rate"].value == float(expected["seed_detected"])
    assert found["error_correction_rate"].value == float(expected["seed_corrected"])
    assert found["error_detection_rate_exact"].value == float(expected["official_detected"])
    assert found["accuracy_exact"].value == float(expected["official_correct"])
    corrects = expected["official_detected"] and expected["official_label_test_of_judge_script"]
    assert found["error_correction_overall_exact"].value == float(corrects)
    assert found["error_correction_rate_exact"] == (
        Outcome(float(corrects)) if expected["official_detected"] else UNDETECTED
    )


@pytest.mark.parametrize("name", ["counterfactual", "counterfactual2"])
def test_golden_rates(name: str) -> None:
    case = golden("rgb")["dataset_cases"][name]
    rows = [
        capital(f"{'There are factual errors. ' * detected}{'Paris' if right else 'London'}")
        for detected, right in case["rows"]
    ]
    found = outcomes(ROBUSTNESS, samples(rows))

    def percent(metric: str) -> float:
        scored = [row[metric].value for row in found if row[metric].value is not None]
        return 100 * sum(value or 0.0 for value in scored) / len(scored)

    expected = case["expected"]
    assert percent("error_detection_rate") == expected["seed_error_detection_rate"]
    assert percent("error_correction_rate") == expected["seed_error_correction_rate"]
    assert percent("error_detection_rate_exact") == expected["official_ED"]
    assert percent("error_correction_rate_exact") == expected["official_CR"]


@pytest.mark.parametrize(
    ("answer", "exact", "sentence"),
    [
        (f"{SENTENCE} It is Paris.", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        (f"{SENTENCE} It is London.", (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        (f"{SENTENCE.upper()} PARIS", (0.0, None, 0.0), (1.0, 1.0, 1.0)),
        ("There are factual errors here. Paris", (1.0, 1.0, 1.0), (0.0, None, 0.0)),
        (f"{SENTENCE} insufficient information, Paris", (1.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ("Paris", (0.0, None, 0.0), (0.0, None, 0.0)),
        ("有事实性错误 Paris", (1.0, 1.0, 1.0), (0.0, None, 0.0)),
    ],
)
def test_stricter_rules(
    answer: str, exact: tuple[float | None, ...], sentence: tuple[float | None, ...]
) -> None:
    found = values(ROBUSTNESS, capital(answer))
    for rules, expected in (("exact", exact), ("sentence", sentence)):
        assert expected == tuple(
            found[f"error_{name}_{rules}"]
            for name in ("detection_rate", "correction_rate", "correction_overall")
        )


def test_parts_must_all_be_corrected() -> None:
    row = capital("Paris", expected_answers=None, expected_parts=[["Paris"], ["Lyon"]])
    assert values(ROBUSTNESS, row)["error_correction_rate"] == 0.0
    assert values(ROBUSTNESS, row | {"answer": "Lyon, Paris"})["error_correction_rate"] == 1.0


def test_which_questions_count() -> None:
    rows = [
        capital("Paris", scenario="noise_robustness"),
        capital("Paris", expected_answers=None),
        capital("Paris", scenario="counterfactual_robustness", error="timeout"),
    ]
    assert [row["error_detection_rate"] for row in outcomes(ROBUSTNESS, samples(rows))] == [
        Outcome(None, "not_applicable", "the scenario is noise_robustness"),
        Outcome(None, "not_applicable", "no expected_answers"),
        Outcome(0.0, "scored", "target_error"),
    ]


def test_a_failed_answer_is_in_no_rate_among_the_detected() -> None:
    (found,) = outcomes(ROBUSTNESS, samples([capital(SENTENCE, error="timeout")]))
    left_out = {"error_correction_rate_exact", "error_correction_rate_sentence"}
    for name, outcome in found.items():
        if name in left_out:
            assert outcome == Outcome(None, "not_applicable", "the answer detects no error")
        else:
            assert outcome == Outcome(0.0, "scored", "target_error")


def test_the_detail_is_the_first_phrase() -> None:
    rows = [capital("This is in fact wrong."), capital("It is not London."), capital("Paris")]
    details = score(ROBUSTNESS, samples(rows)).frame["detail"].to_list()
    assert details == ['{"phrase": "wrong"}', '{"phrase": "not london"}', '{"phrase": null}']


def test_marks_and_figures_of_published_runs(shared: Path) -> None:
    rows = outputs(shared, "counterfactual_robustness")
    found = outcomes(ROBUSTNESS, samples([row.sample for row in rows], ROBUSTNESS.columns))
    marks = {
        "error_detection_rate_sentence": "error_detected",
        "error_correction_overall_sentence": "error_corrected",
        "accuracy_normalized": "gold_present",
    }
    for metric, mark in marks.items():
        assert [outcome[metric].value for outcome in found] == [row.marks[mark] for row in rows]
    names = {
        "acc_doc_%": "accuracy_normalized",
        "error_detection_%": "error_detection_rate_sentence",
        "error_correction_among_detected_%": "error_correction_rate_sentence",
        "error_correction_overall_%": "error_correction_overall_sentence",
    }
    compared = 0
    for line in figures(shared, "figures_v2.csv"):
        if line["ability"] != "counterfactual_robustness":
            continue
        of_system = [
            outcome[names[line["metric"]]].value
            for row, outcome in zip(rows, found, strict=True)
            if row.system == line["model"]
        ]
        scored = [value for value in of_system if value is not None]
        assert len(of_system) == int(line["n"])
        assert 100 * sum(scored) / len(scored) == pytest.approx(float(line["value"]), abs=5e-5)
        compared += 1
    assert compared == 12
