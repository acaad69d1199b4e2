"""The ledger and the tables that are filled from it have the same columns."""

from __future__ import annotations

from calls.ledger.columns import ASK_COLUMNS, JUDGMENT_TYPES
from warehouse.schema.tables import table_named


def test_judgments_have_the_same_columns_and_types() -> None:
    columns = table_named("judgments").columns
    assert [(each.name, each.type) for each in columns] == list(JUDGMENT_TYPES.items())


def test_asks_have_the_same_columns() -> None:
    assert table_named("asks").column_names == ASK_COLUMNS
