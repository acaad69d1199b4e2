"""Budgets of systems: what counts against them, and when they cannot be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from systems.client import SystemRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.systems.scripted_system import Asked


def test_a_budget_with_known_prices_is_never_exceeded(asking: Callable[..., Asked]) -> None:
    asked = asking(
        reply=lambda question: {"answer": question, "cost_usd": 0.3}, most=0.3, seconds=0.01
    )
    found = asked.ask(20, concurrency=8, budget_usd=1.0)
    assert found.tally == {"asked": 3, "over_budget": 17}
    assert len(found.digests) == 3
    assert asked.ledger.spent_usd() == pytest.approx(0.9)


def test_a_budget_without_prices_rests_on_the_highest_cost(asking: Callable[..., Asked]) -> None:
    asked = asking(reply=lambda question: {"answer": question, "cost_usd": 0.3}, seconds=0.01)
    assert asked.ask(20, concurrency=8, budget_usd=1.0).tally == {"asked": 3, "over_budget": 17}


def test_a_budget_that_nothing_counts_against_is_refused(asking: Callable[..., Asked]) -> None:
    with pytest.raises(SystemRefused, match="its answers have no `cost_usd`"):
        asking().ask(budget_usd=1.0)


def test_a_budget_is_refused_also_where_answers_without_a_cost_are_held(
    asking: Callable[..., Asked],
) -> None:
    asked = asking()
    asked.ask(3)
    with pytest.raises(SystemRefused, match="its answers have no `cost_usd`"):
        asked.ask(budget_usd=1.0, concurrency=1)
    assert asked.system.asked.total() == 4
    assert asked.ask(3, budget_usd=1.0).tally == {"held": 3}


def test_an_unknown_cost_counts_as_the_highest_possible_one(asking: Callable[..., Asked]) -> None:
    def reply(question: str) -> dict[str, object]:
        return {"answer": question, **({"cost_usd": 0.1} if question == "q0" else {})}

    asked = asking(reply=reply, most=0.3)
    assert asked.ask(20, budget_usd=1.0).tally == {"asked": 4, "over_budget": 16}
    assert asked.ledger.spent_usd() == pytest.approx(0.1 + 3 * 0.3)


@pytest.mark.parametrize("billed", [False, True])
def test_a_refusal_counts_only_where_a_part_may_be_billed(
    asking: Callable[..., Asked], *, billed: bool
) -> None:
    def reply(_: str) -> str:
        refusal = SystemRefused("no credit")
        refusal.billed = billed
        raise refusal

    asked = asking(reply=reply, most=0.3)
    with pytest.raises(SystemRefused):
        asked.ask(budget_usd=1.0)
    assert asked.ledger.spent_usd() == (0.3 if billed else 0.0)
