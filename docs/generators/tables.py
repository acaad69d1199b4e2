"""Generate the page of all warehouse tables from their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.tables import GROUPS, SCHEMA_VERSION

if TYPE_CHECKING:
    from warehouse.schema.tables import Column, Table


def markdown() -> str:
    """Return the page."""
    lines = [
        "# Tables",
        "",
        (
            "The tables and views of the warehouse and of the published copy, schema version "
            f"{SCHEMA_VERSION}. Times are UTC; booleans are 1 and 0. `make docs` generates this "
            "page from `warehouse/schema/tables/`."
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
    lines += ["| column | type | null | meaning |", "| --- | --- | --- | --- |"]
    lines += [_line(column) for column in table.columns]
    return [*lines, ""]


def _line(column: Column) -> str:
    nullable = "yes" if column.nullable else "no"
    description = column.description.replace("|", "\\|")
    return f"| `{column.name}` | `{column.type}` | {nullable} | {description} |"
