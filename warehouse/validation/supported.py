"""The kinds of expectations that users can configure, by their names in Great Expectations.

They are those that DuckDB runs in SQL; a test checks their arguments against the library.
Users write all other expectations in SQL, with `unexpected_rows_expectation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BETWEEN = ("min_value", "max_value", "strict_min", "strict_max")
CONDITION = ("row_condition", "condition_parser")


@dataclass(frozen=True, slots=True)
class Kind:
    """The arguments of a kind of expectation; `columns` are those that name columns."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments."""
        return (*self.required, *self.optional)


def _about_values(*required: str, optional: tuple[str, ...] = ()) -> Kind:
    """Return a kind about each value of a column."""
    return Kind(("column", *required), (*optional, "mostly", *CONDITION), ("column",))


def _about_column(*required: str, optional: tuple[str, ...] = ()) -> Kind:
    """Return a kind about a column as a whole."""
    return Kind(("column", *required), (*optional, *CONDITION), ("column",))


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "expect_column_values_to_not_be_null": _about_values(),
        "expect_column_values_to_be_null": _about_values(),
        "expect_column_values_to_be_between": _about_values(optional=BETWEEN),
        "expect_column_values_to_be_in_set": _about_values("value_set"),
        "expect_column_values_to_not_be_in_set": _about_values("value_set"),
        "expect_column_values_to_be_unique": _about_values(),
        "expect_column_value_lengths_to_be_between": _about_values(optional=BETWEEN),
        "expect_column_distinct_values_to_be_in_set": _about_column("value_set"),
        "expect_column_max_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_mean_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_median_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_min_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_stdev_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_sum_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_unique_value_count_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_proportion_of_unique_values_to_be_between": _about_column(optional=BETWEEN),
        "expect_column_proportion_of_non_null_values_to_be_between": _about_column(
            optional=BETWEEN
        ),
        "expect_column_pair_values_a_to_be_greater_than_b": Kind(
            ("column_A", "column_B"),
            ("or_equal", "ignore_row_if", "mostly", *CONDITION),
            ("column_A", "column_B"),
        ),
        "expect_column_pair_values_to_be_equal": Kind(
            ("column_A", "column_B"),
            ("ignore_row_if", "mostly", *CONDITION),
            ("column_A", "column_B"),
        ),
        "expect_compound_columns_to_be_unique": Kind(
            ("column_list",), ("ignore_row_if", "mostly", *CONDITION), ("column_list",)
        ),
        "expect_table_row_count_to_be_between": Kind((), BETWEEN),
        "expect_table_row_count_to_equal": Kind(("value",)),
        "unexpected_rows_expectation": Kind(("unexpected_rows_query",)),
    }
)
