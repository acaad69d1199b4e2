"""Document retrieval against worked cases, published figures' cases, and trec_eval."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import ir_measures
import pytest

from evaluators import catalog
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, samples, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GOLDEN = golden("retrieval")
DEPTHS = {"cutoffs": [1, 3, 5, 10], "ndcg_cutoffs": [1, 3, 5, 10]}
DEEP = catalog.build("document_retrieval", DEPTHS)
PLAIN = catalog.build("document_retrieval")
MEASURED = {metric.name: metric.name.replace("_at_", "@") for metric in DEEP.sample_metrics}


def _row(gold: Any, ranking: Iterable[Any] | None) -> dict[str, Any]:
    """A sample as the warehouse gives it: identifiers are text, relevant from grade 1 on."""
    row: dict[str, Any] = {"gold_doc_ids": gold}
    if isinstance(gold, dict):
        row["gold_doc_ids"] = [doc for doc, grade in gold.items() if grade >= 1]
        row["gold_relevance"] = [{"doc_id": doc, "grade": n} for doc, n in gold.items()]
    elif gold is not None:
        row["gold_doc_ids"] = [str(doc) for doc in gold]
    row["retrieved_doc_ids"] = None if ranking is None else list(ranking)
    return row


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_cases(case: dict[str, Any]) -> None:
    row = _row(case["input"]["gold"], case["input"]["predicted"])
    (found,) = outcomes(DEEP, samples([row]))
    if case["expected"] is None:
        assert {(outcome.value, outcome.status) for outcome in found.values()} == {
            (None, "not_applicable")
        }
        return
    expected = {ours: case["expected"][theirs] for ours, theirs in MEASURED.items()}
    given = {name: outcome.value for name, outcome in found.items()}
    assert given == pytest.approx(expected, rel=0, abs=GOLDEN["tolerance"])


WORKED: list[tuple[str, Any, list[Any], dict[str, float]]] = [
    (
        "two relevant among three",
        ["d1", "d3"],
        ["d2", "d1", "d3", "d9", "d8", "d7"],
        {
            "recall_at_1": 0,
            "recall_at_5": 1,
            "precision_at_5": 2 / 5,
            "mrr": 1 / 2,
            "map": (1 / 2 + 2 / 3) / 2,
            "r_precision": 1 / 2,
        },
    ),
    ("repeated", ["d1"], ["d1", "d1", "d1"], {"recall_at_5": 1, "precision_at_5": 1 / 5}),
    ("repeated ones move others up", ["d2"], ["d1", "d1", "d2"], {"mrr": 1 / 2}),
    ("nulls hold no place", ["d2"], [None, "d1", None, "d2"], {"mrr": 1 / 2}),
    ("fewer than k", ["d1"], ["d1"], {"precision_at_10": 1 / 10, "recall_at_1": 1}),
    ("nothing", ["d1"], [], {"recall_at_5": 0, "mrr": 0, "map": 0, "ndcg_at_10": 0}),
    ("relevant ones repeated", ["d1", "d1", "d2"], ["d1"], {"recall_at_1": 1 / 2}),
    ("case counts", ["D1"], ["d1"], {"hit_at_10": 0}),
    ("blanks count", ["d1"], ["d1 "], {"hit_at_10": 0}),
    ("forms of a letter count", ["é"], ["e\u0301"], {"hit_at_10": 0}),
    ("below every cut-off", ["z"], [f"d{n}" for n in range(19)] + ["z"], {"mrr": 1 / 20}),
    (
        "grades are gains",
        {"d1": 1, "d2": 3},
        ["d1", "d2"],
        {"ndcg_at_10": (1 + 3 / 1.5849625007211562) / (3 + 1 / 1.5849625007211562)},
    ),
    ("grade 0 is not relevant", {"d1": 1, "d2": 0}, ["d2", "d1"], {"mrr": 1 / 2, "recall_at_1": 0}),
    ("a grade below 0 takes nothing away", {"a": -2, "b": 1}, ["b", "a"], {"ndcg_at_10": 1}),
]


@pytest.mark.parametrize(
    ("gold", "ranking", "expected"), [case[1:] for case in WORKED], ids=[case[0] for case in WORKED]
)
def test_worked_cases(gold: Any, ranking: list[Any], expected: dict[str, float]) -> None:
    given = values(PLAIN, _row(gold, ranking))
    assert {name: given[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (_row(None, ["a"]), "not_applicable"),
        (_row([], ["a"]), "not_applicable"),
        (_row({"a": 0}, ["a"]), "not_applicable"),
        (_row(["a"], None), "not_applicable"),
        ({"gold_doc_ids": [None], "retrieved_doc_ids": ["a"]}, "undefined"),
        ({"gold_doc_ids": ["a"], "gold_relevance": [], "retrieved_doc_ids": ["a"]}, "undefined"),
    ],
)
def test_without_relevant_documents_no_metric_has_a_value(
    row: Mapping[str, Any], status: str
) -> None:
    (found,) = outcomes(PLAIN, samples([row]))
    assert {(outcome.value, outcome.status) for outcome in found.values()} == {(None, status)}


def test_a_document_that_is_judged_twice_has_its_better_grade() -> None:
    row = _row({"a": 1, "b": 2}, ["b", "a"])
    once = values(PLAIN, row)
    for place in (0, len(row["gold_relevance"])):
        row["gold_relevance"].insert(place, {"doc_id": "a", "grade": 3})
        twice = values(PLAIN, row)
        assert twice["ndcg_at_10"] == pytest.approx(
            values(PLAIN, _row({"a": 3, "b": 2}, ["b", "a"]))["ndcg_at_10"], rel=0, abs=1e-12
        )
        assert (twice["map"], twice["recall_at_1"]) == (once["map"], once["recall_at_1"])
        del row["gold_relevance"][place]


def test_a_failed_answer_retrieved_nothing() -> None:
    row = _row(["a"], ["a"]) | {"error": "cut off"}
    (found,) = outcomes(PLAIN, samples([row]))
    assert set(found.values()) == {Outcome(0.0, "scored", "target_error")}


@pytest.mark.parametrize(
    ("parameters", "primary"),
    [
        ({}, "recall_at_5"),
        ({"cutoffs": [5, 20]}, "recall_at_5"),
        ({"cutoffs": [20, 1]}, "recall_at_20"),
        ({"cutoffs": [3]}, "recall_at_3"),
    ],
)
def test_the_primary_metric(parameters: dict[str, Any], primary: str) -> None:
    metrics = catalog.build("document_retrieval", parameters).measured()
    assert [metric.name for metric in metrics if metric.primary] == [primary]


def test_cutoffs_change_no_other_number() -> None:
    row = _row({"a": 2, "b": 1, "c": 3}, ["x", "b", "y", "a", "z", "c"])
    plain, deep = values(PLAIN, row), values(DEEP, row)
    assert {name: deep[name] for name in plain} == plain


ORACLE = {
    **{f"recall_at_{k}": ir_measures.R @ k for k in DEPTHS["cutoffs"]},
    **{f"precision_at_{k}": ir_measures.P @ k for k in DEPTHS["cutoffs"]},
    **{f"hit_at_{k}": ir_measures.Success @ k for k in DEPTHS["cutoffs"]},
    **{f"ndcg_at_{k}": ir_measures.nDCG @ k for k in DEPTHS["ndcg_cutoffs"]},
    "mrr": ir_measures.RR,
    "map": ir_measures.AP,
    "r_precision": ir_measures.Rprec,
}


def _runs(seed: int, count: int) -> list[tuple[dict[str, int], list[str]]]:
    """Random judgements and rankings with repeated documents; each has a relevant one."""
    source = random.Random(seed)
    runs = []
    for _ in range(count):
        pool = [f"d{n}" for n in range(source.choice([5, 20, 60]))]
        judged = source.sample(pool, source.randint(1, min(15, len(pool))))
        grades = {doc: source.choice([-1, 0, 1, 1, 2, 3]) for doc in judged}
        grades[judged[0]] = source.randint(1, 3)
        runs.append((grades, source.choices(pool, k=source.randint(1, 30))))
    return runs


@pytest.mark.parametrize("graded", [True, False])
def test_equal_to_trec_eval(graded: bool) -> None:
    runs = _runs(seed=20 + graded, count=400)
    rows, qrels, run = [], {}, {}
    for number, (grades, ranking) in enumerate(runs, start=1):
        judged = grades if graded else {doc: 1 for doc, grade in grades.items() if grade >= 1}
        rows.append(_row(judged if graded else list(judged), ranking))
        # trec_eval orders by score and breaks ties its own way: scores fall strictly here.
        places = list(dict.fromkeys(ranking))
        qrels[f"q{number}"] = judged
        run[f"q{number}"] = {doc: float(len(places) - place) for place, doc in enumerate(places)}
    expected: dict[str, dict[str, float]] = defaultdict(dict)
    names = {measure: name for name, measure in ORACLE.items()}
    for found in ir_measures.iter_calc(list(ORACLE.values()), qrels, run):
        expected[found.query_id][names[found.measure]] = found.value
    assert set(ORACLE) == set(MEASURED)
    for number, given in enumerate(outcomes(DEEP, samples(rows)), start=1):
        ours = {name: outcome.value for name, outcome in given.items()}
        assert ours == pytest.approx(expected[f"q{number}"], rel=0, abs=1e-9), rows[number - 1]
