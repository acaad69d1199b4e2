"""Writes the page of expectations: the results for each table, and the rows that break them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.fingerprints.report_files import EXPECTATIONS_FILE
from assets.project import REPORT_FILE
from assets.publishing.report.templates_env import render_page
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.store import Warehouse

MAX_ROWS = 20
"""The most failing rows that the page shows of an expectation."""

_RESULTS = """
SELECT "table", expectation, success, observed, unexpected_count, severity, run_id, validated_at
FROM validations
QUALIFY validated_at = max(validated_at) OVER (PARTITION BY "table")
ORDER BY "table", success, severity, expectation
"""

_FAILING_ROWS = f"""
SELECT run_id, "table", expectation, "row"::VARCHAR AS "row" FROM quarantine
QUALIFY row_number() OVER (PARTITION BY run_id, "table", expectation ORDER BY "row") <= {MAX_ROWS}
ORDER BY ALL
"""  # noqa: S608


def write_expectations_page(
    warehouse: Warehouse, folder: Path, *, has_report: bool = False
) -> Path:
    """Write the page with the last validation of each table, and return its path.

    Args:
        warehouse: The warehouse with the results.
        folder: The folder of the page; it is created if it is missing.
        has_report: Whether the report, to which the page links, is written next. A run that fails
            may be the first, without a report.
    """
    results = warehouse.fetch(_RESULTS)
    failing = warehouse.fetch(_FAILING_ROWS).partition_by(
        "run_id", "table", "expectation", as_dict=True
    )
    tables = []
    for (name,), rows in results.partition_by("table", as_dict=True, maintain_order=True).items():
        run_id = rows["run_id"][0]
        failed, held = rows.filter(rows["success"] == 0), rows.filter(rows["success"] == 1)
        tables.append(
            {
                "name": name,
                "run_id": run_id,
                "validated_at": rows["validated_at"][0],
                "failed": failed.to_dicts(),
                "held": held.to_dicts(),
                "failing_rows": [
                    (expectation, failing[run_id, name, expectation]["row"].to_list())
                    for expectation in failed["expectation"]
                    if (run_id, name, expectation) in failing
                ],
            }
        )
    page = render_page(
        "expectations.html.j2",
        has_report=has_report or (folder / REPORT_FILE).is_file(),
        n_expectations=results.height,
        n_failed=results.filter(results["success"] == 0).height,
        tables=tables,
    )
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / EXPECTATIONS_FILE
    # Steps in separate processes may write the page at the same time.
    with replace_file(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target
