"""The page of expectations: what was expected of each table, and which rows broke it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from warehouse.store import Warehouse

FILE_NAME = "expectations.html"
ROWS = 20
"""The rows that are shown of those that break an expectation."""

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1c1e21; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dce1;
  vertical-align: top; overflow-wrap: anywhere; }
.error { color: #a40000; font-weight: 600; } .warn { color: #7a4f00; font-weight: 600; }
.holds { color: #1b6e2c; } code { white-space: pre-wrap; }
@media (prefers-color-scheme: dark) { body { color: #e6e8eb; background: #15181c; }
  th, td { border-color: #3a4048; } .error { color: #ff8f8f; } .warn { color: #f0c36d; }
  .holds { color: #7fd391; } }
"""


def write_expectations_page(warehouse: Warehouse, folder: Path) -> Path:
    """Write the page, in place of the one that is there.

    Of each table it shows the run that looked at it last.

    Args:
        warehouse: Where the results are.
        folder: The folder, made if it is not there.

    Returns:
        The page.
    """
    results = warehouse.fetch(
        """
        SELECT "table", expectation, success, observed, unexpected_count, severity, run_id,
            validated_at
        FROM validations
        QUALIFY validated_at = max(validated_at) OVER (PARTITION BY "table")
        ORDER BY "table", success, severity, expectation
        """
    )
    broken = warehouse.fetch(
        f"""
        SELECT run_id, "table", expectation, "row"::VARCHAR AS "row" FROM quarantine
        QUALIFY row_number() OVER (PARTITION BY run_id, "table", expectation ORDER BY "row") <= {ROWS}
        ORDER BY ALL
        """  # noqa: S608, E501
    )
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / FILE_NAME
    # Steps that have processes of their own may find something to say at the same time.
    with replace_file(target) as beside:
        beside.write_text("".join(_page(results, broken)), encoding="utf-8")
    return target


def _page(results: pl.DataFrame, broken: pl.DataFrame) -> Iterable[str]:
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Expectations</title><style>{_STYLE}</style></head><body><h1>Expectations</h1>\n"
    )
    failed = results.filter(results["success"] == 0)
    yield (
        f"<p>{results.height:,} expectations, {failed.height:,} of which do not hold. Of each "
        "table, the run that looked at it last.</p>\n"
    )
    for (table,), own in results.partition_by("table", as_dict=True, maintain_order=True).items():
        when = escape(str(own["validated_at"].max()))[:19]
        yield f"<h2>{escape(str(table))}</h2>\n<p>{when} UTC, run {_code(own)}</p>\n"
        yield _table(
            ("expected", "outcome", "found"),
            (
                (escape(row["expectation"]), _outcome(row), _found(row))
                for row in own.iter_rows(named=True)
            ),
        )
        yield from _rows(own, broken)
    yield "</body></html>\n"


def _code(own: pl.DataFrame) -> str:
    return f"<code>{escape(str(own['run_id'][0]))}</code>"


def _outcome(row: dict[str, object]) -> str:
    if row["success"]:
        return '<span class="holds">holds</span>'
    severity = escape(str(row["severity"]))
    return f'<span class="{severity}">{severity}</span>'


def _found(row: dict[str, object]) -> str:
    if row["observed"] is not None:
        return escape(str(row["observed"]))
    count = row["unexpected_count"]
    return "" if not count else f"{count:,} rows break it"


def _rows(own: pl.DataFrame, broken: pl.DataFrame) -> Iterable[str]:
    for row in own.filter(own["success"] == 0).iter_rows(named=True):
        same = broken.filter(
            (broken["run_id"] == row["run_id"])
            & (broken["table"] == row["table"])
            & (broken["expectation"] == row["expectation"])
        )
        if same.height:
            yield f"<h3>Rows that break: {escape(row['expectation'])}</h3>\n"
            yield _table(("row",), ((f"<code>{escape(text)}</code>",) for text in same["row"]))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are HTML already."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n"
