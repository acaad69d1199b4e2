"""Bounded probabilities and orders of options: the detail and the mean spread."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.library.mcqa.option_confidence import OptionConfidence
from evaluators.outcome import NotApplicable, TargetError
from evaluators.scoring import aggregate, score
from tests.support.samples import rows_to_fold, samples

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = OptionConfidence()


def row(*orders: Sequence[float], right: int = 0, **facts: Any) -> dict[str, Any]:
    """A question asked in these orders: the probabilities of its options in each."""
    logs = [[math.log(value) if value else None for value in order] for order in orders]
    extra = {"choice_logprobs_by_order": logs}
    return {
        "choice_logprobs": logs[0],
        "correct_choice": right,
        "extra": json.dumps(extra),
        **facts,
    }


def spread(rows: Sequence[dict[str, Any]]) -> object:
    return aggregate(CONFIDENCE, rows_to_fold(CONFIDENCE, samples(rows))).scores["order_spread"]


def test_the_mean_of_the_differences() -> None:
    # phi from 0.2 to 0.9, and from 0 to 0.25: the differences are 0.7 and 0.25.
    rows = [
        row((0.9, 0.1), (0.2, 0.7), (0.5, 0.5)),
        row((0.5, 0.25), (1.0, 0.0), right=1),
    ]
    assert spread(rows[:1]) == pytest.approx(0.7)
    assert spread(rows) == pytest.approx((0.7 + 0.25) / 2)


def test_an_order_that_changes_nothing() -> None:
    assert spread([row((0.6, 0.4), (0.6, 0.4))]) == 0.0


def test_without_orders_it_does_not_apply() -> None:
    plain = {"choice_logprobs": [-0.1, -3.0], "correct_choice": 0}
    for rows in ([plain], [row((0.6, 0.4))], [plain, {**plain, "error": "timeout"}]):
        assert isinstance(spread(rows), NotApplicable)


def test_only_questions_in_several_orders_have_a_part() -> None:
    plain = {"choice_logprobs": [-0.1, -3.0], "correct_choice": 0}
    assert spread([plain, row((0.6, 0.4), (0.2, 0.8))]) == pytest.approx(0.4)


def test_failing_is_the_worst() -> None:
    asked, failed = row((0.6, 0.4), (0.5, 0.5)), row((0.6, 0.4), (0.6, 0.4), error="timeout")
    assert spread([asked, failed]) == pytest.approx((0.1 + 1) / 2)
    no_probability = row((0.0, 0.0), (0.0, 0.0))
    assert spread([asked, no_probability]) == pytest.approx((0.1 + 1) / 2)
    assert isinstance(spread([failed]), TargetError)


@pytest.mark.parametrize(
    "orders",
    [None, 3, [[-1.0]], [[-1.0, -2.0], [-1.0]], [[-1.0, 0.5]] * 2, [[-1.0, "x"]] * 2, [3, 4]],
    ids=str,
)
def test_what_is_no_list_of_orders(orders: object) -> None:
    extra = json.dumps({"choice_logprobs_by_order": orders, "bounded_choices": "B"})
    found = {"choice_logprobs": [-0.1, -3.0], "correct_choice": 1, "extra": extra}
    assert isinstance(spread([found]), NotApplicable)
    (first, *_) = score(CONFIDENCE, samples([found])).long().rows(named=True)
    assert json.loads(first["detail"])["bounded"] is None


def test_the_detail_names_bounded_options() -> None:
    known = {"choice_logprobs": [-0.1, -3.0], "correct_choice": 1}
    frame = samples([{**known, "extra": '{"bounded_choices": ["B"]}'}, known])
    details = [
        json.loads(each["detail"])
        for each in score(CONFIDENCE, frame).long().rows(named=True)
        if each["metric"] == "phi"
    ]
    assert [detail["bounded"] for detail in details] == [["B"], None]


def test_other_numbers_do_not_depend_on_extra() -> None:
    plain = {"choice_logprobs": [-0.1, -3.0], "correct_choice": 0}
    given = {**plain, "extra": '{"bounded_choices": ["B"], "choice_logprobs_by_order": [[-1, -1]]}'}
    left, right = (score(CONFIDENCE, samples([each])).long()["value"] for each in (plain, given))
    assert left.to_list() == right.to_list()
