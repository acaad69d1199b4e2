"""Option confidence: the figures of single questions, ties, noughts and missing options."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.library.mcqa.option_confidence import OptionConfidence
from evaluators.sample import SAMPLE_COLUMNS
from evaluators.scoring import aggregate, score
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples, values

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = OptionConfidence()
NEVER = float("-inf")
NAMES = {
    "phi": "phi",
    "delta": "delta",
    "mass": "option_mass",
    "correct": "accuracy",
    "correct_first_argmax": "accuracy_first_argmax",
    "phi_norm": "phi_normalized",
    "delta_norm": "delta_normalized",
    "nll_norm": "negative_log_likelihood",
    "brier": "brier",
}
GOLDEN = golden("mcqa")


def logs(*probabilities: float) -> list[float]:
    return [math.log(p) if p else NEVER for p in probabilities]


def graded(logprobs: Sequence[float | None], right: int, **facts: Any) -> dict[str, float | None]:
    texts = [f"option {n}" for n in range(len(logprobs))]
    given = {"choices": texts, "choice_logprobs": logprobs, "correct_choice": right}
    return values(CONFIDENCE, given | facts)


def test_the_four_models_of_the_source() -> None:
    # Four systems with the same accuracy, from certain to not understanding the question.
    rows = [
        (logs(0, 0, 1, 0), (1.0, 1.0, 1.0, 1.0)),
        (logs(0.2, 0.1, 0.6, 0.01), (1.0, 0.6, 0.4, 0.91)),
        (logs(0.25, 0.25, 0.26, 0.24), (1.0, 0.26, 0.01, 1.0)),
        (logs(0, 0, 0.01, 0), (1.0, 0.01, 0.01, 0.01)),
    ]
    for logprobs, expected in rows:
        found = graded(logprobs, 2)
        assert [
            found[name] for name in ("accuracy", "phi", "delta", "option_mass")
        ] == pytest.approx(expected)
    assert graded(rows[3][0], 2)["phi_normalized"] == 1.0


def test_unnormalised_figures_tell_the_perfect_model_from_the_fourth() -> None:
    system = {}
    for name, logprobs in {"perfect": logs(0, 0, 1, 0), "fourth": logs(0, 0, 0.01, 0)}.items():
        frame = samples([{"choice_logprobs": logprobs, "correct_choice": 2}] * 3)
        (sample, *_) = outcomes(CONFIDENCE, frame)
        scores = aggregate(CONFIDENCE, rows_to_fold(CONFIDENCE, frame)).scores
        system[name] = {each: sample[each].value for each in sample} | dict(scores)
    perfect, fourth = system["perfect"], system["fourth"]
    for name in ("brier", "negative_log_likelihood", "expected_calibration_error"):
        assert perfect[name] == fourth[name] == 0, name
        assert perfect[f"{name}_unnormalized"] == 0, name
    primary = next(metric.name for metric in CONFIDENCE.metrics if metric.primary)
    assert (perfect[primary], fourth[primary]) == pytest.approx((1.0, 0.01))
    # Outside the options lies 0.99, a wrong option: (0.01 - 1)^2 + 0.99^2.
    assert fourth["brier_unnormalized"] == pytest.approx(2 * 0.99**2)
    assert fourth["negative_log_likelihood_unnormalized"] == pytest.approx(-math.log(0.01))
    assert fourth["log_loss_unnormalized"] == pytest.approx(-math.log(0.01))
    # It is 0.99 sure of something that is no option, which is never right.
    assert fourth["expected_calibration_error_unnormalized"] == pytest.approx(0.99)


def test_with_mass_1_both_kinds_agree() -> None:
    found = graded(logs(0.2, 0.1, 0.6, 0.1), 2)
    for name in ("brier", "negative_log_likelihood"):
        assert found[f"{name}_unnormalized"] == pytest.approx(found[name])
    third = graded(logs(0.2, 0.1, 0.6, 0.01), 2)
    assert third["brier_unnormalized"] == pytest.approx(
        0.2**2 + 0.1**2 + 0.4**2 + 0.01**2 + 0.09**2
    )


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    (found,) = outcomes(
        CONFIDENCE,
        samples([{"choice_logprobs": given["logprobs"], "correct_choice": given["gold"]}]),
    )
    for name, metric in NAMES.items():
        assert found[metric].value == pytest.approx(float(expected[name]), abs=1e-9), name
        assert found[metric].status == "scored"


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_detail(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    frame = samples([{"choice_logprobs": given["logprobs"], "correct_choice": given["gold"]}])
    detail = json.loads(score(CONFIDENCE, frame).frame["detail"].item())
    assert detail["chosen"] == expected["pred"]
    assert detail["tied"] == expected["tie"]
    assert detail["confidence"] == pytest.approx(expected["confidence"], abs=1e-9)


@pytest.mark.parametrize(
    ("logprobs", "right", "expected"),
    [
        (logs(0.4, 0.4, 0.2), 0, (0.0, 1.0, 0.0)),  # tied: strictly no, first yes
        (logs(0.4, 0.4, 0.2), 1, (0.0, 0.0, 0.0)),
        (logs(0.25, 0.25, 0.25, 0.25), 0, (0.0, 1.0, 0.0)),
        (logs(0.5, 0.25, 0.25), 0, (1.0, 1.0, 0.25)),  # the wrong ones are tied
        (logs(0.3, 0.5, 0.1), 0, (0.0, 0.0, -0.2)),
        ([-800.0, -801.0], 0, (1.0, 1.0, 0.0)),  # decided where probabilities are 0
        ([NEVER, NEVER], 0, (0.0, 0.0, 0.0)),
        ([None, None], 1, (0.0, 0.0, 0.0)),
        ([NEVER, -1.0], 0, (0.0, 0.0, -math.exp(-1))),
        ([0.0], 0, (1.0, 1.0, None)),
        ([NEVER], 0, (0.0, 0.0, None)),
    ],
)
def test_ties_and_zeros(
    logprobs: list[float | None], right: int, expected: tuple[float | None, ...]
) -> None:
    found = graded(logprobs, right)
    assert (found["accuracy"], found["accuracy_first_argmax"]) == expected[:2]
    assert found["delta"] == (None if expected[2] is None else pytest.approx(expected[2]))


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        # -2 / 2 = -1, -3 / 6 = -0.5 in characters; "éé" has 4 bytes: -2 / 4 = -0.5, the first.
        (["éé", "abcdef"], (0.0, 1.0)),
        (["a", "ab"], (0.0, 0.0)),  # -2, -1.5
        (["ab", "ab"], (1.0, 1.0)),  # -1, -1.5
        (["ab", "abc"], (1.0, 1.0)),  # -1, -1: the first
        (None, (None, None)),
    ],
)
def test_long_options_are_less_probable(
    choices: list[str] | None, expected: tuple[float | None, ...]
) -> None:
    found = graded([-2.0, -3.0], 0, choices=choices)
    assert (found["accuracy_per_character"], found["accuracy_per_byte"]) == expected
    assert found["accuracy"] == 1.0


def test_missing_and_impossible_options_are_the_same() -> None:
    known, missing = graded([-0.1, NEVER, -3.0], 0), graded([-0.1, None, -3.0], 0)
    assert known == missing
    assert None not in known.values()


def test_a_right_option_of_probability_nought() -> None:
    (found,) = outcomes(
        CONFIDENCE,
        samples([{"choice_logprobs": [-0.5, None], "correct_choice": 1, "choices": ["a", "b"]}]),
    )
    undefined = Outcome(
        None, "undefined", "the log-probabilities or the texts of the options do not allow it"
    )
    assert found.pop("negative_log_likelihood") == undefined
    assert found.pop("negative_log_likelihood_unnormalized") == undefined
    assert {name: outcome.value for name, outcome in found.items()} == {
        "accuracy": 0.0,
        "accuracy_first_argmax": 0.0,
        "accuracy_per_character": 0.0,
        "accuracy_per_byte": 0.0,
        "phi": 0.0,
        "delta": pytest.approx(-math.exp(-0.5)),
        "option_mass": pytest.approx(math.exp(-0.5)),
        "phi_normalized": 0.0,
        "delta_normalized": -1.0,
        "brier": 2.0,
        "brier_unnormalized": pytest.approx(1 + math.exp(-0.5) ** 2 + (1 - math.exp(-0.5)) ** 2),
    }


WORST = {
    "accuracy": 0.0,
    "accuracy_first_argmax": 0.0,
    "accuracy_per_character": 0.0,
    "accuracy_per_byte": 0.0,
    "phi": 0.0,
    "delta": -1.0,
    "option_mass": 0.0,
    "phi_normalized": 0.0,
    "delta_normalized": -1.0,
    "negative_log_likelihood": None,
    "brier": 2.0,
    "negative_log_likelihood_unnormalized": None,
    "brier_unnormalized": 2.0,
}


def test_nothing_given_is_the_worst_as_a_failure_is() -> None:
    given = {"choice_logprobs": [], "correct_choice": 0}
    rows = [given, given | {"error": "timeout"}, {"choice_logprobs": [-0.1], "error": "timeout"}]
    silent, failed, unknown = outcomes(CONFIDENCE, samples(rows))
    assert {name: outcome.value for name, outcome in silent.items()} == WORST
    assert {name: outcome.value for name, outcome in failed.items()} == WORST
    assert failed["phi"] == Outcome(0.0, "scored", "target_error")
    assert failed["negative_log_likelihood"].status == "target_error"
    assert set(unknown.values()) == {Outcome(None, "not_applicable", "no correct_choice")}


@pytest.mark.parametrize(
    "row",
    [
        {"choice_logprobs": [-1.0, -1.0], "correct_choice": 2},
        {"choice_logprobs": [-1.0, -1.0], "correct_choice": -1},
        {"choice_logprobs": [-1.0, -1.0], "correct_choice": 0, "choices": ["a", "b", "c"]},
        {"choice_logprobs": [-1.0, -1.0, -1.0], "correct_choice": 0, "choices": ["a", "b"]},
        {"choice_logprobs": [-1.0, 0.5], "correct_choice": 0},
    ],
)
def test_what_does_not_fit_is_undefined(row: dict[str, Any]) -> None:
    (found,) = outcomes(CONFIDENCE, samples([row]))
    assert {outcome.status for outcome in found.values()} == {"undefined"}


def test_rounding_is_no_fault_but_more_is() -> None:
    rounded = graded([0.0004, -9.0], 0)
    assert (rounded["phi"], rounded["option_mass"]) == (1.0, 1.0)
    assert graded(logs(0.5005, 0.5), 0)["option_mass"] == 1.0
    beyond = graded(logs(0.6, 0.6), 0)
    assert beyond["option_mass"] is None
    assert beyond["phi"] == pytest.approx(0.6)
    assert beyond["phi_normalized"] == pytest.approx(0.5)


def test_numbers_of_options_may_differ() -> None:
    rows = [
        {"choice_logprobs": logs(*([1 / n] * n)), "correct_choice": n - 1} for n in range(2, 12)
    ]
    found = outcomes(CONFIDENCE, samples(rows))
    assert [row["phi"].value for row in found] == pytest.approx([1 / n for n in range(2, 12)])


def test_golden_curves() -> None:
    case = GOLDEN["survival"]
    frame = samples(
        [
            {"system": category, "choice_logprobs": logprobs, "correct_choice": right}
            for category, questions in case["input"]["categories"].items()
            for logprobs, right in zip(questions, case["input"]["gold"][category], strict=True)
        ]
    )
    expected = case["expected"]
    for metric in ("phi", "delta"):
        table = frame.select(
            "system",
            value=pl.Series([row[metric].value for row in outcomes(CONFIDENCE, frame)]),
        )
        for position, x in enumerate(case["input"]["x"]):
            above = table.with_columns(pl.col("value") > x)
            by_category = above.group_by("system").agg(pl.col("value").mean())
            assert above["value"].mean() == pytest.approx(
                expected[f"{metric}_question_weighted"][position]
            )
            assert by_category["value"].mean() == pytest.approx(
                expected[f"{metric}_category_weighted"][position]
            )


def test_a_frame_without_rows() -> None:
    empty = pl.DataFrame(schema={name: SAMPLE_COLUMNS[name] for name in SAMPLE_COLUMNS})
    assert score(CONFIDENCE, empty).frame.height == 0
