"""Expectations, batches and verdicts as plain values, without Great Expectations."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Severity = Literal["error", "warn"]

MAX_ARGUMENT = 160
"""The most characters of an argument in the name of an expectation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An expectation about the rows of a batch.

    Attributes:
        kind: Its name in Great Expectations.
        kwargs: Its arguments.
        severity: Whether a failure blocks later stages (`error`) or is only reported (`warn`).
        meaning: A description; if empty, its kind and arguments describe it.
        condition: The SQL condition of a row that breaks it, if it has one. It defines the column
            that `kwargs` names.
        once: Whether the condition is evaluated once, into a temporary table. Great Expectations
            queries a batch several times, and a condition that reads other tables is slow.
    """

    kind: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"
    meaning: str = ""
    condition: str = ""
    once: bool = False

    @property
    def name(self) -> str:
        """Its name in results: its meaning, or its kind with its arguments."""
        if self.meaning:
            return self.meaning
        arguments = (f"{key}={_format_argument(value)}" for key, value in self.kwargs.items())
        return f"{self.kind}({', '.join(arguments)})"


def _format_argument(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_ARGUMENT else text[: MAX_ARGUMENT - 3] + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows and the expectations about them.

    Attributes:
        table: The name under which results are recorded, such as `predictions` or
            `scores/citation`.
        sql: The query of the rows, without parameters.
        key: The columns that identify a row.
        expectations: The expectations; their names are unique.
        prefix: The prefix of names in results; it is unique among the batches of a table.
        is_added: Whether users added the expectations: Great Expectations validates them always.
    """

    table: str
    sql: str
    key: tuple[str, ...]
    expectations: tuple[Expectation, ...]
    prefix: str = ""
    is_added: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one expectation: whether it holds, and the severity of a failure.

    `observed` is the observed value or error as text. `unexpected` is the number of rows that break
    it (None if it is not about single rows), and `rows` the first of them: their keys and the
    validated columns.
    """

    table: str
    expectation: str
    severity: Severity
    success: bool
    observed: str | None = None
    unexpected: int | None = None
    rows: tuple[Mapping[str, Any], ...] = ()

    @property
    def is_blocking(self) -> bool:
        """Whether the failure blocks later stages."""
        return not self.success and self.severity == "error"

    def __str__(self) -> str:
        """Return the verdict as one sentence."""
        if self.success:
            return f"{self.table}: {self.expectation}"
        observed = f": found {self.observed}" if self.observed is not None else ""
        count = f": {self.unexpected:,} rows break it" if self.unexpected else ""
        return f"{self.table}: expected: {self.expectation}{count or observed}"


def expect_no_rows(
    condition: str, meaning: str, severity: Severity = "error", *, once: bool = False
) -> Expectation:
    """Return the expectation that no row satisfies an SQL condition.

    The condition refers to the row as `broken`. It becomes a column that must be false in every
    row, so that one pass over the rows checks all conditions; one query each would read them twice.
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
