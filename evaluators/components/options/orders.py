"""Order spread: how much the probability of the right option depends on the options' order."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from evaluators.metric import Metric
from evaluators.outcome import NotApplicable
from records.prediction import BOUNDED, ORDERS
from records.record import ROUNDING

if TYPE_CHECKING:
    from evaluators.outcome import Value

ORDER_SPREAD = Metric(
    name="order_spread",
    summary="Mean difference between the largest and the smallest phi of a question over "
    "the orders of its options.",
    best="low",
    threshold=None,
    level="system",
)


def read_option_orders(extra: pl.Series, right: pl.Series) -> pl.DataFrame:
    """Return what the fields `bounded_choices` and `choice_logprobs_by_order` say.

    Args:
        extra: JSON objects as text, or null.
        right: The position of the right option, or null.

    Returns:
        `bounded`: the letters whose probability is only bounded, or null. `order_spread`: the
        largest less the smallest probability of the right option over the orders, or null where
        there are not at least two orders that have it.
    """
    bounded: list[list[str] | None] = [None] * len(extra)
    spreads: list[float | None] = [None] * len(extra)
    # Most predictions have neither field: only the others are parsed.
    given = extra.str.contains_any([f'"{BOUNDED}"', f'"{ORDERS}"']).fill_null(value=False)
    for row in given.arg_true():
        fields = json.loads(extra[row])
        bounded[row] = _letters(fields.get(BOUNDED))
        spreads[row] = _spread(fields.get(ORDERS), right[row])
    return pl.DataFrame(
        {
            "bounded": pl.Series(bounded, dtype=pl.List(pl.String)),
            "order_spread": pl.Series(spreads, dtype=pl.Float64),
        }
    )


def mean_spread(rows: pl.DataFrame) -> Value:
    """Return a system's mean spread; answers without a probability have the worst, 1.

    Args:
        rows: With `confidence`, null in an answer without a probability, and `order_spread`.
    """
    known = rows.drop_nulls("confidence")["order_spread"].drop_nulls()
    if not len(known):
        return NotApplicable("no question was asked with its options in several orders")
    silent = rows["confidence"].null_count()
    return float((known.sum() + silent) / (len(known) + silent))


def _letters(value: Any) -> list[str] | None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return None
    return value or None


def _spread(orders: Any, right: int | None) -> float | None:
    if not isinstance(orders, list) or len(orders) < 2 or right is None:  # noqa: PLR2004 - a pair
        return None
    found = []
    for order in orders:
        if not isinstance(order, list) or not 0 <= right < len(order):
            return None
        value = order[right]
        if value is None:
            found.append(0.0)
        elif isinstance(value, int | float) and value <= ROUNDING:
            found.append(math.exp(min(value, 0.0)))
        else:
            return None
    return max(found) - min(found)
