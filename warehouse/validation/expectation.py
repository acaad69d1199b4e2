"""Expectations as plain values: nothing here needs Great Expectations to be loaded."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Severity = Literal["error", "warn"]

SHOWN = 160
"""The characters of an argument that the name of an expectation shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One thing that is expected of the rows of a batch.

    Attributes:
        kind: The name by which Great Expectations knows it.
        kwargs: Its arguments.
        severity: Whether a failure stops what follows (`error`) or is only told (`warn`).
        meaning: It in words; empty: its name and arguments say it.
        condition: The SQL condition of a row that breaks it, where it is about such; the column
            that `kwargs` names is made of it.
        once: Whether the rows that satisfy the condition are found beforehand: Great Expectations
            looks at a batch several times, and a condition about other tables is slow.
    """

    kind: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"
    meaning: str = ""
    condition: str = ""
    once: bool = False

    @property
    def name(self) -> str:
        """How results name it: its meaning, or its kind with its arguments."""
        if self.meaning:
            return self.meaning
        given = (f"{key}={_shown(value)}" for key, value in self.kwargs.items())
        return f"{self.kind}({', '.join(given)})"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows, and what is expected of them.

    Attributes:
        table: The name under which results are kept, such as `predictions` or `scores/citation`.
        sql: The query of the rows, with all its values written out.
        key: The columns that tell one row from another.
        expectations: What is expected; no two have the same name.
        prefix: What tells the results from those of other batches of the table.
    """

    table: str
    sql: str
    key: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one expectation.

    Attributes:
        table: The table.
        expectation: What was expected.
        severity: How bad a failure is.
        success: Whether it holds.
        observed: What was found, in words; None when there is nothing more to say.
        unexpected: The rows that break it; None where it is not about single rows.
        rows: The first of these rows: their keys and what was looked at.
    """

    table: str
    expectation: str
    severity: Severity
    success: bool
    observed: str | None = None
    unexpected: int | None = None
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether what follows must not be made."""
        return not self.success and self.severity == "error"

    def __str__(self) -> str:
        """It in one sentence."""
        if self.success:
            return f"{self.table}: {self.expectation}"
        found = f": found {self.observed}" if self.observed is not None else ""
        count = f": {self.unexpected:,} rows break it" if self.unexpected else ""
        return f"{self.table}: expected: {self.expectation}{count or found}"


def broken_by(
    condition: str, meaning: str, severity: Severity = "error", *, once: bool = False
) -> Expectation:
    """The expectation that no row satisfies an SQL condition; the row is called `broken` in it.

    The condition becomes a column that is false in every row. So many of them are held in one
    pass over the rows, where a query for each would read them twice.
    """
    column = f"breaks_{hashlib.blake2b(condition.encode(), digest_size=6).hexdigest()}"
    return Expectation(
        kind="expect_column_values_to_be_in_set",
        kwargs={"column": column, "value_set": [False]},
        severity=severity,
        meaning=meaning,
        condition=condition,
        once=once,
    )
