"""The curves of how sure systems are of the right option, as step functions."""

from __future__ import annotations

from warehouse.tables.table import BENCHMARK, SIGNATURE, SYSTEM, Table, required

OPTION_CONFIDENCE_CURVES = Table(
    name="option_confidence_curves",
    one_row="One row is a step of a curve: the share of a system's multiple-choice questions whose "
    "phi (or delta) lies above a value that at least one of them has.",
    key=("benchmark", "system", "signature", "metric", "threshold"),
    notes="The curve is exact and has a step for each different value, without bins: from one "
    "`threshold` up to the next the share stays that of the lower one; below the smallest it is "
    "1. The share of deltas above 0 is the accuracy. Questions without a number do not "
    "count; a failed answer counts with the worst value.",
    columns=(
        BENCHMARK,
        SYSTEM,
        SIGNATURE,
        required("metric", "VARCHAR", "`phi` or `delta`, of the evaluator `option_confidence`."),
        required("threshold", "DOUBLE", "The value x that some question of the system has."),
        required("share_above", "DOUBLE", "The share of questions above x: `n_above / n_scored`."),
        required("n_above", "BIGINT", "The questions above x; those equal to x are not."),
        required("n_scored", "BIGINT", "The questions that have a number."),
    ),
    view_of="""
WITH steps AS (
    SELECT
        g.benchmark,
        g.system,
        g.signature,
        m.metric,
        g."values"[list_position(s.metrics, m.metric)] AS threshold,
        count(*) AS n_equal
    FROM grades AS g
    JOIN signatures AS s USING (evaluator, signature)
    CROSS JOIN (VALUES ('phi'), ('delta')) AS m (metric)
    WHERE g.evaluator = 'option_confidence' AND threshold IS NOT NULL
    GROUP BY ALL
),

summed AS (
    SELECT
        *,
        sum(n_equal) OVER (curve ORDER BY threshold DESC) - n_equal AS n_above,
        sum(n_equal) OVER curve AS n_scored
    FROM steps
    WINDOW curve AS (PARTITION BY benchmark, system, signature, metric)
)

SELECT
    benchmark,
    system,
    signature,
    metric,
    threshold,
    n_above / n_scored AS share_above,
    n_above::BIGINT AS n_above,
    n_scored::BIGINT AS n_scored
FROM summed
""".strip(),
)
