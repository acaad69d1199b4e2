"""The problems found in the scores, the most severe first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

PROBLEMS = """
SELECT benchmark, severity, kind, system, evaluator, metric, question_id, value, threshold,
    message, count(*) OVER (PARTITION BY benchmark) AS n_problems
FROM problems
WHERE benchmark IN ({benchmarks})
QUALIFY row_number() OVER (
    PARTITION BY benchmark
    ORDER BY list_position(['high', 'medium', 'low'], severity), kind, system, evaluator, metric,
        question_id
) <= 500
ORDER BY list_position(['high', 'medium', 'low'], severity), kind, system, evaluator, metric,
    question_id
"""


def build(_: BenchmarkData, problems: pl.DataFrame) -> Content | None:
    """Return the problems, for the scripts of the page."""
    if problems.is_empty():
        return None
    return Content(
        values={"n_shown": problems.height, "n_problems": problems["n_problems"][0]},
        page_data={"problems": problems.drop("n_problems").to_dicts()},
    )


PANEL = Panel(title="Problems", position=90, build=build, queries={"problems": PROBLEMS})
