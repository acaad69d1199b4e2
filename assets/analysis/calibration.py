"""Calibration: evaluators held against people's labels, and means corrected by what that tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.leaderboard.score_matrix import load_question_index
from evaluators.kinds.flow import FlowEvaluator
from evaluators.statistics.agreement import confusion, kappa
from evaluators.statistics.calibration import Corrected, prediction_powered, rogan_gladen
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.judge_variance import split_variance
from evaluators.statistics.krippendorff import krippendorff_alpha
from warehouse.queries.human_labels import human_labels, labelled_scores, repeated_judgments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.agreement import Confusion
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


CALIBRATED = 0.4
"""The kappa from which a judge is taken to measure what people mean: more than fair agreement."""

_RATINGS = 10
"""The different numbers up to which a scale is one of ratings, whose near misses count."""


@dataclass(frozen=True)
class LabelledScores:
    """One metric's numbers beside people's.

    Attributes:
        scores: One row a sample: system, question (its key), value, label (the mean of the
            annotators' numbers; null where there is none) and annotators.
        clusters: The cluster of each labelled sample, in their order.
        line: The threshold that makes a pass of a number; None where there is none.
        metric: The metric.
    """

    scores: pl.DataFrame
    clusters: Integers
    line: float | None
    metric: Metric

    @property
    def both(self) -> pl.DataFrame:
        """The samples that have a label."""
        return self.scores.filter(pl.col("label").is_not_null())

    def passes(self, values: Floats) -> Booleans:
        """Which numbers are as good as the threshold."""
        line = 0.5 if self.line is None else self.line
        return values >= line if self.metric.best == "high" else values <= line


def calibrate(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Fill the tables `calibration` and `wobble` for one benchmark; returns rows of the first."""
    place = {"benchmark": benchmark.name}
    query = human_labels(benchmark.name)
    labels = warehouse.fetch(query.sql, query.parameters)
    now = datetime.now(UTC).replace(tzinfo=None)
    rows = [
        {**place, **row, "calibrated_at": now}
        for evaluator in benchmark.evaluators
        for row in _of_evaluator(warehouse, benchmark, evaluator, labels)
    ]
    repeated = [{**place, **row} for row in measure_judge_variance(warehouse, benchmark)]

    def keep(transaction: Transaction) -> None:
        for table, found in (("calibration", rows), ("wobble", repeated)):
            transaction.delete(table, place)
            if found:
                transaction.append(table, pl.DataFrame(found, infer_schema_length=None))

    warehouse.write(keep)
    return len(rows)


def _of_evaluator(
    warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator, labels: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    """The rows of the metrics of an evaluator that people have labelled."""
    own = labels.filter(pl.col("evaluator") == evaluator.name)
    for metric in evaluator.sample_metrics:
        given = own.filter(pl.col("metric") == metric.name)
        if given.is_empty():
            continue
        query = labelled_scores(benchmark.name, evaluator.name, metric.name, evaluator.signature)
        scores = warehouse.fetch(query.sql, query.parameters)
        both = scores.filter(pl.col("label").is_not_null())
        questions = load_question_index(warehouse, benchmark)
        line = benchmark.thresholds.get(f"{evaluator.name}.{metric.name}", metric.threshold)
        labelled = LabelledScores(
            scores=scores,
            clusters=questions.cluster_numbers(both["question"].to_numpy()),
            line=line,
            metric=metric,
        )
        agreed = _agreement(labelled, given)
        for system, numbers in sorted(scores.partition_by("system", as_dict=True).items()):
            for method, corrected, raw in _corrected(labelled, numbers):
                yield {
                    "system": system[0],
                    "evaluator": evaluator.name,
                    "metric": metric.name,
                    "method": method,
                    "n_labels": numbers["label"].count(),
                    "raw_mean": raw,
                    **_ends(corrected, metric),
                    **agreed,
                }


def _agreement(labelled: LabelledScores, given: pl.DataFrame) -> dict[str, Any]:
    """How far a metric agrees with people, over all systems."""
    both = labelled.both
    judge, people = (both[name].to_numpy() for name in ("value", "label"))
    passed, wanted = labelled.passes(judge), labelled.passes(people)
    counted = confusion(passed, wanted)
    found = kappa(passed.astype(np.float64), wanted.astype(np.float64), clusters=labelled.clusters)
    ratings = len(np.unique(np.concatenate([judge, people])))
    weighted = kappa(judge, people, "quadratic").value if 2 < ratings <= _RATINGS else np.nan  # noqa: PLR2004
    told = {"kappa": found.value, "kappa_low": found.low, "kappa_high": found.high}
    told |= {"weighted_kappa": weighted, "correlation": _spearman(both)}
    return {
        "n_compared": counted.n,
        "n_annotators": given["annotator"].n_unique(),
        "agreement": counted.agreement,
        "constant_agreement": counted.constant_agreement,
        "base_rate": counted.base_rate,
        **{name: _known(value) for name, value in told.items()},
        "alpha": _alpha(given),
        "true_positive_rate": counted.sensitivity,
        "true_negative_rate": counted.specificity,
        "is_calibrated": int(np.isfinite(found.value) and found.value >= CALIBRATED),
    }


def _corrected(
    labelled: LabelledScores, numbers: pl.DataFrame
) -> Iterator[tuple[str, Corrected | None, float | None]]:
    """The corrected means of one system: method, what came of it, and the raw mean."""
    known = numbers["label"].is_not_null()
    rest, both = numbers.filter(~known), numbers.filter(known)
    judged = numbers["value"].to_numpy()
    raw = float(judged.mean()) if len(judged) else None
    arrays = [rest["value"], both["value"], both["label"]]
    yield "prediction_powered", prediction_powered(*(each.to_numpy() for each in arrays)), raw
    if raw is not None and is_pass_fail(labelled.scores["value"].to_numpy()):
        yield "rogan_gladen", rogan_gladen(raw, len(judged), _erring(labelled)), raw


def _erring(labelled: LabelledScores) -> Confusion:
    """The evaluator's 1 against people's, whichever of the two is good."""
    judge, people = (labelled.both[name].to_numpy() >= 0.5 for name in ("value", "label"))  # noqa: PLR2004
    return confusion(judge, people)


def _ends(corrected: Corrected | None, metric: Metric) -> dict[str, float | None]:
    if corrected is None:
        return {"corrected_mean": None, "ci_low": None, "ci_high": None}
    low, high = metric.bounds
    if corrected.variance == 0:
        # Equal labels tell of no spread, which is not to say that there is none.
        return {"corrected_mean": corrected.mean, "ci_low": None, "ci_high": None}
    return {
        "corrected_mean": corrected.mean,
        "ci_low": max(low, corrected.low),
        "ci_high": min(high, corrected.high),
    }


def _spearman(both: pl.DataFrame) -> float:
    found = both.select(pl.corr("value", "label", method="spearman")).item()
    return np.nan if found is None else float(found)


def _alpha(given: pl.DataFrame) -> float | None:
    """How far annotators agree with each other; None with fewer than two."""
    table = given.pivot("annotator", index=["system", "question"], values="value")
    ratings = table.drop("system", "question").to_numpy().T.astype(np.float64)
    if len(ratings) == 1:
        return None
    return krippendorff_alpha(ratings, "nominal" if is_pass_fail(ratings) else "interval")


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def measure_judge_variance(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """One row for each evaluator whose judge was asked the same several times.

    Judgements of which nothing came are left out; see `repeated_judgements` for where they stand.
    """
    for evaluator in benchmark.evaluators:
        if not isinstance(evaluator, FlowEvaluator):
            continue
        query = repeated_judgments(benchmark.name, evaluator.name, evaluator.signature)
        said = warehouse.fetch(query.sql, query.parameters)["replicates"].to_list()
        repeats = [[_number(each) for each in json.loads(text)] for text in said]
        if not repeats:
            continue
        judged = np.full((len(repeats), max(map(len, repeats))), np.nan)
        for row, numbers in enumerate(repeats):
            judged[row, : len(numbers)] = numbers
        metric = next(metric for metric in evaluator.sample_metrics if metric.primary)
        address = f"{evaluator.name}.{metric.name}"
        threshold = benchmark.thresholds.get(address, metric.threshold)
        found = split_variance(judged, threshold, metric.best)
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


def _number(said: object) -> float:
    return float(said) if isinstance(said, int | float) else np.nan
