"""What the scorers of Inspect found: numbers, and the options of multiple-choice questions."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

GRADES: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What the grades of Inspect count in its metrics: correct, partial, incorrect, no answer."""

WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""What words count in its metrics, in any case."""


def scored_values(scores: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the values of all scores, also of those with several."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            yield from ((f"{name}.{member}", _number(each)) for member, each in value.items())
        else:
            yield name, _number(value)


def _number(value: object) -> object:
    """Return the number that a value counts in Inspect's metrics; null where it is not one."""
    if not isinstance(value, str):
        return value
    known = GRADES.get(value, WORDS.get(value.lower()))
    try:
        return float(value) if known is None else known
    except ValueError:
        return None


def option_names(options: int) -> list[str]:
    """Return what Inspect calls the options: A to Z, then 1, 2, ..."""
    alphabet = string.ascii_uppercase
    return [*alphabet[:options], *(str(number) for number in range(1, options - 25))]


def chosen_options(scores: dict[str, Any], options: int) -> str | None:
    """Return the options that a scorer found in the answer, as in `A` or `A, C`.

    That is the scorer `choice` or, without it, the first that found any.
    """
    names = set(option_names(options))
    for name in sorted(scores, key=lambda each: each.rpartition("/")[2] != "choice"):
        score = scores[name]
        answer = score.get("answer") if isinstance(score, dict) else None
        found = answer.replace(",", " ").split() if isinstance(answer, str) else []
        if found and names.issuperset(found):
            return ", ".join(found)
    return None


def correct_options(target: object, options: int) -> str | None:
    """Return the options that a target names, in order; null if it has others."""
    letters = option_names(options)
    texts = target if isinstance(target, list) else [target]
    found: set[str] = set()
    for text in texts:
        if not isinstance(text, str):
            return None
        for token in text.replace(",", " ").split():
            found.update([token] if token.isnumeric() else token)
    if not found or not found.issubset(letters):
        return None
    return ", ".join(each for each in letters if each in found)


def correct_position(target: object, choices: list[Any]) -> int | None:
    """Return the position of the correct choice: null if several are correct or none is known."""
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    if not isinstance(target, str) or not target:
        return None
    letters = option_names(len(choices))
    if target in letters:
        return letters.index(target)
    if target in choices:
        return choices.index(target)
    return letters.index(target.upper()) if target.upper() in letters else None
