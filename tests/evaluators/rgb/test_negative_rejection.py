"""Negative rejection: phrases that decline to answer, and real runs of RGB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluators.library.rgb.negative_rejection import NegativeRejection
from evaluators.scoring import score
from tests.evaluators.rgb.published import figures, output_samples, outputs
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

if TYPE_CHECKING:
    from pathlib import Path

REJECTION = NegativeRejection()
SENTENCE = "I can not answer the question because of the insufficient information in documents."


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SENTENCE, (1.0, 1.0, 1.0)),
        (SENTENCE.upper(), (1.0, 0.0, 1.0)),
        (SENTENCE.replace("can not", "cannot"), (1.0, 1.0, 1.0)),
        (SENTENCE.replace(" ", "\u00a0 "), (0.0, 0.0, 1.0)),
        (SENTENCE.replace("in documents", "in the documents"), (1.0, 1.0, 0.0)),
        ("There is insufficient information, but Paris.", (1.0, 1.0, 0.0)),
        ("I cannot determine the answer.", (1.0, 0.0, 0.0)),
        ("The Tomb of the Unknown Soldier is in Paris.", (1.0, 0.0, 0.0)),
        ("A nuclear plant.", (0.0, 0.0, 0.0)),
        ("Paris", (0.0, 0.0, 0.0)),
        ("I don\u2019t know.", (0.0, 0.0, 0.0)),
        ("信息不足", (0.0, 1.0, 0.0)),
        ("信 息 不 足", (0.0, 0.0, 0.0)),
        ("", (0.0, 0.0, 0.0)),
        (" \n ", (0.0, 0.0, 0.0)),
    ],
)
def test_phrases(answer: str, expected: tuple[float, ...]) -> None:
    found = values(REJECTION, {"answer": answer})
    assert list(found) == ["rejection_rate", "rejection_rate_exact", "rejection_rate_sentence"]
    assert tuple(found.values()) == expected


@pytest.mark.parametrize(
    "case",
    [case for case in golden("rgb")["cases"] if case["kind"] == "rejection"],
    ids=lambda case: case["id"],
)
def test_golden(case: dict[str, Any]) -> None:
    row, expected = {"answer": case["input"]["response"]}, case["expected"]
    chinese = values(NegativeRejection(language="zh"), row)
    found = values(REJECTION, row)
    assert found["rejection_rate"] == chinese["rejection_rate"] == float(expected["seed_rejected"])
    assert found["rejection_rate_exact"] == float(expected["official_rejected"])
    assert chinese["rejection_rate_exact"] == float(expected["official_rejected_zh"])


@pytest.mark.parametrize(
    "case",
    [case for case in golden("rgb")["cases"] if case["kind"] == "correctness"],
    ids=lambda case: case["id"],
)
def test_golden_refusals_among_answers(case: dict[str, Any]) -> None:
    found = values(REJECTION, {"answer": case["input"]["response"]})
    assert found["rejection_rate_exact"] == float(case["expected"]["official"]["rejected"])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"answer": "Paris", "scenario": "negative_rejection"}, Outcome(0.0)),
        ({"answer": SENTENCE, "scenario": "negative_rejection"}, Outcome(1.0)),
        (
            {"answer": SENTENCE, "scenario": "noise_robustness"},
            Outcome(None, "not_applicable", "the scenario is noise_robustness"),
        ),
        (
            {"answer": "", "error": "timeout", "scenario": "noise_robustness"},
            Outcome(None, "not_applicable", "the scenario is noise_robustness"),
        ),
        ({"answer": SENTENCE, "error": "timeout"}, Outcome(0.0, "scored", "target_error")),
        ({"answer": None}, Outcome(None, "not_applicable", "no answer")),
    ],
)
def test_which_questions_count(row: dict[str, Any], expected: Outcome) -> None:
    (found,) = outcomes(REJECTION, samples([row]))
    assert found["rejection_rate"] == expected


def test_the_detail_is_the_first_phrase() -> None:
    rows = [{"answer": "Unknown. I cannot say."}, {"answer": "Paris"}]
    details = score(REJECTION, samples(rows)).frame["detail"].to_list()
    assert details == ['{"phrase": "i cannot"}', '{"phrase": null}']


def test_refusals_of_published_runs(shared: Path) -> None:
    rows = output_samples(shared)
    found = outcomes(REJECTION, samples(rows))
    for line in figures(shared, "figures_50.csv"):
        refused = [
            outcome["rejection_rate_exact"].value
            for row, outcome in zip(rows, found, strict=True)
            if row["noise_ratio"] == float(line["noise_rate"])
        ]
        assert len(refused) == int(line["n"])
        assert sum(value or 0.0 for value in refused) == float(line["label_minus1"])


def test_the_sentence_is_the_mark_of_published_runs(shared: Path) -> None:
    rows = outputs(shared, "negative_rejection")
    found = outcomes(REJECTION, samples([row.sample for row in rows], REJECTION.columns))
    differing: dict[str, int] = {}
    for row, outcome in zip(rows, found, strict=True):
        differs = outcome["rejection_rate_sentence"].value != row.marks["rejected"]
        differing[row.system] = differing.get(row.system, 0) + differs
    # For the last model the authors also marked 22 replies with the sentence worded a little
    # differently ("in the documents"), which they did not do for the others: no one rule does that.
    assert differing == {
        "gpt-oss-20b": 0,
        "llama-3.1-8b-instruct": 0,
        "llama-3.3-70b-versatile": 22,
    }
    for line in figures(shared, "figures_v2.csv"):
        if line["ability"] == "negative_rejection" and not differing[line["model"]]:
            values_of = [
                outcome["rejection_rate_sentence"].value or 0.0
                for row, outcome in zip(rows, found, strict=True)
                if row.system == line["model"]
            ]
            assert 100 * sum(values_of) / 300 == pytest.approx(float(line["value"]), abs=5e-5)
