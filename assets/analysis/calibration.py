"""Agreement of evaluators with human labels, corrected means, and judge variance."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.analysis.agreement import CHOSEN, LabelledScores, measure_agreement
from assets.analysis.findings import refresh_problems
from assets.analysis.panel import calibrate_members, measure_panels
from assets.leaderboard.benchmark_scores import load_question_index
from assets.project import threshold_of
from evaluators.kinds.flow import FlowEvaluator
from evaluators.statistics.judges.corrected_means import (
    Corrected,
    prediction_powered,
    rogan_gladen,
)
from evaluators.statistics.judges.judge_variance import split_variance
from warehouse.ingest.labels import UNCERTAIN
from warehouse.publish.snapshot import publish
from warehouse.queries.human_labels import human_labels, labelled_scores, repeated_judgments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.leaderboard.score_matrix import QuestionIndex
    from assets.project import Benchmark, Project
    from evaluators.evaluator import Evaluator
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


def publish_labels(warehouse: Warehouse, project: Project, names: Sequence[str]) -> None:
    """Publish new labels of benchmarks, with the calibration that follows from them."""
    labelled = [project.benchmarks[name] for name in names]
    calibrate(warehouse, labelled)
    refresh_problems(warehouse, labelled)
    publish(warehouse, project.publish)


def calibrate(warehouse: Warehouse, benchmarks: Sequence[Benchmark]) -> dict[str, int]:
    """Write the tables `calibration`, `wobble`, `panel` and `panel_calibration` for benchmarks.

    Returns:
        The number of rows of `calibration` of each benchmark.
    """
    names = [each.name for each in benchmarks]
    labels = warehouse.fetch(*human_labels(names)).partition_by(
        "benchmark", as_dict=True, include_key=False
    )
    now = datetime.now(UTC).replace(tzinfo=None)
    calibration, variance, panels, members = [], [], [], []
    for benchmark in benchmarks:
        where = {"benchmark": benchmark.name}
        own = labels.get((benchmark.name,))
        panels += [{**where, **row} for row in measure_panels(warehouse, benchmark)]
        if own is not None:
            found = _calibrate_benchmark(warehouse, benchmark, own)
            calibration += [{**where, **row, "calibrated_at": now} for row in found]
            compared = calibrate_members(warehouse, benchmark, own)
            members += [{**where, **row, "calibrated_at": now} for row in compared]
        variance += [{**where, **row} for row in measure_judge_variance(warehouse, benchmark)]

    def write(transaction: Transaction) -> None:
        for table, rows in (
            ("calibration", calibration),
            ("wobble", variance),
            ("panel", panels),
            ("panel_calibration", members),
        ):
            transaction.delete(table, {"benchmark": names})
            if rows:
                transaction.append(table, pl.DataFrame(rows, infer_schema_length=None))

    warehouse.write(write)
    counted = Counter(row["benchmark"] for row in calibration)
    return {name: counted[name] for name in names}


def _calibrate_benchmark(
    warehouse: Warehouse, benchmark: Benchmark, labels: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `calibration` for the labelled metrics of a benchmark."""
    questions = load_question_index(warehouse, benchmark)
    for evaluator in benchmark.evaluators:
        yield from _calibrate_evaluator(warehouse, benchmark, evaluator, labels, questions)


def _calibrate_evaluator(
    warehouse: Warehouse,
    benchmark: Benchmark,
    evaluator: Evaluator,
    labels: pl.DataFrame,
    questions: QuestionIndex,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `calibration` for the labelled metrics of an evaluator."""
    for metric in evaluator.sample_metrics:
        own_labels = labels.filter(
            pl.col("evaluator") == evaluator.name, pl.col("metric") == metric.name
        )
        if own_labels.is_empty():
            continue
        query = labelled_scores(benchmark.name, evaluator.name, metric.name, evaluator.signature)
        scores = warehouse.fetch(*query)
        clusters = questions.cluster_numbers(scores["question"].to_numpy())
        found = LabelledScores.of(
            scores.with_columns(cluster=pl.Series(clusters, dtype=pl.Int64)),
            own_labels,
            threshold_of(benchmark, evaluator, metric),
            metric,
        )
        agreement = measure_agreement(found, own_labels["annotator"].n_unique())
        chosen = own_labels.filter(pl.col("selection") == UNCERTAIN)["system"].unique().to_list()
        for (system,), own_scores in sorted(
            found.scores.partition_by("system", as_dict=True).items()
        ):
            is_chosen = system in chosen and not own_scores["label"].count()
            for method, corrected in _correct_means(found, own_scores, is_chosen=is_chosen):
                yield {
                    "system": system,
                    "evaluator": evaluator.name,
                    "metric": metric.name,
                    "method": method,
                    "n_labels": own_scores["label"].count(),
                    "raw_mean": own_scores["value"].mean(),
                    "corrected_mean": corrected.mean,
                    "ci_low": corrected.low,
                    "ci_high": corrected.high,
                    "reason": corrected.reason,
                    **agreement,
                }


def _correct_means(
    found: LabelledScores, scores: pl.DataFrame, *, is_chosen: bool
) -> Iterator[tuple[str, Corrected]]:
    """Yield each correction of one system's mean, with its method.

    Args:
        found: The scores of all systems.
        scores: Those of the system.
        is_chosen: Whether it has labels, but none of which it is known how they were drawn.
    """
    if is_chosen:
        methods = ("prediction_powered", "rogan_gladen")[: 1 + found.is_pass_fail]
        yield from ((method, Corrected(reason=CHOSEN)) for method in methods)
        return
    names = ("value", "label", "cluster", "weight")
    values, labels, clusters, weights = (scores[name].to_numpy() for name in names)
    labels, weights = labels.astype(np.float64), weights.astype(np.float64)
    bounds = found.metric.bounds
    yield "prediction_powered", prediction_powered(values, labels, clusters, bounds, weights)
    if found.is_pass_fail:
        # The evaluator's 1 against the label 1, whichever value is good.
        yield "rogan_gladen", rogan_gladen(values, labels, clusters, weights)


def measure_judge_variance(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """Yield a row of `wobble` for each evaluator whose judge judged samples several times.

    Failed judgments do not count; see `repeated_judgments`.
    """
    for evaluator in benchmark.evaluators:
        if not isinstance(evaluator, FlowEvaluator):
            continue
        query = repeated_judgments(benchmark.name, evaluator.name, evaluator.signature)
        texts = warehouse.fetch(*query)["replicates"].to_list()
        replicates = [[_number_or_nan(each) for each in json.loads(text)] for text in texts]
        if not replicates:
            continue
        judged = np.full((len(replicates), max(map(len, replicates))), np.nan)
        for row, values in enumerate(replicates):
            judged[row, : len(values)] = values
        metric = next(metric for metric in evaluator.sample_metrics if metric.primary)
        found = split_variance(judged, threshold_of(benchmark, evaluator, metric), metric.best)
        if found is not None:
            yield {
                "evaluator": evaluator.name,
                "metric": metric.name,
                "n_answers": found.answers,
                "judge_variance": found.judge_variance,
                "answer_variance": found.answer_variance,
                "flip_rate": found.flip_rate,
                "reliability": found.reliability,
            }


def _number_or_nan(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan
