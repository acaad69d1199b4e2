"""Classification against worked cases and scikit-learn."""

from __future__ import annotations

import collections
import itertools
import random
import statistics
from typing import Any

import pytest

from evaluators import catalog
from evaluators.outcome import Graded, Undefined
from evaluators.scoring import aggregate
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples

GOLDEN = golden("classification")
AVERAGES = ("macro", "micro", "weighted")
NAMES = ("precision", "recall", "f1")


def _rows(expected: list[str], given: list[str | None]) -> list[dict[str, Any]]:
    return [
        {"expected_label": right, "answer": answer}
        for right, answer in zip(expected, given, strict=True)
    ]


def _folded(rows: list[dict[str, Any]], **parameters: Any) -> Graded:
    evaluator = catalog.build("classification", parameters)
    return aggregate(evaluator, rows_to_fold(evaluator, samples(rows)))


def _accuracy(rows: list[dict[str, Any]], **parameters: Any) -> float:
    evaluator = catalog.build("classification", parameters)
    found = outcomes(evaluator, samples(rows))
    return statistics.fmean(row["accuracy"].value or 0.0 for row in found)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_cases(case: dict[str, Any]) -> None:
    given, expected, tolerance = case["input"], case["expected"], GOLDEN["tolerance"]
    rows = _rows(given["expected_answers"], given["actual_answers"])
    assert _accuracy(rows) == pytest.approx(expected["accuracy"], rel=0, abs=tolerance)
    graded = _folded(rows)
    for average in AVERAGES:
        prefix = "" if average == "macro" else f"{average}_"
        ours = {name: graded.scores[f"{prefix}{name}"] for name in NAMES}
        assert ours == pytest.approx(expected[average], rel=0, abs=tolerance)
    assert graded.detail == {
        "labels": expected["labels"],
        "unexpected": expected["unexpected_predictions"],
        "confusion_matrix": expected["confusion_matrix"],
    }


