"""The heat map of questions and systems; each score opens the answer behind it."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.charts import style
from assets.leaderboard.score_matrix import list_matrix, number_names
from assets.publishing.report.answer_files import questions_per_file
from assets.publishing.report.data_files import to_json
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
            "prompts": sorted({at // questions_per_file(data) for at in prompted.values()}),
        },
        files=chain(
            [("labels", to_json(labels))] if labels else [],
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
    questions = data.question_numbers
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
    for evaluator in data.evaluators:
        matrix = loaded.get(evaluator) or read_score_matrix(data, evaluator)
        yield f"scores-{evaluator}", matrix.to_bytes()


def read_score_matrix(data: BenchmarkData, evaluator: str) -> ScoreMatrix:
    """Read the scores of one evaluator for the questions that the report shows."""
    row = data.evaluators[evaluator]
    metrics = row["metrics"]
    chosen = None if data.part.is_shared else list(data.question_numbers)
    query = report_queries.score_matrix(data.part.benchmarks, evaluator, row["signature"], chosen)
    scores = data.fetch_by_question(query)
    q, s = scores["question"].to_numpy(), number_names(scores["system"], data.systems)
    shown = s >= 0
    rows = (q[shown], s[shown])
    shape = (len(data.question_numbers), len(data.systems), len(metrics))
    values = np.full(shape, np.nan, dtype=np.float32)
    codes = np.full(shape, UNKNOWN, dtype=np.uint8)
    values[rows] = list_matrix(scores["values"], len(metrics))[shown]
    given = np.nan_to_num(list_matrix(scores["codes"], len(metrics))[shown])
    # Systems that were scored when questions had fewer answers have fewer metrics.
    lengths = scores["values"].list.len().to_numpy()[shown]
    codes[rows] = np.where(np.arange(len(metrics)) < lengths[:, None], given, UNKNOWN)
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
    known = [
        (hardness, question, q)
        for q, (question, hardness) in enumerate(
            zip(data.questions["question_id"], data.questions["hardness"], strict=True)
        )
        if hardness is not None
    ]
    hardest = nlargest(MAX_IMAGE_QUESTIONS, known, key=itemgetter(0))
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    scores = matrix.values[matrix.metrics.index(metric)]
    rows: list[dict[str, Any]] = [
        {"question": question, "system": system, "value": float(value)}
        for _, question, q in hardest
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
                "y": style.nominal("question", sort=[name for _, name, _ in hardest], title=None),
                "color": style.quantity("value", title=metric, scale=scale),
            },
            "width": max(120, 48 * len(systems)),
            "height": 16 * len(hardest),
        }
    )


PANEL = Panel(title="Questions", position=70, build=build, queries=QUERIES)
