"""The page of all tables of the warehouse, from their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.tables import GROUPS, SCHEMA_VERSION

if TYPE_CHECKING:
    from warehouse.schema.tables import Column, Table


def markdown() -> str:
    """The documentation page of all tables."""
    lines = [
        "# The tables of the warehouse",
        "",
        (
            "Written by `make docs` from the descriptions in `warehouse/schema/tables/`; "
            f"schema version {SCHEMA_VERSION}. The published copy holds the same tables. "
            "Times are UTC; booleans are 1 and 0."
        ),
        "",
    ]
    for group in GROUPS:
        lines += [f"## {group.title}", "", group.summary, ""]
        for table in group.tables:
            lines += _section(table)
    return "\n".join(lines).rstrip() + "\n"


def _section(table: Table) -> list[str]:
    lines = [f"### `{table.name}`" + (" (a view)" if table.view_of is not None else ""), ""]
    lines += [table.one_row, ""]
    if table.notes:
        lines += [table.notes, ""]
    lines += ["Key: " + ", ".join(f"`{name}`" for name in table.key), ""]
    lines += ["| column | type | null | what it holds |", "| --- | --- | --- | --- |"]
    lines += [_line(column) for column in table.columns]
    return [*lines, ""]


def _line(column: Column) -> str:
    nullable = "yes" if column.nullable else "no"
    description = column.description.replace("|", "\\|")
    return f"| `{column.name}` | `{column.type}` | {nullable} | {description} |"
