"""What holds for the declarations of every evaluator, and that wrong ones are found."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators import catalog
from evaluators.evaluator import Evaluator
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.sample import KEYS, SAMPLE_COLUMNS
from tests.support.evaluators import metric, of_frame, of_parts

if TYPE_CHECKING:
    from collections.abc import Callable


def one_primary(evaluator: Evaluator) -> bool:
    """Exactly one metric is primary, and it is a sample metric."""
    primary = [metric.level for metric in evaluator.measured() if metric.primary]
    return primary == ["sample"]


def different_metrics(evaluator: Evaluator) -> bool:
    """No two metrics share a name."""
    names = [metric.name for metric in evaluator.measured()]
    return len(set(names)) == len(names)


def declared_metrics(evaluator: Evaluator) -> bool:
    """What the class declares is what its default parameters give."""
    return evaluator.metrics == evaluator.measured()


def summaries(evaluator: Evaluator) -> bool:
    """A summary is one sentence."""
    return all(re.fullmatch(r"[A-Z][^\n]*\.", metric.summary) for metric in evaluator.measured())


def question(evaluator: Evaluator) -> bool:
    """The docstring opens with the question that the evaluator answers."""
    return _prose(evaluator).partition("\n\n")[0].replace("\n", " ").rstrip().endswith("?")


def sources_and_edges(evaluator: Evaluator) -> bool:
    """The docstring names its source and says what happens at the edges."""
    text = _prose(evaluator)
    return bool(
        re.search(r"^Sources?: \S", text, re.MULTILINE)
        and re.search(r"^Edges: \S", text, re.MULTILINE)
    )


def parameters(evaluator: Evaluator) -> bool:
    """Every parameter is explained, in the class that brings it."""
    prose = [inspect.cleandoc(vars(cls).get("__doc__") or "") for cls in type(evaluator).__mro__]
    listed = "\n".join(text.partition("Attributes:\n")[2] for text in prose)
    return all(re.search(rf"(?m)^ *{field.name}: \S", listed) for field in fields(evaluator))


def folds(evaluator: Evaluator) -> bool:
    """There is a fold exactly when there are metrics of whole systems."""
    return (type(evaluator).aggregate is not Evaluator.aggregate) == bool(evaluator.system_metrics)


def columns(evaluator: Evaluator) -> bool:
    """It reads sample columns, each either as needed or as optional, and no keys."""
    known = set(SAMPLE_COLUMNS) - {*KEYS, "error"}
    named = evaluator.reads | evaluator.optional
    return (
        named <= known
        and not evaluator.reads & evaluator.optional
        and evaluator.non_empty <= evaluator.reads
    )


def parts(evaluator: Evaluator) -> bool:
    """The parts of a composite are sample metrics of other evaluators."""
    if not isinstance(evaluator, CompositeEvaluator):
        return True
    known = {
        f"{name}.{metric.name}"
        for name in catalog.catalogue()
        if name != evaluator.name
        for metric in catalog.build(name).sample_metrics
    }
    return set(evaluator.parts) <= known and bool(evaluator.parts)


def versions(evaluator: Evaluator) -> bool:
    """The version counts from 1 and ends the signature that begins with the name."""
    ends = (
        evaluator.signature.startswith(evaluator.name),
        evaluator.signature.endswith(f"|version:{evaluator.version}"),
    )
    return evaluator.version >= 1 and all(ends)


RULES = (
    one_primary,
    different_metrics,
    declared_metrics,
    summaries,
    question,
    sources_and_edges,
    parameters,
    folds,
    columns,
    parts,
    versions,
)


def _prose(evaluator: Evaluator) -> str:
    return inspect.cleandoc(type(evaluator).__doc__ or "")


@pytest.mark.parametrize("name", list(catalog.catalogue()))
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_evaluator_keeps(rule: Callable[[Evaluator], bool], name: str) -> None:
    assert rule(catalog.build(name)), f"{name}: {rule.__doc__}"


@pytest.mark.parametrize("name", list(catalog.catalogue()))
def test_every_evaluator_survives_its_own_parameters(name: str) -> None:
    evaluator = catalog.build(name)
    again = catalog.build(name, evaluator.parameters)
    assert (again, again.signature) == (evaluator, evaluator.signature)


def test_signatures_differ() -> None:
    signatures = {catalog.build(name).signature for name in catalog.catalogue()}
    assert len(signatures) == len(catalog.catalogue())


def _double(*metrics: Any, **attributes: Any) -> Evaluator:
    given = metrics or (metric("share", primary=True),)
    return of_frame({"share": pl.lit(1.0)}, metrics=given, **attributes)


SYSTEM = metric("all", level="system")
PRIMARY = metric("share", primary=True)
WRONG: list[tuple[Callable[[Evaluator], bool], Evaluator]] = [
    (one_primary, _double(metric("share"))),
    (one_primary, _double(PRIMARY, metric("rest", primary=True))),
    (one_primary, _double(metric("share"), metric("all", level="system", primary=True))),
    (different_metrics, _double(PRIMARY, metric("share"))),
    (declared_metrics, _double(measured=lambda _: (metric("rest", primary=True),))),
    (summaries, _double(metric("share", summary="a share"))),
    (summaries, _double(metric("share", summary="A share.\nOf two."))),
    (question, _double(__doc__="A share.")),
    (question, _double(__doc__=None)),
    (sources_and_edges, _double(__doc__="Who?\n\nSource: a book.")),
    (sources_and_edges, _double(__doc__="Who?\n\nEdges: none.")),
    (parameters, catalog.build("classification")),
    (folds, _double(PRIMARY, SYSTEM)),
    (folds, _double(aggregate=lambda _self, _rows: {})),
    (columns, _double(reads=frozenset({"anwser"}))),
    (columns, _double(reads=frozenset({"system"}))),
    (columns, _double(optional=frozenset({"noise_ratio"}))),
    (columns, _double(non_empty=frozenset({"answer"}))),
    (parts, of_parts(["citation.f_1"], {"share": pl.lit(1.0)})),
    (parts, of_parts([], {"share": pl.lit(1.0)})),
    (versions, _double(version=0)),
]


@pytest.mark.parametrize(("rule", "evaluator"), WRONG)
def test_a_wrong_evaluator_is_found(
    rule: Callable[[Evaluator], bool], evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rule is parameters:
        monkeypatch.setattr(type(evaluator), "__doc__", "Who?\n\nAttributes:\n    labels: Some.")
    assert not rule(evaluator)


def test_every_rule_finds_something() -> None:
    assert {rule for rule, _ in WRONG} == set(RULES)
