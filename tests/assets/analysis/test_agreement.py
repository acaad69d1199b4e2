"""Agreement of scores with several people's labels: parts of samples, and both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from assets.analysis.agreement import LabelledScores, measure_agreement
from evaluators.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def measured(
    scores: Sequence[float],
    labels: Mapping[str, Sequence[float | None]],
    *,
    best: Literal["high", "low"] = "high",
    bounds: tuple[float, float] = (0.0, 1.0),
    threshold: float | None = None,
    probability: Sequence[float] | None = None,
) -> dict[str, Any]:
    """The agreement of scores with the labels of each annotator; None where there is none."""
    questions = range(len(scores))
    frame = pl.DataFrame({"system": "s", "question": questions, "value": scores, "repeat": 0})
    rows = [
        {
            "system": "s",
            "question": question,
            "annotator": name,
            "value": value,
            "selection": None,
            "probability": None if probability is None else probability[question],
        }
        for name, given in labels.items()
        for question, value in zip(questions, given, strict=True)
        if value is not None
    ]
    types = {"selection": pl.String, "probability": pl.Float64}
    metric = Metric(name="m", summary="A number.", best=best, bounds=bounds, primary=True)
    found = LabelledScores.of(
        frame.with_columns(cluster="question"),
        pl.DataFrame(rows, schema_overrides=types),
        threshold,
        metric,
    )
    return measure_agreement(found, len(labels))


SCORES = [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]
PEOPLE = {"ann": [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], "ben": [1.0, 0.0, 0.0, 0.0, 1.0, None]}


def test_annotators_who_disagree_count_in_parts() -> None:
    found = measured(SCORES, PEOPLE)
    # Shares that pass: 1, 1/2, 0 and, where the judge fails, 0 and 1/2; the last has one label.
    assert found["base_rate"] == pytest.approx(2 / 6)
    assert found["agreement"] == pytest.approx((1 + 0.5 + 0 + 1 + 0.5 + 0) / 6)
    assert found["true_positive_rate"] == pytest.approx(1.5 / 2)
    assert found["true_negative_rate"] == pytest.approx(1.5 / 4)
    pairs = [(s, v) for given in PEOPLE.values() for s, v in zip(SCORES, given, strict=True)]
    known = [(s, v) for s, v in pairs if v is not None]
    weights = [0.5] * 5 + [1.0] + [0.5] * 5
    expected = cohen_kappa_score(*zip(*known, strict=True), sample_weight=weights)
    assert found["kappa"] == pytest.approx(expected)
    assert found["n_compared"] == 6


def test_where_low_is_best_nothing_but_the_names_changes() -> None:
    high = measured(SCORES, PEOPLE)
    mirrored = {
        name: [None if v is None else 1 - v for v in given] for name, given in PEOPLE.items()
    }
    low = measured([1 - value for value in SCORES], mirrored, best="low")
    for name in ("agreement", "base_rate", "true_positive_rate", "true_negative_rate", "kappa"):
        assert low[name] == pytest.approx(high[name])


def test_a_label_between_the_classes_is_a_share() -> None:
    apart = measured([1.0, 0.0, 1.0], {"ann": [1.0, 0.0, 1.0], "ben": [1.0, 0.0, 0.0]})
    together = measured([1.0, 0.0, 1.0], {"ann": [1.0, 0.0, 0.5]})
    for name in ("agreement", "base_rate", "true_positive_rate", "kappa", "kappa_low"):
        assert together[name] == pytest.approx(apart[name])


def test_each_rating_is_compared_with_the_threshold() -> None:
    """Ratings of 2 and 5 are a failure and a pass, not a pass by their mean."""
    found = measured(
        [4.0, 2.0, 5.0],
        {"ann": [2.0, 1.0, 5.0], "ben": [5.0, 1.0, 5.0]},
        bounds=(1.0, 5.0),
        threshold=3.5,
    )
    assert found["base_rate"] == pytest.approx((0.5 + 0 + 1) / 3)
    expected = cohen_kappa_score(
        [4, 2, 5, 4, 2, 5], [2, 1, 5, 5, 1, 5], weights="quadratic", labels=[1, 2, 4, 5]
    )
    assert found["weighted_kappa"] == pytest.approx(expected)


def test_weighted_labels_stand_for_more_samples() -> None:
    generator = np.random.default_rng(1)
    scores = generator.integers(0, 5, 40) / 4
    labels = np.clip(scores + generator.integers(-1, 2, 40) / 4, 0, 1)
    probability = np.where(np.arange(40) % 2, 1.0, 0.5)
    found = measured(list(scores), {"ann": list(labels)}, probability=list(probability))
    # The same as if labels of probability 1/2 occurred twice.
    twice = np.repeat(np.arange(40), np.where(probability == 0.5, 2, 1))
    same = measured(list(scores[twice]), {"ann": list(labels[twice])})
    for name in ("agreement", "base_rate", "kappa", "weighted_kappa"):
        assert found[name] == pytest.approx(same[name])
    expected = stats.spearmanr(scores[twice], labels[twice]).statistic
    assert found["correlation"] == pytest.approx(expected)
    assert found["kappa_high"] - found["kappa_low"] > same["kappa_high"] - same["kappa_low"]
