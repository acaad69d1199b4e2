"""The colours of the charts, chosen to be told apart on light and on dark ground."""

from __future__ import annotations

PALETTE = (
    *("#3a7fd5", "#e8590c", "#2f9e44", "#ae3ec9", "#e03131", "#1098ad", "#b8860b", "#868e96"),
    *("#d6336c", "#7950f2", "#66a80f", "#a0522d", "#0ca678", "#f06595", "#4c6ef5", "#8d7b2b"),
    *("#9775fa", "#5f9ea0", "#c2255c", "#f59f00"),
)
"""One for each system, in the order of their names."""

STACK = ("#2f9e44", "#f59f00", "#e03131", "#868e96")
"""Passes, failures of retrieval, failures of generation, and what could not be understood."""

BOUNDARY = "#868e96"
"""Lines that belong to no system."""


def palette(n: int) -> list[str]:
    """Colours for so many systems; they repeat when there are more than there are colours."""
    return [PALETTE[at % len(PALETTE)] for at in range(n)]
