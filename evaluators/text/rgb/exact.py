"""The exact rules of the benchmark's evaluation script.

Source: Chen, Lin, Han and Sun, "Benchmarking Large Language Models in Retrieval-Augmented
Generation", AAAI 2024, and the behaviour of its published script (commit 65ec39e). Phrases are
case-sensitive, as in the script. Unlike the script, composed and decomposed letters (NFC, NFD) are
equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Sequence

Language: TypeAlias = Literal["en", "zh"]

_REFUSALS = ("insufficient information", "信息不足")
_DETECTIONS = ("factual errors", "事实性错误")


def remove_spaces(answer: str, language: Language) -> str:
    """Remove all spaces from a Chinese answer, as the script does."""
    return answer.replace(" ", "") if language == "zh" else answer


def is_refusal(answer: str) -> bool:
    """Return whether the answer says that the information is insufficient."""
    return any(phrase in answer for phrase in _REFUSALS)


def reports_errors(answer: str) -> bool:
    """Return whether the answer mentions factual errors."""
    return any(phrase in answer for phrase in _DETECTIONS)


def found_parts(answer: str, parts: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each expected part whether one of its spellings is in the answer."""
    text = compose(answer.lower())
    return [any(compose(spelling.lower()) in text for spelling in spellings) for spellings in parts]


def is_correct(answer: str, parts: Sequence[Sequence[str]]) -> bool:
    """Return whether the answer contains every part and is not a refusal; false without parts."""
    return bool(parts) and not is_refusal(answer) and all(found_parts(answer, parts))
