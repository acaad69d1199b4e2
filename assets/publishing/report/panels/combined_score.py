"""The combined score by weight λ of the answer score, and where systems change places."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from assets.charts import style
from assets.publishing.report.formatting import format_number, isolate
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

ENDS = """
WITH parts AS (
    SELECT s.benchmark, s.system, s.question_id, s.evaluator, s.value
    FROM scores AS s
    INNER JOIN (
        SELECT DISTINCT benchmark, evaluator, metric, signature FROM leaderboard
        WHERE benchmark IN ({benchmarks})
            AND (evaluator, metric)
                IN (('rubric_judge', 'answer_score'), ('evidence_overlap', 'evidence_recall'))
    ) USING (benchmark, evaluator, metric, signature)
    WHERE s.benchmark IN ({benchmarks}) AND s.value IS NOT NULL
)

SELECT benchmark, system, avg(a.value) AS answer_score, avg(e.value) AS evidence_recall,
    count(*) AS n
FROM (SELECT * FROM parts WHERE evaluator = 'rubric_judge') AS a
INNER JOIN (SELECT * FROM parts WHERE evaluator = 'evidence_overlap') AS e
    USING (benchmark, system, question_id)
GROUP BY benchmark, system
ORDER BY benchmark, system
"""

WEIGHTS = """
SELECT DISTINCT l.benchmark, (s.parameters->>'answer_weight')::DOUBLE AS answer_weight
FROM leaderboard AS l
INNER JOIN signatures AS s USING (evaluator, signature)
WHERE l.benchmark IN ({benchmarks}) AND l.evaluator = 'rubric_combined'
"""

VERDICTS = """
SELECT benchmark, metric, system_a, system_b, verdict
FROM comparisons
WHERE benchmark IN ({benchmarks}) AND slice = 'all' AND p_page < 0.05
    AND verdict IN ('better', 'worse')
    AND (evaluator, metric)
        IN (('rubric_judge', 'answer_score'), ('evidence_overlap', 'evidence_recall'))
"""

STEPS = 20
"""The chart has a point at each twentieth; between them the lines are straight, without error."""

MAX_CROSSINGS = 5

MAX_COMPARED = 8
"""Systems whose crossings are named: the best by the headline metric."""


@dataclass(frozen=True, slots=True)
class Line:
    """The combined score of a system as a function of the weight.

    Attributes:
        at_zero: Its mean with weight 0: the mean evidence recall.
        at_one: Its mean with weight 1: the mean answer score.
        n: The number of questions that have both scores; the means are theirs.
    """

    at_zero: float
    at_one: float
    n: int

    def mean(self, weight: float) -> float:
        """Return the mean combined score with the weight of the answer score."""
        return weight * self.at_one + (1 - weight) * self.at_zero


def build(
    data: BenchmarkData, ends: pl.DataFrame, weights: pl.DataFrame, verdicts: pl.DataFrame
) -> Content | None:
    """Return the chart of the combined score by weight, and where systems change places."""
    if ends.is_empty():
        return None
    rows = ends.select("system", "evidence_recall", "answer_score", "n").iter_rows()
    lines = {system: Line(*values) for system, *values in rows}
    used = weights["answer_weight"].drop_nulls().unique().to_list()
    weight = used[0] if len(used) == 1 else None
    ranked = [system for system in data.ranked_systems if system in lines]
    compared = {system: lines[system] for system in ranked[:MAX_COMPARED]}
    significant = set(verdicts.select("metric", "system_a", "system_b").iter_rows())
    return Content(
        values={
            "weight": None if weight is None else f"{weight:g}",
            "rows": [
                (
                    system,
                    [
                        format_number(lines[system].mean(each))
                        for each in (0.0, 0.25, 0.5, 0.75, 1.0)
                    ],
                )
                for system in ranked
            ],
            "crossings": describe_crossings(compared, significant),
            "n_compared": len(compared),
        },
        charts={"combined": weight_chart(data, lines, weight)},
    )


def describe_crossings(
    lines: Mapping[str, Line], significant: set[tuple[str, str, str]]
) -> list[str]:
    """Say where systems change places, those first that differ significantly at both ends.

    Args:
        lines: The systems, in the order of their ranks.
        significant: The significant differences, as (metric, system_a, system_b).
    """
    found = []
    for a, b in combinations(lines, 2):
        weight = crossing(lines[a], lines[b])
        if weight is None:
            continue
        cites, answers = (a, b) if lines[a].at_zero > lines[b].at_zero else (b, a)
        certain = [
            bool({(metric, a, b), (metric, b, a)} & significant)
            for metric in ("evidence_recall", "answer_score")
        ]
        verdict = {2: "Both differences are", 1: "Only one difference is", 0: "Neither is"}
        sentence = (
            f"{isolate(cites)} has the higher evidence recall, {isolate(answers)} the higher "
            f"answer score: they change places at λ = {weight:.2f}. "
            f"{verdict[sum(certain)]} significant."
        )
        found.append((not all(certain), weight, sentence))
    return [sentence for _, _, sentence in sorted(found)[:MAX_CROSSINGS]]


def crossing(a: Line, b: Line) -> float | None:
    """Return the weight between 0 and 1 at which the better system changes; None without one."""
    at_zero, at_one = a.at_zero - b.at_zero, a.at_one - b.at_one
    return at_zero / (at_zero - at_one) if at_zero * at_one < 0 else None


def weight_chart(
    data: BenchmarkData, lines: Mapping[str, Line], weight: float | None
) -> style.Spec:
    """Draw the mean combined score by weight, one line per system, and the configured weight."""
    systems = [system for system in data.ranked_systems if system in lines][: style.MAX_SYSTEMS]
    rows = [
        {
            "system": system,
            "weight": at / STEPS,
            "mean": lines[system].mean(at / STEPS),
            "n": lines[system].n,
        }
        for system in systems
        for at in range(STEPS + 1)
    ]
    x = style.quantity(
        "weight",
        title="Weight λ of the answer score",
        axis={"values": [at / 10 for at in range(11)]},
        scale={"domain": style.widened(0, 1)},
    )
    y = style.quantity("mean", title="Mean combined score", scale={"domain": [0, 1]})
    chosen = {
        "name": "chosen",
        "select": {"type": "point", "fields": ["system"]},
        "bind": "legend",
    }
    shared = {
        "x": x,
        "y": y,
        **style.system_lines(data.systems, values=systems, **style.LINE_LEGEND),
        "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.12},
        "tooltip": [
            style.SYSTEM_TOOLTIP,
            style.quantity("weight", title="λ", format=".2f"),
            style.quantity("mean", title="Combined score", format=".3f"),
            style.quantity("n", title="Questions with both scores"),
        ],
    }
    layers: list[style.Spec] = [
        {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": shared},
        {
            "mark": {"type": "point", "filled": True, "size": 30},
            "encoding": {**shared, "strokeDash": {"value": [1, 0]}},
            "params": [chosen],
        },
        *style.end_labels(
            {system: lines[system].mean(1) for system in systems}, {"weight": 1}, "mean"
        ),
    ]
    if weight is not None:
        line = {
            "data": {"values": [{"weight": weight}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "color": style.NEUTRAL},
            "encoding": {"x": style.quantity("weight")},
        }
        layers.insert(0, line)
    return style.to_spec(
        {"data": {"values": rows}, "layer": layers, "width": style.WIDTH, "height": 300}
    )


PANEL = Panel(
    title="Combined score by weight",
    position=55,
    build=build,
    queries={"ends": ENDS, "weights": WEIGHTS, "verdicts": VERDICTS},
)
