"""Budgets for 24 hours: judges have one together, and each system that is asked has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calls.ledger import budget
from warehouse.ledger.open import open_ledger

if TYPE_CHECKING:
    import pytest

    from warehouse.store import Warehouse


def spend(warehouse: Warehouse, spender: str, usd: float) -> None:
    with open_ledger(warehouse, "run", spender) as ledger:
        ledger.settle(None, usd)


def spent(warehouse: Warehouse, spender: str) -> float:
    with open_ledger(warehouse, "plan", spender) as ledger:
        return ledger.spent_last_day_usd()


def may_spend(warehouse: Warehouse, spender: str, usd: float, day_usd: float) -> bool:
    with open_ledger(warehouse, "run", spender) as ledger:
        amounts = {"least": usd, "enough": usd, "most": usd}
        return not isinstance(
            ledger.reserve(run_usd=None, day_usd=day_usd, **amounts).result(), bool
        )


def test_runs_share_the_day_of_a_system_and_of_no_other(warehouse: Warehouse) -> None:
    spend(warehouse, "one/my_rag", 0.5)
    spend(warehouse, "two/my_rag", 0.25)
    # Names that a pattern with `_`, letters of any case or an end in common would find, too.
    for other in ("one/my-rag", "one/MY_RAG", "one/rag", "one/x.my_rag", "one"):
        spend(warehouse, other, 8.0)
    # The name of a language model contains the address, whose path may end like a name.
    spend(warehouse, "one/litellm:openai/tiny@http://host/my_rag", 4.0)
    assert spent(warehouse, "three/my_rag") == 0.75
    assert spent(warehouse, "three/litellm:openai/tiny@http://host/my_rag") == 4.0
    assert spent(warehouse, "three/rag") == 8.0
    assert spent(warehouse, "three/ag") == 0.0
    assert spent(warehouse, "three") == 8.0


def test_what_is_set_aside_counts(warehouse: Warehouse) -> None:
    amounts = {"least": 0.5, "enough": 0.5, "most": 0.5}
    with open_ledger(warehouse, "one", "one/rag") as ledger:
        assert not isinstance(ledger.reserve(run_usd=None, day_usd=1.0, **amounts).result(), bool)
        assert may_spend(warehouse, "two/rag", 0.5, day_usd=1.0)
        assert not may_spend(warehouse, "two/rag", 0.6, day_usd=1.0)
        assert may_spend(warehouse, "two/other", 0.9, day_usd=1.0)
        assert may_spend(warehouse, "two", 0.9, day_usd=1.0)


def test_a_day_that_is_spent_allows_no_more(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(warehouse, "one/rag", 0.75)
    assert may_spend(warehouse, "two/rag", 0.25, day_usd=1.0)
    spend(warehouse, "two/rag", 0.25)
    assert not may_spend(warehouse, "three/rag", 0.25, day_usd=1.0)
    monkeypatch.setattr(budget, "DAY_S", -3600.0)  # only hours to come are less than a day ago
    assert may_spend(warehouse, "three/rag", 0.25, day_usd=1.0)
