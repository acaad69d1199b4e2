"""Strengths of systems from the details of their samples."""

from __future__ import annotations

import json
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.outcome import TargetError, Undefined
from evaluators.scoring import PairedSystems, aggregate, aggregate_systems, unpack_evidence
from evaluators.statistics.pairwise.existence import LOST_ALL, WON_ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.kinds.pairwise import PairwiseEvaluator

JUDGE: PairwiseEvaluator = build("pairwise_judge")  # type: ignore[assignment]


def met(opponent: str, outcome: float, *votes: int) -> dict[str, Any]:
    shown_first, shown_second = votes or (None, None)
    return {
        "opponent": opponent,
        "outcome": outcome,
        "shown_first": shown_first,
        "shown_second": shown_second,
        "reasoning": ["r", "r"],
    }


def rows(
    system: str,
    by_question: Sequence[list[dict[str, Any]] | None],
    *,
    failed: bool = False,
    status: str = "scored",
) -> pl.DataFrame:
    """The unpacked samples of one system, one for each question; None: it has no detail."""
    details = [None if each is None else json.dumps({"comparisons": each}) for each in by_question]
    frame = pl.DataFrame(
        {
            "question": range(len(by_question)),
            "system": system,
            "win_rate": 0.5,
            "order_bias": 0.5,
            "status": status,
            "failed": failed,
            "detail": details,
        },
        schema_overrides={"question": pl.UInt64, "detail": pl.String},
    )
    return unpack_evidence(JUDGE, frame)


def compared(*systems: pl.DataFrame) -> PairedSystems:
    return aggregate_systems(JUDGE, {frame["system"][0]: frame for frame in systems})


def test_both_samples_of_a_comparison_count_once() -> None:
    one = rows("a", [[met("b", 1.0, 1, -1)]] * 3 + [[met("b", 0.0, -1, 1)]])
    other = rows("b", [[met("a", 0.0, -1, 1)]] * 3 + [[met("a", 1.0, 1, -1)]])
    for found in (compared(one, other), compared(one, rows("b", [None] * 4))):
        assert len(found.paired.questions) == 4
        score = found.graded["a"].scores["strength"]
        assert score == pytest.approx(log(3) / 2)
        assert found.graded["b"].scores["strength"] == pytest.approx(-log(3) / 2)


def test_orders_swap_their_roles_for_the_other_system() -> None:
    one = rows("a", [None, [met("b", 0.5, 1, 0)]])
    other = rows("b", [[met("a", 0.5, 1, 0)], None])
    found = compared(one, other).paired
    assert found.systems == ["a", "b"]
    # In b's sample its own answer won where it was shown first: a's was shown second then.
    assert found.votes.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_lost_sample_leaves_its_comparisons_to_the_opponents() -> None:
    lost = rows("a", [[met("b", 1.0, 1, -1)]], status="judge_error")
    other = rows("b", [[met("a", 1.0, 1, -1)]])
    found = compared(lost, other)
    assert found.paired.compared.outcomes.tolist() == [0.0]
    assert isinstance(found.graded["a"].scores["strength"], Undefined)


def test_a_comparison_counts_where_both_samples_lost_others() -> None:
    lost = rows("a", [[met("b", 1.0, 1, -1)]], status="judge_error")
    found = compared(lost, rows("b", [[met("a", 0.0, -1, 1)]], status="judge_error"))
    assert found.paired.compared.outcomes.tolist() == [1.0]
    nothing = [rows(name, [None], status="judge_error") for name in ("a", "b")]
    assert not len(compared(*nothing).paired.questions)


def test_a_system_without_any_answer_has_no_strength_and_harms_no_other() -> None:
    one = rows("a", [[met("b", 1.0, 1, -1), met("c", 1.0)], [met("b", 0.0, -1, 1), met("c", 1.0)]])
    silent = rows("c", [[met("a", 0.0), met("b", 0.0)]] * 2, failed=True)
    found = compared(one, rows("b", [None, None]), silent)
    assert found.graded["a"].scores["strength"] == pytest.approx(0.0)
    assert found.graded["b"].scores["strength"] == pytest.approx(0.0)
    assert isinstance(found.graded["c"].scores["strength"], TargetError)


def test_failing_costs_strength() -> None:
    """The same verdicts; in the second case one answer of `a` failed instead."""
    wins = [[met("b", 1.0, 1, -1)], [met("b", 1.0, 1, -1)], [met("b", 0.0, -1, 1)]]
    failed = [*wins[:1], [met("b", 0.0)], *wins[2:]]
    before, after = (
        compared(rows("a", each), rows("b", [None] * 3)).graded["a"].scores["strength"]
        for each in (wins, failed)
    )
    assert (before, after) == (pytest.approx(log(2) / 2), pytest.approx(-log(2) / 2))


def test_one_sided_results_have_reasons() -> None:
    found = compared(rows("a", [[met("b", 1.0, 1, -1)]] * 5), rows("b", [None] * 5))
    reasons = [found.graded[name].scores["strength"] for name in ("a", "b")]
    assert [str(each) for each in reasons] == [WON_ALL, LOST_ALL]


def test_one_system_alone_gives_no_strength() -> None:
    frame = rows("a", [[met("b", 1.0, 1, -1)]])
    packed = frame.drop("comparisons").with_columns(detail=pl.lit(None, pl.String))
    assert isinstance(aggregate(JUDGE, packed).scores["strength"], Undefined)


def test_ties_are_part_of_the_evidence() -> None:
    outcomes = [1.0] * 4 + [0.0] * 2 + [0.5] * 3
    found = compared(rows("a", [[met("b", each)] for each in outcomes]), rows("b", [None] * 9))
    detail = found.graded["a"].detail
    assert detail is not None
    assert detail["log_ties"] == pytest.approx(log(3 / 8**0.5))


def test_unused_parts_widen_the_spread() -> None:
    generator = np.random.default_rng(1)
    outcomes = generator.integers(0, 2, 400).astype(float)
    paired = compared(rows("a", [[met("b", each)] for each in outcomes]), rows("b", [None] * 400))
    every = np.arange(400)
    whole = paired.paired.pseudo_values(paired.found, every, 400)
    half = paired.paired.pseudo_values(paired.found, np.where(every < 200, every, -1), 200)
    errors = [np.std(each[:, 0], ddof=1) / len(each) ** 0.5 for each in (whole, half)]
    assert errors[1] == pytest.approx(errors[0], rel=0.1)
