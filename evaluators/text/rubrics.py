"""Rubrics: how the answers to a question have to be graded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LEVELS = ("1", "2", "3", "4", "5")
"""The levels of the scale, the worst first."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """The rubric of a question.

    Attributes:
        description: What matters in the answer; None if not given.
        scale: The description of each level; some may be missing.
    """

    description: str | None
    scale: dict[str, str]


def read_rubric(text: str | None) -> Rubric | str:
    """Parse a rubric from the JSON text of a question.

    Returns:
        The rubric, or what is wrong with it.
    """
    try:
        given: Any = json.loads(text or "")
    except json.JSONDecodeError as error:
        return f"the rubric is not valid JSON: {error}"
    if not isinstance(given, dict):
        return "the rubric is not a JSON object"
    description = given.get("description")
    scale = given.get("scale") or {}
    if not isinstance(description, str | None) or not isinstance(scale, dict):
        return "the rubric's description is not a text, or its scale not an object"
    kept = {
        level: words for level, words in scale.items() if isinstance(words, str) and words.strip()
    }
    other = sorted(set(scale) - set(LEVELS))
    if other:
        return f"the rubric's scale has the levels {', '.join(other)} beside 1 to 5"
    if not kept and not (description or "").strip():
        return "the rubric says nothing"
    return Rubric(description, {level: kept[level] for level in LEVELS if level in kept})
