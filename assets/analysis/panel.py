"""Agreement of the members of a panel with each other, and of each with human labels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assets.analysis.agreement import LabelledScores, finite_or_none, measure_agreement
from assets.leaderboard.benchmark_scores import load_question_index
from assets.project import threshold_of
from evaluators.kinds.flow import FlowEvaluator
from evaluators.statistics.judges.krippendorff import alpha_with_interval
from warehouse.queries.human_labels import panel_judgments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from warehouse.store import Warehouse

_RATERS = 2
_ROUNDING = 1e-9

_COMPARED = (
    *("n_compared", "agreement_reason", "agreement", "constant_agreement", "base_rate"),
    *("kappa", "kappa_low", "kappa_high", "true_positive_rate", "true_negative_rate"),
    *("labels_needed", "is_calibrated"),
)
"""The columns of `panel_calibration` that `calibration` has, too."""


@dataclass(frozen=True)
class Judged:
    """What the members of a panel gave the samples of one evaluator.

    Attributes:
        samples: One row per answer: system, question (its key), repeat.
        clusters: The cluster of each sample.
        values: By member and then metric, a value per sample; NaN where there is none.
        regular: The members that judged every sample. With escalation, the others judged only
            those on which the first two disagree, which says nothing about all samples.
    """

    samples: pl.DataFrame
    clusters: Integers
    values: Mapping[str, Mapping[str, Floats]]
    regular: tuple[str, ...]


def measure_panels(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """Yield a row of `panel` for each metric that two members gave the same sample."""
    for evaluator in benchmark.evaluators:
        judged = _load_judged(warehouse, benchmark, evaluator)
        if judged is None:
            continue
        for metric in evaluator.sample_metrics:
            ratings = np.stack([judged.values[member][metric.name] for member in judged.regular])
            n = int((np.isfinite(ratings).sum(axis=0) >= _RATERS).sum())
            if n == 0:
                continue
            alpha = alpha_with_interval(ratings, judged.clusters)
            verdicts = _verdicts(ratings, metric, threshold_of(benchmark, evaluator, metric))
            shares = dict(zip(judged.regular, _shares_of_agreement(verdicts), strict=True))
            yield {
                "evaluator": evaluator.name,
                "metric": metric.name,
                "n": n,
                "alpha": finite_or_none(alpha.value),
                "alpha_low": finite_or_none(alpha.low),
                "alpha_high": finite_or_none(alpha.high),
                "agreement": [
                    {"key": member, "value": shares.get(member)} for member in judged.values
                ],
            }


def calibrate_members(
    warehouse: Warehouse, benchmark: Benchmark, labels: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield a row of `panel_calibration` for each member and labelled metric.

    Args:
        warehouse: The warehouse.
        benchmark: The benchmark.
        labels: Its labels, as `human_labels` returns them.
    """
    for evaluator in benchmark.evaluators:
        judged = _load_judged(warehouse, benchmark, evaluator)
        if judged is None:
            continue
        for metric in evaluator.sample_metrics:
            own = labels.filter(
                pl.col("evaluator") == evaluator.name, pl.col("metric") == metric.name
            )
            if own.is_empty():
                continue
            for member, values in judged.values.items():
                scores = judged.samples.with_columns(
                    value=pl.Series(values[metric.name]),
                    cluster=pl.Series(judged.clusters, dtype=pl.Int64),
                )
                found = LabelledScores.of(
                    scores.filter(pl.col("value").is_finite()),
                    own,
                    threshold_of(benchmark, evaluator, metric),
                    metric,
                )
                agreement = measure_agreement(found, own["annotator"].n_unique())
                yield {
                    "evaluator": evaluator.name,
                    "metric": metric.name,
                    "member": member,
                    "is_regular": int(member in judged.regular),
                    **{name: agreement[name] for name in _COMPARED},
                }


def _load_judged(warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator) -> Judged | None:
    """Return what a panel gave; None without a panel or samples that it judged."""
    if not (isinstance(evaluator, FlowEvaluator) and evaluator.has_panel):
        return None
    rows = warehouse.fetch(*panel_judgments(benchmark.name, evaluator.name, evaluator.signature))
    if rows.is_empty():
        return None
    given = [json.loads(text) for text in rows["members"]]
    members = list(dict.fromkeys(name for each in given for name in each))
    names = [metric.name for metric in evaluator.sample_metrics]
    values = {
        member: {
            name: np.array(
                [_number_or_nan(each.get(member, {}).get(name)) for each in given], np.float64
            )
            for name in names
        }
        for member in members
    }
    questions = load_question_index(warehouse, benchmark)
    return Judged(
        samples=rows.select("system", "question", "repeat"),
        clusters=questions.cluster_numbers(rows["question"].to_numpy()),
        values=values,
        regular=tuple(name for name in members if all(name in each for each in given)),
    )


def _verdicts(ratings: Floats, metric: Metric, threshold: float | None) -> Floats:
    """Return whether each rating passes, or the rating where there is no threshold."""
    if threshold is None:
        return ratings
    passes: Booleans = ratings >= threshold if metric.best == "high" else ratings <= threshold
    return np.where(np.isfinite(ratings), passes, np.nan)


def _shares_of_agreement(verdicts: Floats) -> list[float | None]:
    """Return, for each rater, the share of the others' verdicts on the same units that are equal.

    Args:
        verdicts: Shape (raters, units); NaN where one is missing.
    """
    is_present = np.isfinite(verdicts)
    both = is_present[:, None] & is_present[None]
    equal = both & (np.abs(verdicts[:, None] - verdicts[None]) <= _ROUNDING)
    # Each rater also agrees with itself.
    pairs = both.sum(axis=(1, 2)) - is_present.sum(axis=1)
    agreed = equal.sum(axis=(1, 2)) - is_present.sum(axis=1)
    return [
        float(part / whole) if whole else None for part, whole in zip(agreed, pairs, strict=True)
    ]


def _number_or_nan(value: float | None) -> float:
    return np.nan if value is None else value
