"""`no_data: zero` gives 0 where a sample lacks data, not where the run lacks an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from evaluators.catalog import build
from evaluators.flows.protocols import Engines
from evaluators.outcome import JudgeSkipped, NotApplicable, Undefined
from evaluators.scoring import score
from tests.support.evaluators import of_parts, of_rows
from tests.support.samples import Outcome, outcomes, samples
from tests.support.scripted_models import Answers, graded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calls.call import Origin
    from evaluators.evaluator import Evaluator

BAD = {"answer": "You are bad."}


def zero(name: str) -> Evaluator:
    return replace(build(name), no_data="zero")


class People:
    """Labels of the first sample."""

    identity = "people"

    def of(self, origin: Origin) -> Mapping[str, float]:
        """Return the label, or raise the reason why there is none."""
        if origin.question_id == "q1":
            return {"faithfulness": 1.0}
        raise NotApplicable("no human label for this sample")


def test_a_missing_label_is_not_missing_data() -> None:
    judged = {"question": "Why?", "answer": "So.", "contexts": ["So."]}
    rows = [judged, {**judged, "question_id": "q1"}, judged, {**judged, "contexts": None}]
    given = samples(rows).with_columns(repeat=pl.Series([0, 1, 0, 0], dtype=pl.Int64))
    frame = score(zero("faithfulness"), given, Engines(labels=People())).frame
    assert frame["values"].list.first().to_list() == [1.0, None, None, 0.0]
    # Its other metrics have no label at all; the last sample lacks data.
    assert frame["values"].list.slice(1).list.drop_nulls().list.sum().to_list() == [0, 0, 0, 0]
    assert frame["reasons"].list.first()[3] == "no contexts"


def test_a_label_that_a_model_lacks_is_not_missing_data() -> None:
    found, _ = graded(zero("toxicity"), BAD, toxicity=Answers(lambda _: {"toxicity": 0.5}))
    assert found["toxicity"] == Outcome(0.5)
    assert found["threat"] == Outcome(None, "not_applicable", "the model gives no threat")
    found, _ = graded(zero("fairness_bias"), BAD, fairness_bias=Answers(lambda _: {"L1": 0.5}))
    assert {(each.value, each.status) for each in found.values()} == {(None, "not_applicable")}


def test_a_blank_answer_is_missing_data() -> None:
    found, _ = graded(zero("toxicity"), {"answer": "\n"}, toxicity=Answers(lambda _: {}))
    assert found["threat"] == Outcome(0.0, "scored", "the answer has no sentence")


def test_a_part_without_an_engine_looks_like_one_without_data() -> None:
    frame = samples(
        [{"a.b": None, "status:a.b": status} for status in ("not_applicable", "undefined")],
        **{"a.b": pl.Float64, "status:a.b": pl.String},
    )
    evaluator = replace(of_parts(["a.b"], {"n": pl.col("a.b")}), no_data="zero")
    found = [(each["n"].value, each["n"].reason) for each in outcomes(evaluator, frame)]
    assert found == [(None, "a.b: not_applicable"), (0.0, "a.b: undefined")]


def test_a_fault_of_the_run_is_not_missing_data() -> None:
    reasons = {
        "key": JudgeSkipped("no key"),
        "tie": Undefined("tie", of_run=True),
        "none": NotApplicable("no contexts"),
        "empty": Undefined("no words"),
    }
    evaluator = replace(of_rows(lambda _: reasons, *reasons), no_data="zero")
    (found,) = outcomes(evaluator, samples([{"noise_ratio": 0.0}]))
    assert {name: each.value for name, each in found.items()} == {
        "key": None,
        "tie": None,
        "none": 0.0,
        "empty": 0.0,
    }
