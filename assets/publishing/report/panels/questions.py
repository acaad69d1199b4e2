"""The heat map of questions and systems; each score opens the answer behind it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl

from assets.charts import style
from assets.publishing.report.answer_files import questions_per_file
from assets.publishing.report.panel import BenchmarkData, Content, Panel
from assets.publishing.report.prompt_files import prompt_files, questions_with_prompts
from warehouse.queries import report as report_queries
from warehouse.queries.human_labels import mean_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


MAX_IMAGE_QUESTIONS = 40

QUERIES = {
    "n_labels": """
SELECT benchmark, count(*) AS n
FROM labels
WHERE benchmark IN ({benchmarks})
GROUP BY ALL
""",
    "n_calls": """
SELECT benchmark, question_id, count(*) AS n
FROM asks
WHERE benchmark IN ({benchmarks})
GROUP BY ALL
""",
}

UNKNOWN = 255
"""The status code of a cell that was never scored."""


@dataclass(frozen=True)
class ScoreMatrix:
    """The scores of one evaluator.

    Attributes:
        metrics: The metrics, in the order of the first axis.
        values: Shape (metrics, questions, systems), float32; NaN where there is no score.
        codes: The same shape, uint8: the index of the status in `report_queries.STATUSES`,
            `report_queries.FAILED` for the worst value of a failed answer, or `UNKNOWN`.
    """

    metrics: Sequence[str]
    values: NDArray[np.float32]
    codes: NDArray[np.uint8]

    def to_bytes(self) -> bytes:
        """Return all values, then all codes, in little-endian order."""
        return self.values.astype("<f4").tobytes() + self.codes.tobytes()


def build(data: BenchmarkData, n_labels: pl.DataFrame, n_calls: pl.DataFrame) -> Content:
    """Return the score matrices, and an image of the hardest questions."""
    image_metric = next(
        (
            row
            for row in data.metrics
            if row["primary"] and row["measured"] and row["level"] == "sample"
        ),
        None,
    )
    image, loaded = None, {}
    if image_metric is not None:
        matrix = read_score_matrix(data, image_metric["e"])
        image = heat_map_chart(data, matrix, image_metric["m"], image_metric["best"])
        loaded[image_metric["e"]] = matrix
    matrices, labels = _matrix_files(data, loaded), [] if n_labels.is_empty() else read_labels(data)
    prompted = questions_with_prompts(data, n_calls)
    return Content(
        values={
            "n_shown": data.questions.height,
            "n_questions": data.totals["questions"],
            "has_image": image is not None,
        },
        images={"hardest": image},
        page_data={
            "labelled": sorted({row[0] for row in labels}),
            "prompts": (prompted["at"] // questions_per_file(data)).unique().sort().to_list(),
        },
        files=chain(
            [("labels", orjson.dumps(labels))] if labels else [],
            matrices,
            prompt_files(data, prompted),
        ),
    )


def read_labels(data: BenchmarkData) -> list[list[Any]]:
    """Return the labels of people for the questions that the report shows.

    Returns:
        Lists of the metric, question and system (their indexes), the mean label, the number of
        labels, and the score of the labelled answer (None without one), sorted.
    """
    questions = {name: at for at, name in enumerate(data.questions["question_id"])}
    systems = {name: at for at, name in enumerate(data.systems)}
    found = []
    for row in data.fetch_query(mean_labels(data.part.benchmarks)).iter_rows(named=True):
        metric = data.metric_index.get((row["evaluator"], row["metric"]))
        q, s = questions.get(row["question_id"]), systems.get(row["system"])
        if metric is not None and q is not None and s is not None:
            found.append([metric, q, s, row["label"], row["n"], row["value"]])
    return sorted(found, key=lambda each: each[:3])


def _matrix_files(
    data: BenchmarkData, loaded: dict[str, ScoreMatrix]
) -> Iterator[tuple[str, bytes]]:
    for evaluator in data.evaluators["evaluator"]:
        matrix = loaded.get(evaluator) or read_score_matrix(data, evaluator)
        yield f"scores-{evaluator}", matrix.to_bytes()


def read_score_matrix(data: BenchmarkData, evaluator: str) -> ScoreMatrix:
    """Read the scores of one evaluator for the questions that the report shows."""
    row = data.evaluators.row(by_predicate=pl.col("evaluator") == evaluator, named=True)
    metrics = row["metrics"]
    ids = data.questions["question_id"]
    chosen = None if data.part.is_shared else ids.to_list()
    query = report_queries.score_matrix(data.part.benchmarks, evaluator, row["signature"], chosen)
    scores = (
        data.fetch_query(query)
        .join(pl.DataFrame({"question_id": ids}).with_row_index("q"), on="question_id")
        .join(pl.DataFrame({"system": data.systems}).with_row_index("s"), on="system")
    )
    shape = (len(ids), len(data.systems), len(metrics))
    values = np.full(shape, np.nan, dtype=np.float32)
    codes = np.full(shape, UNKNOWN, dtype=np.uint8)
    q, s = scores["q"].to_numpy(), scores["s"].to_numpy()
    for at in range(len(metrics)):
        # Systems that were scored when questions had fewer answers have fewer metrics.
        given = scores.select(
            value=pl.col("values").list.get(at, null_on_oob=True).cast(pl.Float32),
            code=pl.when(pl.col("values").list.len() > at).then(
                pl.col("codes").list.get(at, null_on_oob=True).fill_null(0)
            ),
        )
        values[q, s, at] = given["value"].to_numpy()
        codes[q, s, at] = given["code"].fill_null(UNKNOWN).to_numpy()
    axes = (2, 0, 1)
    return ScoreMatrix(metrics, values.transpose(axes), codes.transpose(axes))


def heat_map_chart(
    data: BenchmarkData, matrix: ScoreMatrix, metric: str, best: str
) -> style.Spec | None:
    """Draw the hardest questions by one metric, the hardest on top.

    Args:
        data: The benchmark.
        matrix: The scores of the metric's evaluator.
        metric: The metric.
        best: Whether `high` or `low` values are better.
    """
    hardest = data.questions.with_row_index("q").drop_nulls("hardness")
    hardest = hardest.sort("hardness", descending=True).head(MAX_IMAGE_QUESTIONS)
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    scores = matrix.values[matrix.metrics.index(metric)]
    rows: list[dict[str, Any]] = [
        {"question": question, "system": system, "value": float(value)}
        for q, question in hardest.select("q", "question_id").iter_rows()
        for system, value in zip(data.systems, scores[q], strict=True)
        if system in systems and not np.isnan(value)
    ]
    if not rows:
        return None
    axis = {"orient": "top", "labelAngle": -30}
    scale = {"scheme": "viridis", "reverse": best == "low"}
    return style.to_spec(
        {
            "data": {"values": rows},
            "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.5},
            "encoding": {
                "x": style.nominal("system", sort=systems, title=None, axis=axis),
                "y": style.nominal("question", sort=hardest["question_id"].to_list(), title=None),
                "color": style.quantity("value", title=metric, scale=scale),
            },
            "width": max(120, 48 * len(systems)),
            "height": 16 * hardest.height,
        }
    )


PANEL = Panel(title="Questions", position=70, build=build, queries=QUERIES)
