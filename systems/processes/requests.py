"""The requests of systems that are sent whole questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from systems.client import GOLD_FIELDS, Request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LATER_FIELDS: Final = ("messages", "tools", "user_messages")
"""Fields that earlier versions kept in `extra`."""


def request_of_question(question: Mapping[str, Any]) -> Request:
    """Return the request that sends a whole question.

    Its key is that of earlier versions, so that nothing is asked again.
    """
    key = {name: value for name, value in question.items() if name not in GOLD_FIELDS}
    later = {name: key.pop(name) for name in LATER_FIELDS if name in key}
    if later:
        key["extra"] = {**key.get("extra", {}), **later}
    return Request(sent=question, key=key)
