"""Row evaluators: one sample at a time, equal samples once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.outcome import Graded, Undefined
from evaluators.scoring import score
from tests.support.evaluators import of_rows
from tests.support.samples import Outcome, outcomes, samples

if TYPE_CHECKING:
    from evaluators.outcome import Scores
    from evaluators.sample import Sample

SENTENCES = [{"sentence_id": "S1", "text": "One."}, {"sentence_id": "S2", "text": None}]


def test_a_sample_has_what_is_read_and_nothing_else() -> None:
    seen: list[Sample] = []

    def grade(sample: Sample) -> Scores:
        seen.append(sample)
        return {"a": 1.0}

    evaluator = of_rows(
        grade, "a", reads=frozenset({"answer"}), optional=frozenset({"document_sentences"})
    )
    row = {"answer": "x", "question": "Who?", "label": "y", "document_sentences": SENTENCES}
    score(evaluator, samples([row]))
    (sample,) = seen
    assert (sample.answer, sample.document_sentences) == ("x", SENTENCES)
    assert (sample.question, sample.label, sample.error) == (None, None, None)


@pytest.mark.parametrize(
    ("column", "inputs", "different"),
    [
        ("answer", ["x", "y", "x", "", "x ", "X", "y"], 5),
        ("contexts", [["a"], ["a", "a"], ["a"], [], ["a"]], 3),
        ("document_sentences", [SENTENCES, [], SENTENCES[:1], SENTENCES, SENTENCES[::-1]], 4),
        ("noise_ratio", [0.0, 0.5, 0.5, 1.0], 3),
    ],
)
def test_equal_samples_are_graded_once_and_all_get_the_result(
    column: str, inputs: list[Any], different: int
) -> None:
    seen: list[Any] = []

    def grade(sample: Sample) -> Graded:
        value = getattr(sample, column)
        seen.append(value)
        return Graded({"a": len(str(value)) / 1000}, {"value": value})

    evaluator = of_rows(grade, "a", reads=frozenset({column}))
    frame = samples([{column: value, "system": f"s{n}"} for n, value in enumerate(inputs)])
    grades = score(evaluator, frame).frame
    assert len(seen) == different
    assert grades["system"].to_list() == [f"s{n}" for n in range(len(inputs))]
    assert [json.loads(text)["value"] for text in grades["detail"]] == inputs
    assert grades["values"].to_list() == [[len(str(value)) / 1000] for value in inputs]


def test_nulls_in_optional_columns_are_equal_too() -> None:
    evaluator = of_rows(
        lambda sample: {"a": 1.0 if sample.label is None else 0.0},
        "a",
        optional=frozenset({"label"}),
    )
    rows = [{"noise_ratio": 0.5, "label": label} for label in (None, "x", None, None)]
    assert [found["a"].value for found in outcomes(evaluator, samples(rows))] == [1, 0, 1, 1]


def test_failed_answers_are_not_graded() -> None:
    def grade(sample: Sample) -> Scores:
        raise AssertionError(sample)

    rows = [{"noise_ratio": 0.5, "error": "timeout"}] * 2
    worst = {"a": Outcome(0.0, "scored", "target_error")}
    assert outcomes(of_rows(grade, "a"), samples(rows)) == [worst, worst]


@pytest.mark.parametrize(("given", "value"), [(True, 1.0), (False, 0.0), (1, 1.0), (0.5, 0.5)])
def test_truths_and_whole_numbers_become_values(given: float, value: float) -> None:
    (found,) = outcomes(of_rows(lambda _: {"a": given}, "a"), samples([{"noise_ratio": 0.5}]))
    assert found == {"a": Outcome(value)}
    assert isinstance(found["a"].value, float)


def test_none_is_no_value() -> None:
    with pytest.raises(TypeError):
        score(of_rows(lambda _: {"a": None}, "a"), samples([{"noise_ratio": 0.5}]))  # type: ignore[dict-item]


def test_evidence_stays_where_a_metric_is_undefined() -> None:
    evaluator = of_rows(lambda _: Graded({"a": Undefined("why")}, {"words": ["é"]}), "a")
    frame = score(evaluator, samples([{"noise_ratio": 0.5}])).frame
    assert frame["detail"].to_list() == ['{"words": ["é"]}']
    assert frame["reasons"].to_list() == [["why"]]
