"""Citations against worked cases and scikit-learn."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest

from evaluators import catalog
from evaluators.outcome import TargetError, Undefined
from evaluators.scoring import aggregate
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples, values

GOLDEN = golden("citation")
CITATION = catalog.build("citation")
NAMES = ("precision", "recall", "f1")
MICRO = tuple(f"micro_{name}" for name in NAMES)


def _row(gold: list[Any] | None, cited: list[Any] | None) -> dict[str, Any]:
    """A sample as the warehouse gives it: nothing cited, where others are, is an empty list."""
    return {"gold_sentence_ids": gold, "cited_sentence_ids": cited or []}


def _rows(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_row(case["gold"], case["predicted"]) for case in cases]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_cases(case: dict[str, Any]) -> None:
    (found,) = outcomes(CITATION, samples(_rows([case["input"]])))
    if case["expected"] is None:
        assert {outcome.value for outcome in found.values()} == {None}
        assert {outcome.status for outcome in found.values()} <= {"not_applicable", "undefined"}
        return
    given = {name: outcome.value for name, outcome in found.items()}
    expected = {name: case["expected"][name] for name in NAMES}
    assert given == pytest.approx(expected, rel=0, abs=GOLDEN["tolerance"])


@pytest.mark.parametrize("case", GOLDEN["dataset_cases"], ids=lambda case: case["note"])
def test_golden_sets(case: dict[str, Any]) -> None:
    expected, tolerance = case["expected"], GOLDEN["tolerance"]
    frame = samples(_rows(case["rows"]))
    scored = [row for row in outcomes(CITATION, frame) if row["f1"].status == "scored"]
    assert (len(case["rows"]), len(scored)) == (expected["n_rows"], expected["n_with_evidence"])
    for name in NAMES:
        mean = statistics.fmean(row[name].value or 0.0 for row in scored)
        assert mean == pytest.approx(expected[f"macro_{name}"], rel=0, abs=tolerance)
    micro = aggregate(CITATION, rows_to_fold(CITATION, frame)).scores
    assert micro == pytest.approx({name: expected[name] for name in MICRO}, rel=0, abs=tolerance)


@pytest.mark.parametrize(
    ("gold", "cited", "expected"),
    [
        (["S14", "S15"], ["S13", "S14", "S15"], (2 / 3, 1, 4 / 5)),
        (["S1", "S2"], ["S1", "S1", "S1", "S3"], (1 / 2, 1 / 2, 1 / 2)),
        (["S1"], [], (0, 0, 0)),
        (["S1"], ["", None], (0, 0, 0)),
        (["S1", "", None], ["S1"], (1, 1, 1)),
        (["S1"], ["s1"], (0, 0, 0)),
        (["S1"], ["S01"], (0, 0, 0)),
        (["S1"], ["S1 "], (0, 0, 0)),
        (["a#S1"], ["b#S1"], (0, 0, 0)),
    ],
)
def test_worked_cases(gold: list[Any], cited: list[Any], expected: tuple[float, ...]) -> None:
    given = values(CITATION, _row(gold, cited))
    assert given == pytest.approx(dict(zip(NAMES, expected, strict=True)), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (_row(None, ["S1"]), "not_applicable"),
        (_row([], ["S1"]), "not_applicable"),
        ({"gold_sentence_ids": ["S1"], "cited_sentence_ids": None}, "not_applicable"),
        (_row(["", None], ["S1"]), "undefined"),
    ],
)
def test_without_gold_evidence_there_is_no_value(row: dict[str, Any], status: str) -> None:
    (found,) = outcomes(CITATION, samples([row]))
    assert {(outcome.value, outcome.status) for outcome in found.values()} == {(None, status)}


def test_a_failed_answer_cites_nothing() -> None:
    right = _row(["S1", "S2"], ["S1", "S2"])
    frame = samples([right, right | {"error": "cut off"}])
    answered, failed = outcomes(CITATION, frame)
    assert set(answered.values()) == {Outcome(1.0)}
    assert set(failed.values()) == {Outcome(0.0, "scored", "target_error")}
    micro = aggregate(CITATION, rows_to_fold(CITATION, frame)).scores
    assert micro["micro_recall"] == 0.5
    for name in ("micro_precision", "micro_f1"):
        assert isinstance(micro[name], TargetError), name


def test_micro_figures_leave_out_what_has_no_gold_evidence() -> None:
    frame = samples([_row(["S1"], ["S1"]), _row([""], ["S1", "S2"]), _row([], ["S1"])])
    micro = aggregate(CITATION, rows_to_fold(CITATION, frame)).scores
    assert micro == dict.fromkeys(MICRO, 1.0)


def test_micro_figures_of_nothing_are_undefined() -> None:
    for rows in ([], [_row([], ["S1"])], [_row([""], ["S1"])]):
        folded = aggregate(CITATION, rows_to_fold(CITATION, samples(rows)))
        assert set(folded.scores) == set(MICRO)
        assert all(isinstance(score, Undefined) for score in folded.scores.values())


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn(seed: int) -> None:
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    source = random.Random(seed)
    names = [f"S{n}" for n in range(12)]
    pairs = [
        (
            source.choices(names, k=source.randint(1, 6)),
            source.choices(names, k=source.randint(0, 8)),
        )
        for _ in range(200)
    ]
    binary = MultiLabelBinarizer(classes=names)
    gold, cited = (binary.fit_transform(side) for side in zip(*pairs, strict=True))
    frame = samples([_row(*pair) for pair in pairs])
    given = outcomes(CITATION, frame)
    micro = aggregate(CITATION, rows_to_fold(CITATION, frame)).scores
    for average, ours in (
        ("samples", [statistics.fmean(row[name].value or 0.0 for row in given) for name in NAMES]),
        ("micro", [micro[name] for name in MICRO]),
    ):
        theirs = precision_recall_fscore_support(gold, cited, average=average, zero_division=0)
        assert ours == pytest.approx(list(theirs[:3]), rel=0, abs=1e-9)
