"""Evidence overlap against worked cases: which words there are, and what counts without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators import catalog
from evaluators.scoring import score
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

GOLDEN = golden("evidence_overlap")
# The source takes a run of Japanese characters for one word; here each character is a word.
RUNS_OF_KANA = {"evi-021"}
CASES = [case for case in GOLDEN["cases"] if case["id"] not in RUNS_OF_KANA]
OVERLAP = catalog.build("evidence_overlap")
BLANK_RULE = GOLDEN["alternatives"]["whitespace_lower_keeps_punctuation"]
DOCUMENT = {
    "S1": "The cat sat on the mat.",
    "S2": "A dog sat on the log!",
    "S3": "sat ON",
    "S4": "— …",
    "S5": None,
}
NAMES = ("evidence_recall", "evidence_precision", "evidence_f1", "evidence_recall_words")


def _row(gold: Any, cited: Any, document: dict[str, str | None] | None) -> dict[str, Any]:
    sentences = document and [{"sentence_id": name, "text": document[name]} for name in document]
    return {
        "gold_sentence_ids": gold,
        "cited_sentence_ids": cited,
        "document_sentences": [] if document == {} else sentences,
    }


def _golden_row(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    shared = given["document"] == "shared"
    document = GOLDEN["shared_document"] if shared else given["document"]
    return _row(given["gold"], given["predicted"], document)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_cases(case: dict[str, Any]) -> None:
    given = values(OVERLAP, _golden_row(case))["evidence_recall_words"]
    expected = case["expected"]["evidence_score"]
    assert given == pytest.approx(expected, rel=0, abs=GOLDEN["tolerance"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_cases_split_at_spaces(case: dict[str, Any]) -> None:
    given = values(OVERLAP, _golden_row(case))["evidence_recall"]
    expected = BLANK_RULE.get(case["id"], case["expected"]["evidence_score"])
    assert given == pytest.approx(expected, rel=0, abs=GOLDEN["tolerance"])


WORKED: list[tuple[str, Any, Any, Any, tuple[float, ...], str]] = [
    ("recall and precision", ["S1"], ["S2"], DOCUMENT, (3 / 5, 1 / 2, 6 / 11, 3 / 5), "words"),
    (
        "words of all sentences once",
        ["S1", "S3"],
        ["S3"],
        DOCUMENT,
        (2 / 5, 1, 4 / 7, 2 / 5),
        "words",
    ),
    ("same sentence", ["S1"], ["S1"], DOCUMENT, (1, 1, 1, 1), "words"),
    ("case does not count", ["S3"], ["S1"], DOCUMENT, (1, 2 / 5, 4 / 7, 1), "words"),
    ("nothing cited", ["S1"], [], DOCUMENT, (0, 0, 0, 0), "words"),
    ("unknown ones add no words", ["S1"], ["S9", "S1"], DOCUMENT, (1, 1, 1, 1), "words"),
    ("no words to find, marks alone", ["S4"], ["S4"], DOCUMENT, (1, 1, 1, 1), "words"),
    ("no text: identifiers", ["S5"], ["S5", "S1"], DOCUMENT, (1, 1 / 2, 2 / 3, 1), "identifiers"),
    ("unknown: identifiers", ["S9"], ["S1"], DOCUMENT, (0, 0, 0, 0), "identifiers"),
    (
        "no document: identifiers",
        ["S1", "S2"],
        ["S1"],
        None,
        (1 / 2, 1, 2 / 3, 1 / 2),
        "identifiers",
    ),
    ("no sentences: identifiers", ["S1"], ["S1"], {}, (1, 1, 1, 1), "identifiers"),
    ("no gold, nothing cited", [], [], DOCUMENT, (1, 1, 1, 1), "no_gold"),
    ("no gold, something cited", [], ["S1"], DOCUMENT, (0, 0, 0, 0), "no_gold"),
    ("empty identifiers are none", ["", None], [None, ""], DOCUMENT, (1, 1, 1, 1), "no_gold"),
]


@pytest.mark.parametrize(
    ("gold", "cited", "document", "expected", "path"),
    [case[1:] for case in WORKED],
    ids=[case[0] for case in WORKED],
)
def test_worked_cases(
    gold: Any, cited: Any, document: Any, expected: tuple[float, ...], path: str
) -> None:
    row = _row(gold, cited, document)
    given = values(OVERLAP, row)
    assert given == pytest.approx(dict(zip(NAMES, expected, strict=True)), rel=0, abs=1e-12)
    (detail,) = score(OVERLAP, samples([row])).frame["detail"]
    assert json.loads(detail)["path"] == path


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_row(None, ["S1"], DOCUMENT), "no gold_sentence_ids"),
        (_row(["S1"], None, DOCUMENT), "no cited_sentence_ids"),
    ],
)
def test_what_is_not_known_is_not_applicable(row: dict[str, Any], reason: str) -> None:
    (found,) = outcomes(OVERLAP, samples([row]))
    assert set(found.values()) == {Outcome(None, "not_applicable", reason)}


@pytest.mark.parametrize("gold", [["S1"], []])
def test_a_failed_answer_cites_nothing(gold: list[str]) -> None:
    row = _row(gold, [], DOCUMENT) | {"error": "timeout"}
    (found,) = outcomes(OVERLAP, samples([row]))
    assert set(found.values()) == {Outcome(0.0, "scored", "target_error")}


def test_characters_are_words_in_scripts_without_spaces() -> None:
    document: dict[str, str | None] = {"S1": "渡船九点开", "S2": "渡船十点开"}
    found = values(OVERLAP, _row(["S1"], ["S2"], document))
    assert found["evidence_recall"] == found["evidence_recall_words"] == pytest.approx(4 / 5)
    assert found["evidence_precision"] == pytest.approx(4 / 5)
