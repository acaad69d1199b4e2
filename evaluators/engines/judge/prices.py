"""The prices of a judge: those of its settings, or else of LiteLLM's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calls.prices import Prices
from evaluators.engines.judge.errors import BadJudgeSettings

if TYPE_CHECKING:
    from evaluators.engines.judge.settings import JudgeSettings


def prices_of(settings: JudgeSettings) -> Prices:
    """Return the prices of the settings or of LiteLLM's table; 0 for a replay file.

    Raises:
        BadJudgeSettings: The settings give only one of two prices that go together.
    """
    if settings.recording is not None:
        return Prices(settings.name, 0.0, 0.0, own=True)
    given = (settings.usd_per_million_in, settings.usd_per_million_out)
    if given.count(None) == 1:
        raise BadJudgeSettings(
            "the judge's price: usd_per_million_in and usd_per_million_out go together"
        )
    cached = (settings.usd_per_million_cache_read, settings.usd_per_million_cache_write)
    if given.count(None) and cached.count(None) < len(cached):
        raise BadJudgeSettings(
            "the judge's price: usd_per_million_cache_read and usd_per_million_cache_write "
            "need usd_per_million_in and usd_per_million_out"
        )
    return Prices.of_model(settings.model, settings)


def require_price(settings: JudgeSettings, prices: Prices) -> None:
    """Check that a budget of a run or of a day comes with known prices.

    Raises:
        BadJudgeSettings: There is a budget but no price.
    """
    key = "judge.budget_usd" if settings.budget_usd is not None else "automation.daily_budget_usd"
    if (settings.budget_usd, settings.daily_budget_usd) != (None, None) and not prices.known:
        raise BadJudgeSettings(
            f"{key} cannot be enforced: no price is known for {settings.model!r}; set "
            "judge.usd_per_million_in and judge.usd_per_million_out (0 for a local model)"
        )
