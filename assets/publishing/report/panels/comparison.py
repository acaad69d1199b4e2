"""The comparison of two systems: the test result, and the questions on which they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

COMPARISONS = """
SELECT c.benchmark, c.evaluator, c.metric, c.system_a, c.system_b, c.n_pairs, c.difference,
    c.ci_low, c.ci_high, c.p_page, c.detectable_difference,
    CASE WHEN c.p_page < 0.05 OR c.verdict = 'not_enough_data' THEN c.verdict ELSE 'tied' END
        AS verdict
FROM comparisons AS c
INNER JOIN metrics AS m USING (evaluator, metric)
WHERE c.benchmark IN ({benchmarks}) AND c.slice = 'all' AND m.is_primary = 1
QUALIFY row_number() OVER (
    PARTITION BY c.benchmark ORDER BY c.evaluator, c.metric, c.system_a, c.system_b
) <= 20000
ORDER BY c.evaluator, c.metric, c.system_a, c.system_b
"""

VALUES = (
    *("n_pairs", "difference", "ci_low", "ci_high", "p_page", "verdict"),
    "detectable_difference",
)


def build(data: BenchmarkData, comparisons: pl.DataFrame) -> Content | None:
    """Return the test results of all pairs of systems, for the scripts of the page."""
    if len(data.systems) == 1:
        return None
    systems = {system: at for at, system in enumerate(data.systems)}
    rows = [
        [
            data.metric_index[row["evaluator"], row["metric"]],
            *(systems[row["system_a"]], systems[row["system_b"]]),
            *(row[column] for column in VALUES),
        ]
        for row in comparisons.iter_rows(named=True)
        if (row["evaluator"], row["metric"]) in data.metric_index
        and row["system_a"] in systems
        and row["system_b"] in systems
    ]
    return Content(page_data={"comparisons": rows})


PANEL = Panel(title="Comparison", position=80, build=build, queries={"comparisons": COMPARISONS})
