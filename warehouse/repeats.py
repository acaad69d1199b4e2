"""Records that stand several times in the files: a fault, or fine where all say the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warehouse.formats.format import Source


def where(source: Source, line: int | None) -> str:
    """Where a record stands, such as `in questions.jsonl:7`."""
    return f"in {source.path}" if line is None else f"in {source.path}:{line}"


class Repeats:
    """Remembers where each record stood first and, where it may repeat, what it said there.

    What was said is kept as a digest of each field, so that millions of records fit.
    """

    def __init__(self, *, may_repeat: bool) -> None:
        self._may_repeat = may_repeat
        self._place: dict[str, str] = {}
        self._said: dict[str, dict[str, int]] = {}

    def met(self, what: str, place: str, row: Mapping[str, Any]) -> tuple[bool, str | None]:
        """Whether a record is met for the first time, and if not, what is wrong with that.

        Args:
            what: The record, such as `question 'q1'`.
            place: Where it stands.
            row: Its fields.

        Returns:
            Whether it is new, and why it is refused (null: it is new, or says the same again).
        """
        first = self._place.setdefault(what, place)
        is_new = first is place
        if not self._may_repeat:
            return is_new, None if is_new else f"{what} stands twice, first {first}"
        said = {field: hash(json.dumps(value, sort_keys=True)) for field, value in row.items()}
        before = self._said.setdefault(what, said)
        differing = sorted(f for f in said | before if said.get(f) != before.get(f))
        if not differing:
            return is_new, None
        return False, f"{what} differs from the one {first} in {', '.join(differing)}"
