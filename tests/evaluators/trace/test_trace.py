"""TRACe: marks of a judge, worked examples, and the published scores of recorded replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.outcome import JudgeError
from evaluators.text.sentences import letters
from tests.evaluators.trace.marked import documents, sentences
from tests.support.golden_cases import golden
from tests.support.scripted_judge import Scripted, by_form, judged, values

GOLDEN = golden("trace_arithmetic")
OURS = {
    "seed_relevance_div20": "context_relevance_normalized_20",
    "relevance": "context_relevance",
    "seed_utilization_util_over_rel": "context_utilization",
    "utilization_paper": "context_utilization_of_context",
    "completeness": "completeness",
    "adherence": "adherence",
    "support_share": "adherence_fraction",
}
OTHER_RULES: dict[str, dict[str, float | None]] = {
    # A key that is given twice counts once.
    "trace-006": {"seed_relevance_div20": 0.1, "seed_utilization_util_over_rel": 0.5},
    # A blank answer adheres to nothing; who is silent does not gain by it.
    "trace-007": {"adherence": None},
    # A key that no document has is none; too many of them are a parse failure.
    "trace-009": dict.fromkeys(OURS),
}
"""Where the golden figures are those of the source's code, and ours are others on purpose."""

DOCUMENTS = [
    "The old harbour has two long piers. A small café stands there. It is open late.",
    "The ferry leaves at eight. On Sundays it leaves later.",
    "Tickets are sold on board. Dogs may come along.",
]
ANSWER = "It leaves at eight. On Sundays at nine. It is red."


def _labels(
    relevant: list[str], utilized: list[str], supported: list[bool], **other: Any
) -> dict[str, Any]:
    return {
        "relevance_explanation": "",
        "all_relevant_sentence_keys": relevant,
        "sentence_support_information": [
            {
                "response_sentence_key": letters(place),
                "explanation": "",
                "supporting_sentence_keys": ["general"],
                "fully_supported": held,
            }
            for place, held in enumerate(supported)
        ],
        "overall_supported_explanation": "",
        "overall_supported": all(supported),
        "all_utilized_sentence_keys": utilized,
        **other,
    }


