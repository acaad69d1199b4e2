"""An engine that cannot be had: known before, known when it is loaded, or needed for a part."""

from __future__ import annotations

from typing import Any

from evaluators.catalog import build
from evaluators.errors import Unavailable
from evaluators.flows.protocols import Engines
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_models import Answers, vectors

ROWS = [
    {"answer": "The first sentence.", "contexts": ["The first sentence."]},
    {"answer": "The first sentence.", "contexts": ["The first sentence."], "error": "timeout"},
    {"answer": "", "contexts": ["The first sentence."]},
    {"answer": "The first sentence.", "contexts": None},
]


def statuses(encoder: Answers) -> list[tuple[str, Any]]:
    engines = Engines(models={"embedding": encoder})
    rows = score(build("groundedness"), samples(ROWS), engines).long().rows(named=True)
    return [(row["status"], row["reason"]) for row in rows]


class Broken(Answers):
    """Turns out to be broken when it is asked."""

    def answer(self, requests: Any) -> Any:
        """Say that it cannot be loaded."""
        self.asked += requests
        raise Unavailable("models.embedding: cannot be loaded")


def test_a_model_that_is_there_scores() -> None:
    encoder = vectors({"The first sentence.": (1, 0)})
    assert [status for status, _ in statuses(encoder)] == [
        "scored",
        "scored",
        "undefined",
        "not_applicable",
    ]


def test_an_obstacle_holds_for_every_sample_that_applies() -> None:
    encoder = Answers(lambda _: None, obstacle="install it")
    assert statuses(encoder) == [("not_applicable", "install it")] * 3 + [
        ("not_applicable", "no contexts")
    ]


def test_so_does_one_that_is_found_out_on_the_way() -> None:
    """Also for a failed answer: a system must not be compared on the part that failed."""
    reason = ("not_applicable", "models.embedding: cannot be loaded")
    found = statuses(Broken(lambda _: None))
    assert found == [reason] * 3 + [("not_applicable", "no contexts")]


def test_without_samples_nothing_is_looked_at() -> None:
    class Untouchable(Answers):
        def unavailable_reason(self) -> str | None:
            raise AssertionError

    engines = Engines(models={"embedding": Untouchable(lambda _: None)})
    assert score(build("groundedness"), samples([]), engines).frame.is_empty()


def test_one_engine_less() -> None:
    engines = Engines(models={"embedding": vectors({})}).without("entailment", "not here")
    assert engines.missing_reason({"embedding", "entailment"}) == "not here"
    assert engines.missing_reason({"embedding"}) is None
