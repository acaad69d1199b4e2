"""The names, bounds, directions and thresholds of metrics that users rely on."""

from __future__ import annotations

import pytest

from evaluators import catalog

# evaluator -> metric -> (best, bounds, threshold, level); the primary metric comes first.
Facts = tuple[str, tuple[float, float], float | None, str]
SHARE: Facts = ("high", (0.0, 1.0), 0.75, "sample")
RANKED: Facts = ("high", (0.0, 1.0), None, "sample")
POOLED: Facts = ("high", (0.0, 1.0), 0.75, "system")

CONTRACT: dict[str, dict[str, Facts]] = {
    "document_retrieval": {
        "recall_at_5": RANKED,
        "recall_at_1": RANKED,
        "recall_at_10": RANKED,
        "hit_at_1": RANKED,
        "hit_at_5": RANKED,
        "hit_at_10": RANKED,
        "precision_at_1": RANKED,
        "precision_at_5": RANKED,
        "precision_at_10": RANKED,
        "ndcg_at_10": RANKED,
        "mrr": RANKED,
        "map": RANKED,
        "r_precision": RANKED,
    },
    "citation": {
        "f1": SHARE,
        "precision": SHARE,
        "recall": SHARE,
        "micro_precision": POOLED,
        "micro_recall": POOLED,
        "micro_f1": POOLED,
    },
    "evidence_overlap": {
        "evidence_recall": SHARE,
        "evidence_precision": SHARE,
        "evidence_f1": SHARE,
        "evidence_recall_words": SHARE,
    },
    "classification": {
        "accuracy": SHARE,
        "precision": POOLED,
        "recall": POOLED,
        "f1": POOLED,
        "micro_precision": POOLED,
        "micro_recall": POOLED,
        "micro_f1": POOLED,
        "weighted_precision": POOLED,
        "weighted_recall": POOLED,
        "weighted_f1": POOLED,
    },
}


@pytest.mark.parametrize(("name", "promised"), CONTRACT.items(), ids=list(CONTRACT))
def test_names_and_bounds_that_users_rely_on(name: str, promised: dict[str, Facts]) -> None:
    metrics = catalog.build(name).measured()
    assert {
        metric.name: (metric.best, metric.bounds, metric.threshold, metric.level)
        for metric in metrics
    } == promised
    assert [metric.name for metric in metrics if metric.primary] == [next(iter(promised))]
