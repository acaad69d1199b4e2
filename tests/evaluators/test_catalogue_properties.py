"""Every evaluator of the catalogue keeps the contract on random samples; broken ones are caught."""

from __future__ import annotations

import dataclasses
import pickle
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators import catalog, scoring
from evaluators.errors import BrokenPromise
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.outcome import Undefined
from evaluators.score_grid import ScoreGrid
from evaluators.scoring import score
from tests.evaluators import properties
from tests.evaluators.fabricated import engines
from tests.evaluators.properties import PROPERTIES
from tests.evaluators.strategies import frames
from tests.evaluators.variants import variants
from tests.support.evaluators import metric, of_frame, of_rows
from tests.support.samples import samples
from tests.support.services import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.evaluator import Evaluator
    from tests.evaluators.properties import Property, Score

CASES = [
    pytest.param(name, parameters, id=f"{name}-{place}")
    for name in catalog.catalogue()
    for place, parameters in enumerate(variants(name))
]


@pytest.mark.parametrize(("name", "parameters"), CASES)
@settings(max_examples=15 if REQUIRED else 3)
@given(data=st.data())
def test_every_property_holds(name: str, parameters: dict[str, Any], data: st.DataObject) -> None:
    evaluator = catalog.build(name, parameters)
    frame = data.draw(frames(evaluator), label="samples")
    made_up = engines(evaluator)

    def answered(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
        return score(evaluator, frame, made_up)

    remembered = _remembering(answered)
    for holds in PROPERTIES:
        anew = holds is properties.the_input_is_unchanged
        holds(answered if anew else remembered, evaluator, frame)


@pytest.mark.parametrize("name", catalog.catalogue())
def test_a_used_evaluator_can_be_sent_to_another_process(name: str) -> None:
    """What it remembers of what it has scored (processes, caches) stays behind."""
    evaluator = catalog.build(name)
    if not isinstance(evaluator, CompositeEvaluator):
        given = {"answer": "anna@bank.com", "contexts": ["a"], "constraints": '["REGEXP:(a+)+b+"]'}
        scoring.score(evaluator, samples([given]))
    assert pickle.loads(pickle.dumps(evaluator)) == evaluator  # noqa: S301 - our own


def _remembering(grade: Score) -> Score:
    """The same scoring, which scores a frame only once: many properties ask for the same one."""
    seen: dict[int, tuple[pl.DataFrame, ScoreGrid]] = {}

    def score_once(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
        if id(frame) not in seen:
            seen[id(frame)] = (frame, grade(evaluator, frame))
        return seen[id(frame)][1]

    return score_once


RATIO = pl.col("noise_ratio")
FRAME = samples(
    [
        {"noise_ratio": 0.25, "answer": "one"},
        {"noise_ratio": 1.0, "answer": "two", "system": "t"},
        {"noise_ratio": None, "answer": "three"},
        {"noise_ratio": 0.5, "answer": "four", "error": "timeout"},
        {"noise_ratio": 0.5, "answer": None},
    ]
)
SOUND = of_frame({"share": RATIO}, optional=frozenset({"answer"}))


def _changed(**columns: pl.Expr) -> Score:
    """A scoring that does something to the grades before it hands them over."""

    def wrong(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
        grades = score(evaluator, frame)
        return dataclasses.replace(grades, frame=grades.frame.with_columns(**columns))

    return wrong


def _rows(**rows: Any) -> Score:
    """A scoring that loses rows or changes their order."""

    def wrong(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
        grades = score(evaluator, frame)
        return dataclasses.replace(grades, frame=grades.frame[rows["kept"]])

    return wrong


def _greedy(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
    """A scoring that writes into what it was given."""
    grades = score(evaluator, frame)
    if frame.height:
        frame.replace_column(0, frame["benchmark"].str.to_uppercase())
    return grades


def _lenient(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
    """A scoring that takes failed answers for answers."""
    return score(evaluator, frame.with_columns(error=pl.lit(None, pl.String)))


def _careless(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
    """A scoring that gives no worst value to anybody who failed."""
    return score(evaluator, frame.filter(pl.col("error").is_null()))


def _peeking(evaluator: Evaluator, frame: pl.DataFrame) -> ScoreGrid:
    """A scoring that keeps evidence out of failed answers."""
    grades = score(evaluator, frame)
    return ScoreGrid(grades.metrics, grades.frame.with_columns(detail=frame["answer"]))


def _fold(scores: Mapping[str, Any] | None) -> Evaluator:
    def aggregate(_: Evaluator, rows: pl.DataFrame) -> Mapping[str, Any]:
        return {"pooled": rows["share"].to_list()[0]} if scores is None else scores

    system = (metric("share", primary=True), metric("pooled", level="system"))
    # By default, the failed answer of `FRAME` leaves no system metric.
    counted = {"counted": lambda _: pl.col("status") == "scored"}
    return of_frame({"share": RATIO}, metrics=system, aggregate=aggregate, **counted)


POSITION = pl.int_range(pl.len()) / 10
DEFECTS: list[tuple[str, Property, Score, Evaluator]] = [
    ("loses a row", properties.the_grid_is_complete, _rows(kept=slice(1, None)), SOUND),
    ("loses failed answers", properties.the_grid_is_complete, _careless, SOUND),
    ("turns rows round", properties.the_grid_is_complete, _rows(kept=slice(None, None, -1)), SOUND),
    (
        "gives nought for unknown",
        properties.a_value_or_a_reason,
        _changed(values=pl.col("values").list.eval(pl.element().fill_null(0.0))),
        SOUND,
    ),
    (
        "gives no reason",
        properties.a_value_or_a_reason,
        _changed(reasons=pl.lit(None, pl.List(pl.String))),
        SOUND,
    ),
    (
        "invents a status",
        properties.a_value_or_a_reason,
        _changed(statuses=pl.lit(["fine"], pl.List(pl.String))),
        SOUND,
    ),
    ("forgets a value", properties.a_value_or_a_reason, score, of_rows(lambda _: {}, "share")),
    (
        "leaves the bounds behind scoring",
        properties.values_keep_their_bounds,
        _changed(values=pl.col("values").list.eval(pl.element() * 2)),
        SOUND,
    ),
    ("exceeds", properties.values_keep_their_bounds, score, of_frame({"share": RATIO * 2})),
    ("divides by 0", properties.values_keep_their_bounds, score, of_frame({"share": RATIO / 0})),
    (
        "counts positions",
        properties.the_order_of_rows_does_not_matter,
        score,
        of_frame({"share": POSITION}),
    ),
    (
        "compares with the best",
        properties.a_subset_gives_the_same_rows,
        score,
        of_frame({"share": RATIO / RATIO.max()}),
    ),
    ("writes into its input", properties.the_input_is_unchanged, _greedy, SOUND),
    (
        "is a constant",
        properties.nothing_gives_an_empty_grid,
        score,
        of_frame({"share": pl.lit(1.0)}),
    ),
    (
        "has another type when empty",
        properties.nothing_gives_an_empty_grid,
        lambda evaluator, frame: _changed(
            values=pl.col("values") if frame.height else pl.lit(None, pl.Null)
        )(evaluator, frame),
        SOUND,
    ),
    ("forgives", properties.failed_answers_get_the_worst_or_nothing, _lenient, SOUND),
    ("looks at failed answers", properties.failed_answers_are_not_looked_at, _peeking, SOUND),
    (
        "ranks the systems",
        properties.another_system_changes_nothing,
        score,
        of_frame({"share": RATIO / RATIO.sum()}),
    ),
    ("pools too much", properties.system_metrics_keep_their_bounds, score, _fold({"pooled": 2.0})),
    ("pools nothing", properties.system_metrics_keep_their_bounds, score, _fold({})),
    ("pools the first", properties.system_metrics_keep_their_bounds, score, _fold(None)),
]


@pytest.mark.parametrize(
    ("holds", "grade", "evaluator"),
    [case[1:] for case in DEFECTS],
    ids=[case[0] for case in DEFECTS],
)
def test_a_defect_is_caught(holds: Property, grade: Score, evaluator: Evaluator) -> None:
    with pytest.raises((AssertionError, BrokenPromise)):
        holds(grade, evaluator, FRAME.clone())


def test_every_property_catches_something() -> None:
    assert {holds for _, holds, _, _ in DEFECTS} == set(PROPERTIES)


SOUND_ONES = [
    SOUND,
    of_frame({"share": RATIO}, metrics=(metric("share", primary=True, best="low"),)),
    of_frame({"share": RATIO}, failure_is_worst=False),
    of_rows(lambda sample: {"share": sample.noise_ratio or Undefined("no noise")}, "share"),
    _fold({"pooled": 0.5}),
]


@pytest.mark.parametrize("evaluator", SOUND_ONES)
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_a_sound_evaluator_passes(holds: Property, evaluator: Evaluator) -> None:
    holds(scoring.score, evaluator, FRAME.clone())