def _scored(
    labels: Any, contexts: Any = DOCUMENTS, answer: str = ANSWER, **more: Any
) -> list[dict[str, Any]]:
    judge = labels if isinstance(labels, Scripted) else by_form(TraceLabels=labels)
    row = {"question": "When does it leave?", "contexts": contexts, "answer": answer}
    parameters = more.pop("parameters", {})
    return judged(build("trace", parameters), row | more, judge)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_arithmetic(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"] | OTHER_RULES.get(case["id"], {})
    total = given["total_sentences"]
    plain = {str(number): f"0{letters(number)}" for number in range(total)}
    relevant, utilized = (
        [plain.get(key, key) for key in given[name]] for name in ("relevant", "utilized")
    )
    known = [] if "9z" in relevant else [*relevant, *utilized]
    supported = given["fully_supported"]
    contexts = documents(total, known)
    answer = sentences(len(supported), "Answer")
    found = values(_scored(_labels(relevant, utilized, supported), contexts, answer))
    tolerance = GOLDEN["tolerance"]
    for name, value in expected.items():
        assert found[OURS[name]] == (
            None if value is None else pytest.approx(value, rel=0, abs=tolerance)
        ), name


def _stored(case: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The scores of labels that come with the answer; nothing asks a judge."""
    labels = _labels(case["relevant"], case["utilized"], case["fully_supported"])
    row = {"question": "When?", "answer": "", "contexts": None, "extra": json.dumps(labels)}
    judge = Scripted(lambda _: pytest.fail("asked"))
    return judged(build("trace", {"labels": "stored"}), row | more, judge)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_stored_labels_have_the_figures_of_the_source(case: dict[str, Any]) -> None:
    """The source counts keys that are given twice, and an answer without verdicts adheres.

    The specification counts a key once, drops unknown ones and leaves adherence undefined; it
    speaks of labels that a judge is asked for, see `OTHER_RULES`.
    """
    given, expected = case["input"], case["expected"]
    sentences = [
        {"sentence_id": str(n), "text": "A word."} for n in range(given["total_sentences"])
    ]
    found = values(_stored(given, document_sentences=sentences))
    for name, value in expected.items():
        assert found[OURS[name]] == (
            None if value is None else pytest.approx(value, rel=0, abs=GOLDEN["tolerance"])
        ), name


def test_stored_labels_of_an_unknown_context() -> None:
    case = {"relevant": ["0a", "0b"], "utilized": ["0a"], "fully_supported": []}
    rows = _stored(case)
    found = values(rows)
    assert found["trace_average"] == pytest.approx((2 / 20 + 1 / 2 + 1 / 2 + 1) / 4)
    assert found["context_relevance"] is None
    by_name = {row["metric"]: row for row in rows}
    assert by_name["context_relevance"]["reason"] == "the sentences of the context are not known"
    assert by_name["adherence"]["reason"] == "no_support_entries"
    cut = values(_stored(case, contexts=["It is late. It is open."]))
    assert (cut["context_relevance"], cut["completeness_by_length"]) == (1.0, 0.5)
    other = values(_stored(case, contexts=["It is late."]))
    assert other["context_relevance"] is None


def _of_extra(extra: Any) -> list[dict[str, Any]]:
    row = {"question": "When?", "answer": "", "contexts": None, "extra": json.dumps(extra)}
    judge = Scripted(lambda _: pytest.fail("asked"))
    return judged(build("trace", {"labels": "stored"}), row, judge)


@pytest.mark.parametrize("absent", [{}, {"all_utilized_sentence_keys": None}])
def test_missing_labels_are_not_empty_ones(absent: dict[str, Any]) -> None:
    sentences = [[["0a", "It is late."], ["0b", "It is red."]]]
    given = {"all_relevant_sentence_keys": ["0a"], "documents_sentences": sentences}
    rows = _of_extra(given | absent)
    assert {row["metric"]: row["value"] for row in rows if row["value"] is not None} == {
        "context_relevance": 0.5,
        "context_relevance_normalized_20": 1 / 20,
        "adherence": 1.0,
    }
    reasons = {row["metric"]: row["reason"] for row in rows}
    assert reasons["completeness"] == "no labels of used sentences"
    assert reasons["trace_average"] == "no value of context_utilization, completeness"


def test_missing_labels_of_relevant_sentences() -> None:
    sentences = [["0a", "It is late."], ["0b", "It is red."]]
    rows = _of_extra({"all_utilized_sentence_keys": ["0a"], "documents_sentences": sentences})
    assert {row["metric"]: row["value"] for row in rows if row["value"] is not None} == {
        "context_utilization_of_context": 0.5,
        "adherence": 1.0,
    }
    reasons = {row["metric"]: row["reason"] for row in rows}
    assert reasons["context_relevance"] == "no labels of relevant sentences"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documents_sentences": [[["0a", None]]]}, "documents_sentences[0][0]: expected [key, t"),
        ({"documents_sentences": [[[["x"], "y"]]]}, "documents_sentences[0][0]: expected [key, t"),
        ({"documents_sentences": ["ab"]}, "documents_sentences[0]: expected a list, found"),
        ({"documents_sentences": 0}, "documents_sentences: expected a list, found"),
        ({"documents_sentences": [[["0a", "x"], ["0a", "y"]]]}, "a key occurs twice"),
        ({"all_utilized_sentence_keys": ""}, "all_utilized_sentence_keys: expected a list of keys"),
        ({"all_utilized_sentence_keys": [["x"]]}, "all_utilized_sentence_keys: expected a list of"),
        ({"sentence_support_information": ""}, "sentence_support_information: expected a list of"),
        ({"sentence_support_information": [{"fully_supported": "no"}]}, "expected true, false or"),
    ],
)
def test_stored_labels_that_cannot_be_read_are_named(change: dict[str, Any], said: str) -> None:
    given = {"all_relevant_sentence_keys": ["0a"], "all_utilized_sentence_keys": ["0a"]}
    rows = _of_extra(given | change)
    assert {row["status"] for row in rows} == {"undefined"}
    assert all(said in row["reason"] for row in rows)


def test_stored_labels_that_are_not_there() -> None:
    evaluator = build("trace", {"labels": "stored"})
    row = {"question": "When?", "answer": "At eight.", "extra": '{"adherence_score": 1}'}
    rows = judged(evaluator, row, Scripted(lambda _: pytest.fail("asked")))
    assert {row["status"] for row in rows} == {"not_applicable"}
    assert rows[0]["reason"].startswith("no stored labels (all_relevant_sentence_keys")
    failed = judged(evaluator, row | {"error": "timeout"}, Scripted(lambda _: pytest.fail("asked")))
    assert {(row["value"], row["reason"]) for row in failed} == {(0.0, "target_error")}


def test_the_complete_example_of_the_source() -> None:
    marked = ["0a", "0b", "1a", "1b"]
    found = values(_scored(_labels(marked, marked, [True, True, False])))
    assert found == pytest.approx(
        {
            "context_relevance": 4 / 7,
            "context_utilization": 1.0,
            "completeness": 1.0,
            "adherence": 0.0,
            "context_relevance_normalized_20": 0.2,
            "context_utilization_of_context": 4 / 7,
            "completeness_by_length": 1.0,
            "adherence_fraction": 2 / 3,
            "trace_average": 0.55,
        }
    )


def test_relevant_and_used_sentences_differ() -> None:
    # The second example of the specification; its sentences have as many words as these.
    labels = _labels(["0a", "0b", "1a"], ["0a", "1a", "1b"], [True] * 3)
    found = values(_scored(labels))
    assert found["context_relevance"] == pytest.approx(0.4285714, abs=5e-8)
    assert found["context_utilization_of_context"] == pytest.approx(0.4285714, abs=5e-8)
    assert found["context_utilization"] == 1.0
    assert found["completeness"] == pytest.approx(0.6666667, abs=5e-8)
    assert found["completeness_by_length"] == pytest.approx(0.7058824, abs=5e-8)
    by_characters = values(_scored(labels, parameters={"length": "characters"}))
    assert by_characters["completeness_by_length"] == pytest.approx((35 + 26) / (35 + 26 + 26))


REFUSAL = _labels(
    [],
    [],
    [],
    sentence_support_information=[
        {
            "response_sentence_key": "a",
            "explanation": "",
            "supporting_sentence_keys": ["supported_without_sentence"],
            "fully_supported": True,
        }
    ],
)


@pytest.mark.parametrize(
    ("rule", "completeness"), [("as_used", 1.0), ("one", 1.0), ("zero", 0.0), ("undefined", None)]
)
def test_a_refusal_where_nothing_is_relevant(rule: str, completeness: float | None) -> None:
    rows = _scored(REFUSAL, answer="They do not say.", parameters={"nothing_relevant": rule})
    found = values(rows)
    assert (found["context_relevance"], found["context_utilization"]) == (0.0, 0.0)
    assert (found["adherence"], found["completeness"]) == (1.0, completeness)
    assert found["completeness_by_length"] is None
    assert (found["trace_average"] is None) == (completeness is None)
    assert json.loads(rows[0]["detail"])["unknown_keys"] == 0


def test_no_context() -> None:
    rows = _scored(Scripted(lambda _: pytest.fail("asked")), contexts=["", " "])
    found = {row["metric"]: (row["value"], row["status"]) for row in rows}
    assert found["context_relevance"] == found["context_utilization"] == (0.0, "scored")
    assert rows[0]["reason"] == "no_context"
    for name in ("context_utilization_of_context", "completeness", "trace_average"):
        assert found[name] == (None, "undefined")
    assert found["adherence"] == found["adherence_fraction"] == (0.0, "scored")


def test_a_blank_answer_uses_nothing_whatever_the_judge_says() -> None:
    rows = _scored(_labels(["1a", "1b"], ["1a"], []), answer=" ")
    found = values(rows)
    assert (found["context_relevance"], found["context_utilization"]) == (2 / 7, 0.0)
    assert (found["completeness"], found["adherence"]) == (0.0, None)
    silent = _scored(Scripted(lambda _: pytest.fail("asked")), contexts=[], answer="")
    assert values(silent)["context_relevance"] == 0.0


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        (_labels([], [], [True, True]), "no verdict on c"),
        (
            _labels([], [], [True] * 3)
            | {
                "sentence_support_information": [
                    *_labels([], [], [True] * 3)["sentence_support_information"],
                    *_labels([], [], [False])["sentence_support_information"],
                ]
            },
            "contradictory verdicts on a",
        ),
        (_labels(["0a", "9z"], ["0a"], [True] * 3), "unknown identifiers: 9z"),
        (_labels(["0a"], [], [True] * 3, overall_supported="yes"), "overall_supported"),
    ],
)
def test_marks_that_cannot_be_used(labels: dict[str, Any], fault: str) -> None:
    rows = _scored(labels)
    assert {(row["status"], row["value"]) for row in rows} == {("parse_failure", None)}
    assert fault in rows[0]["reason"]


def test_a_few_unknown_keys_are_dropped_and_never_help() -> None:
    keys = ["0a", "0b", "0c", "1a", "1b"]
    with_one, without = (
        _scored(_labels([*keys, *more], keys, [True] * 3)) for more in (["9z"], [])
    )
    assert values(with_one) == values(without)
    assert json.loads(with_one[0]["detail"])["unknown_keys"] == 1


def test_not_applicable_failed_and_judge_error() -> None:
    labels = _labels([], [], [True] * 3)
    assert {row["status"] for row in _scored(labels, contexts=None)} == {"not_applicable"}
    failed = _scored(labels, error="timeout")
    assert {(row["value"], row["reason"]) for row in failed} == {(0.0, "target_error")}
    lost = _scored(JudgeError("timed out"))
    assert {(row["status"], row["reason"]) for row in lost} == {("judge_error", "timed out")}
