"""The requests of systems that are sent whole questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from systems.client import GOLD_FIELDS, Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def request_of_question(question: Mapping[str, Any]) -> Request:
    """Return the request that sends a whole question."""
    key = {name: value for name, value in question.items() if name not in GOLD_FIELDS}
    return Request(sent=question, key=key)
