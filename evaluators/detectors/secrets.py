"""Secrets in a text: keys, tokens and certificates by the table of their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.detectors.finding import Finding
from evaluators.detectors.secret_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator


def secrets(text: str) -> Iterator[Finding]:
    """Find secrets; where two rules see the same piece of text, the first of the table counts."""
    taken: list[tuple[int, int]] = []
    for rule in RULES:
        if rule.hint not in text:
            continue
        for match in rule.pattern.finditer(text):
            start, end = match.span()
            free = all(end <= other or start >= other_end for other, other_end in taken)
            if free and rule.is_real(match.group()):
                taken.append((start, end))
                yield Finding(rule.kind, start, end, match.group(), note=rule.severity)
