"""Numbers, times and names as the report shows them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from warehouse.foreign_text import show_hidden_isolated

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

NO_VALUE = "\u2013"

GATE_STATES = ("failed", "not decided", "passed")


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed count of decimals."""
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def format_percent(value: float | None) -> str:
    """Return a share as a percentage."""
    return NO_VALUE if value is None else f"{100 * value:.1f} %"


def format_money(value: float | None) -> str:
    """Return US dollars with at least two digits that count: `$0.00057`, `$1.40`."""
    if value is None:
        return NO_VALUE
    digits = 2 if value >= 0.1 or value <= 0 else min(12, 1 - math.floor(math.log10(value)))  # noqa: PLR2004
    return f"${value:.{digits}f}"


def format_count(value: int | None) -> str:
    """Return an integer with thousands separators."""
    return NO_VALUE if value is None else f"{value:,}"


def format_plural(n: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def format_time(time: datetime | None) -> str:
    """Return a time to the minute."""
    return NO_VALUE if time is None else f"{time:%Y-%m-%d %H:%M}"


def format_words(name: str) -> str:
    """Return a name in snake case as words."""
    return name.replace("_", " ")


def format_breakable(text: str) -> Markup:
    """Escape a text, and let lines break after the dots and underscores of its names."""
    shown = show_hidden_isolated(text)
    return Markup("<wbr>").join(re.split(r"(?<=\w[._])(?=[^\W\d])", shown))


def gate_state(row: Mapping[str, Any]) -> str:
    """Return whether a gate passed; a regression gate may lack the data to decide.

    Args:
        row: A row of the table `gates`.
    """
    failed, not_decided, passed = GATE_STATES
    if row["passed"] == 0:
        return failed
    return not_decided if row["verdict"] == "not_enough_data" else passed


def isolate(name: str) -> str:
    """Return a name that cannot change the text direction of the sentence around it."""
    return f"\u2068{name}\u2069"
