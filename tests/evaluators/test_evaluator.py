"""What follows from an evaluator's declarations: name, parameters, signature, columns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators import catalog
from evaluators.evaluator import Evaluator
from evaluators.kinds.frame import FrameEvaluator
from tests.support.evaluators import metric, of_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNATURES: list[tuple[str, Mapping[str, Any], str]] = [
    ("citation", {}, "citation|version:2"),
    ("evidence_overlap", {}, f"evidence_overlap|regex=={version('regex')}|version:3"),
    (
        "document_retrieval",
        {},
        "document_retrieval|cutoffs:[1,5,10]|ndcg_cutoffs:[10]|version:1",
    ),
    (
        "document_retrieval",
        {"cutoffs": [1, 3], "ndcg_cutoffs": [3]},
        "document_retrieval|cutoffs:[1,3]|ndcg_cutoffs:[3]|version:1",
    ),
    (
        "classification",
        {},
        "classification|labels:[]|normalize:false|positive_label:null|version:3",
    ),
    (
        "classification",
        {"normalize": True, "labels": ["oui", "été"], "positive_label": "été"},
        'classification|labels:["oui","été"]|normalize:true|positive_label:"été"|version:3',
    ),
]


@pytest.mark.parametrize(("name", "parameters", "signature"), SIGNATURES)
def test_signatures_stay_what_they_are(
    name: str, parameters: Mapping[str, Any], signature: str
) -> None:
    assert catalog.build(name, parameters).signature == signature


def test_signatures_tell_parameters_apart() -> None:
    assert len({signature for _, _, signature in SIGNATURES}) == len(SIGNATURES)


@pytest.mark.parametrize(("name", "parameters", "signature"), SIGNATURES)
def test_parameters_survive_json(name: str, parameters: Mapping[str, Any], signature: str) -> None:
    evaluator = catalog.build(name, parameters)
    again = catalog.build(name, json.loads(json.dumps(dict(evaluator.parameters))))
    assert again == evaluator
    assert again.signature == signature


@dataclass(frozen=True, kw_only=True)
class Gpt4Share(FrameEvaluator):
    """A share."""

    metrics = (
        metric("share", primary=True),
        metric("pooled", level="system"),
        metric("rest"),
    )
    reads = frozenset({"answer"})
    optional = frozenset({"label"})
    version = 3

    weight: float = 0.5

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Two numbers that add up to 1."""
        return {"share": pl.lit(self.weight), "rest": pl.lit(1 - self.weight)}


def test_the_name_is_that_of_the_class() -> None:
    assert (Gpt4Share.name, Gpt4Share().name) == ("gpt4_share", "gpt4_share")


def test_the_version_and_the_parameters_are_signed() -> None:
    assert Gpt4Share().signature == "gpt4_share|weight:0.5|version:3"
    assert Gpt4Share(weight=0.25).signature == "gpt4_share|weight:0.25|version:3"


def test_columns_are_all_that_it_looks_at() -> None:
    assert Gpt4Share().columns == {"answer", "label"}


def test_metrics_are_split_by_level_and_keep_their_order() -> None:
    assert [metric.name for metric in Gpt4Share().sample_metrics] == ["share", "rest"]
    assert [metric.name for metric in Gpt4Share().system_metrics] == ["pooled"]


def test_system_metrics_without_a_fold_are_a_defect() -> None:
    with pytest.raises(
        NotImplementedError, match="gpt4_share declares system metrics but no aggregate"
    ):
        Gpt4Share().aggregate(pl.DataFrame())


def test_an_evaluator_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Gpt4Share().weight = 1.0  # type: ignore[misc]


def test_parameters_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        Gpt4Share(0.5)  # type: ignore[call-arg]


def test_an_evaluator_without_computation_cannot_be_made() -> None:
    class Unfinished(Evaluator):
        """Nothing yet."""

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]


def test_parameters_that_json_does_not_know_are_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        _ = Gpt4Share(weight=object()).signature  # type: ignore[arg-type]


def test_the_double_is_an_evaluator_like_any_other() -> None:
    assert of_frame({"share": pl.lit(1.0)}).signature == "test_double|version:1"