@pytest.mark.parametrize(
    "case",
    [case for case in GOLDEN["cases"] if case["input"]["positive_label"]],
    ids=lambda case: case["id"],
)
def test_golden_positive_labels(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    rows = _rows(given["expected_answers"], given["actual_answers"])
    scores = _folded(rows, positive_label=given["positive_label"]).scores
    ours = {name: scores[name] for name in NAMES}
    theirs = {name: expected["binary"][name] for name in NAMES}
    assert ours == pytest.approx(theirs, rel=0, abs=GOLDEN["tolerance"])
    assert scores["micro_f1"] == pytest.approx(expected["micro"]["f1"], rel=0, abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["normalised_cases"]["cases"])
def test_golden_normalised_cases(case: dict[str, Any]) -> None:
    rows = _rows(case["input"]["expected_answers"], case["input"]["actual_answers"])
    assert _accuracy(rows, normalize=True) == case["expected"]["accuracy"]


@pytest.mark.parametrize(
    ("row", "normalize", "value"),
    [
        ({"expected_label": "yes", "label": "yes", "answer": "no"}, False, 1.0),
        ({"expected_label": "yes", "label": None, "answer": "yes"}, False, 1.0),
        ({"expected_label": "yes", "label": "", "answer": "yes"}, False, 1.0),
        ({"expected_label": "yes", "label": "", "answer": ""}, False, 0.0),
        ({"expected_label": "yes", "label": None, "answer": None}, False, 0.0),
        ({"expected_label": "yes", "label": "Yes"}, False, 0.0),
        ({"expected_label": "yes", "label": "yes."}, False, 0.0),
        ({"expected_label": "Straße", "label": " **STRASSE**! "}, True, 1.0),
        ({"expected_label": "not  sure", "label": "Not\nsure."}, True, 1.0),
        ({"expected_label": "no", "label": "n.o"}, True, 0.0),
        ({"expected_label": "é", "label": "e\u0301"}, True, 1.0),
        ({"expected_label": "é", "label": "e\u0301"}, False, 1.0),
        ({"expected_label": "é", "label": "e"}, True, 0.0),
    ],
)
def test_a_label_is_right_or_wrong(row: dict[str, Any], normalize: bool, value: float) -> None:
    evaluator = catalog.build("classification", {"normalize": normalize})
    assert outcomes(evaluator, samples([row])) == [{"accuracy": Outcome(value)}]


@pytest.mark.parametrize("label", [None, "", " "])
def test_without_an_expected_label_there_is_no_value(label: str | None) -> None:
    evaluator = catalog.build("classification")
    row = {"expected_label": label, "label": "yes"}
    assert outcomes(evaluator, samples([row])) == [
        {"accuracy": Outcome(None, "not_applicable", "no expected_label")}
    ]
    scores = _folded([row]).scores
    assert {type(score) for score in scores.values()} == {Undefined}


def test_a_failed_answer_has_no_label() -> None:
    rows = [
        {"expected_label": "yes", "label": "yes"},
        {"expected_label": "yes", "label": "yes", "error": "cut off"},
    ]
    found = outcomes(catalog.build("classification"), samples(rows))
    assert found[1] == {"accuracy": Outcome(0.0, "scored", "target_error")}
    graded = _folded(rows)
    assert graded.scores["recall"] == 0.5
    assert graded.detail is not None
    assert graded.detail["unexpected"] == [""]
    assert graded.detail["confusion_matrix"] == [[1, 1], [0, 0]]


FOUR = _rows(["a", "b", "c", "a"], ["a", "a", "c", "x"])


def test_labels_of_ones_own() -> None:
    graded = _folded(FOUR, labels=["b", "a"])
    assert graded.detail == {
        "labels": ["b", "a"],
        "unexpected": ["c", "x"],
        "confusion_matrix": [[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]],
    }
    assert graded.scores["precision"] == pytest.approx((0 + 1 / 2) / 2, rel=0, abs=1e-12)
    assert graded.scores["recall"] == pytest.approx((0 + 1 / 2) / 2, rel=0, abs=1e-12)


def test_the_confusion_matrix_has_every_sample() -> None:
    graded = _folded(_rows(["a", "b", "c"], ["a", "a", "b"]), labels=["a", "b"])
    assert graded.detail == {
        "labels": ["a", "b"],
        "unexpected": ["c"],
        "confusion_matrix": [[1, 0, 0], [1, 0, 0], [0, 1, 0]],
    }


def test_labels_are_compared_as_samples_are() -> None:
    rows = _rows(["YES", "no"], ["yes.", "**No**"])
    graded = _folded(rows, normalize=True, labels=["Yes!", "No"], positive_label="yes")
    assert graded.detail is not None
    assert graded.detail["labels"] == ["yes", "no"]
    assert graded.detail["confusion_matrix"] == [[1, 0], [0, 1]]
    assert set(graded.scores.values()) == {1.0}


@pytest.mark.parametrize(
    ("rows", "positive"),
    [(FOUR, "a"), (_rows(["a", "b"], ["a", "b"]), "z"), (_rows(["a"], ["a"]), "a")],
)
def test_a_positive_label_needs_two_labels(rows: list[dict[str, Any]], positive: str) -> None:
    scores = _folded(rows, positive_label=positive).scores
    assert {type(scores[name]) for name in NAMES} == {Undefined}
    assert isinstance(scores["weighted_f1"], float)


def test_labels_that_are_never_expected_have_no_average() -> None:
    scores = _folded(_rows(["a"], ["a"]), labels=["y", "z"]).scores
    assert isinstance(scores["weighted_f1"], Undefined)
    assert scores["f1"] == 0.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("chosen", [(), ("a", "b", "q")])
def test_equal_to_scikit_learn(seed: int, chosen: tuple[str, ...]) -> None:
    from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

    source = random.Random(seed)
    known = ["a", "b", "c", "dé", 'e"'][: source.randint(2, 5)]
    right = source.choices(known, weights=range(1, len(known) + 1), k=150)
    given = [source.choice([label, source.choice([*known, "?", ""])]) for label in right]
    rows = _rows(right, list(given))
    labels = list(chosen) or sorted(set(right))
    graded = _folded(rows, labels=list(chosen))
    for average in AVERAGES:
        prefix = "" if average == "macro" else f"{average}_"
        theirs = precision_recall_fscore_support(
            right, given, labels=labels, average=average, zero_division=0
        )
        ours = [graded.scores[f"{prefix}{name}"] for name in NAMES]
        assert ours == pytest.approx(list(theirs[:3]), rel=0, abs=1e-9)
    assert graded.detail is not None
    axis = [*labels, *graded.detail["unexpected"]]
    assert set(axis) == {*labels, *right, *given}
    matrix = confusion_matrix(right, given, labels=axis).tolist()
    assert graded.detail["confusion_matrix"] == matrix
    assert _accuracy(rows) == pytest.approx(accuracy_score(right, given), rel=0, abs=1e-12)


def test_failed_answers_are_the_wrong_labels_that_hurt_most() -> None:
    """The averages are the lowest of all ways to give the failed answers a wrong label."""
    expected = ["a"] * 5 + ["b"] * 3 + ["c"] * 2
    given = ["a", "a", "a", "b", "c", "b", "b", "a", "c", "c"]
    rows = _rows(expected, given)
    for failing in ((3, 4, 7), (0, 5, 9), (8, 9, 7)):
        failed = [
            row | ({"error": "timeout"} if at in failing else {}) for at, row in enumerate(rows)
        ]
        graded = _folded(failed)
        lowest: dict[str, float] = {}
        for labels in itertools.product("abc", repeat=len(failing)):
            answers = [*given]
            for at, label in zip(failing, labels, strict=True):
                # A label of its own axis stands for a wrong one, whatever is expected.
                answers[at] = f"wrong {label}"
            counts = collections.Counter(zip(expected, answers, strict=True))
            for name, value in _by_hand(counts).items():
                lowest[name] = min(value, lowest.get(name, 1.0))
        for name, value in lowest.items():
            assert graded.scores[name] == pytest.approx(value, rel=0, abs=1e-12), (name, failing)


def _by_hand(counts: collections.Counter[tuple[str, str]]) -> dict[str, float]:
    """Macro and weighted precision and F1, where `wrong a` counts as given `a`, but never right."""
    found: dict[str, list[float]] = {"precision": [], "f1": []}
    supports = []
    for label in "abc":
        right = counts[label, label]
        taken = sum(n for (_, given), n in counts.items() if given in (label, f"wrong {label}"))
        support = sum(n for (expected, _), n in counts.items() if expected == label)
        supports.append(support)
        found["precision"].append(right / taken if taken else 0.0)
        found["f1"].append(2 * right / (taken + support))
    return {
        **{name: sum(values) / 3 for name, values in found.items()},
        **{
            f"weighted_{name}": sum(v * n for v, n in zip(values, supports, strict=True)) / 10
            for name, values in found.items()
        },
    }


def test_absent_labels_are_in_no_average_unless_they_are_listed() -> None:
    rows = _rows(["a", "a", "b", "b"], ["a", "b", "b", "x"])
    own, listed = _folded(rows).scores, _folded(rows, labels=["a", "b", "c"]).scores
    for name in ("precision", "recall", "f1"):
        macro, more = own[name], listed[name]
        assert isinstance(macro, float)
        assert more == pytest.approx(macro * 2 / 3)
        assert listed[f"weighted_{name}"] == own[f"weighted_{name}"]
