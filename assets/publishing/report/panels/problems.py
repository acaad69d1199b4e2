"""The problems found in the scores, the most severe first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

PROBLEMS = """
SELECT severity, kind, system, evaluator, metric, question_id, value, threshold, message,
    count(*) OVER () AS n_problems
FROM problems
WHERE benchmark = $benchmark
ORDER BY list_position(['high', 'medium', 'low'], severity), kind, system, evaluator, metric,
    question_id
LIMIT 500
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
