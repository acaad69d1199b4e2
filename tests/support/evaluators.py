"""Evaluators made on the spot, so that a test can say in one line what they return."""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING, Any, cast

from evaluators.evaluator import Evaluator
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.frame import FrameEvaluator
from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from evaluators.outcome import Graded, Scores
    from evaluators.sample import Sample

RATIO = frozenset({"noise_ratio"})


def metric(name: str, **facts: Any) -> Metric:
    """A metric of which only what matters to the test is said."""
    return Metric(**({"name": name, "summary": f"The {name}."} | facts))


def of_frame(expressions: Mapping[str, pl.Expr], **attributes: Any) -> Evaluator:
    """An evaluator of expressions; it reads `noise_ratio` unless told otherwise."""
    body = {"metrics": _metrics(list(expressions)), "reads": RATIO} | attributes
    return _made(FrameEvaluator, body | {"expressions": lambda _: expressions})


def of_rows(
    grade: Callable[[Sample], Scores | Graded], *names: str, **attributes: Any
) -> Evaluator:
    """An evaluator of single samples; it reads `noise_ratio` unless told otherwise."""
    body = {"metrics": _metrics(names), "reads": RATIO} | attributes
    return _made(RowEvaluator, body | {"grade": lambda _, sample: grade(sample)})


def of_parts(
    parts: Sequence[str], expressions: Mapping[str, pl.Expr], **attributes: Any
) -> Evaluator:
    """An evaluator of other evaluators' metrics."""
    body = {"metrics": _metrics(list(expressions)), "parts": tuple(parts)} | attributes
    return _made(CompositeEvaluator, body | {"expressions": lambda _: expressions})


def computing(compute: Callable[[pl.DataFrame], pl.DataFrame], *names: str) -> Evaluator:
    """An evaluator that returns whatever `compute` does, kept by none of the kinds."""
    body = {"metrics": _metrics(names), "reads": RATIO}
    return _made(Evaluator, body | {"compute": lambda _, samples, _engines: compute(samples)})


def _metrics(names: Sequence[str]) -> tuple[Metric, ...]:
    return tuple(metric(name, primary=position == 0) for position, name in enumerate(names))


def _made(kind: ABCMeta, body: Mapping[str, Any]) -> Evaluator:
    return cast("Evaluator", ABCMeta("TestDouble", (kind,), dict(body))())
