"""The boolean family: what a verdict is worth, and the share of passes of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from evaluators.kinds.pass_fail import (
    NOT_JUDGED,
    PassFailEvaluator,
    pass_fail_scores,
    unjudged_scores,
)
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import Graded, Scores, Undefined
from evaluators.scoring import aggregate

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator
    from evaluators.sample import Sample

NAMES = ("passes", "failures", "retrieval_failures", "generation_failures", "parse_failures")


class Polite(PassFailEvaluator, RowEvaluator):
    """Whether the answer says please."""

    reads = frozenset({"answer"})

    def grade(self, sample: Sample) -> Scores:
        """Look for the word."""
        return pass_fail_scores(answer="please" in (sample.answer or ""))


@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        (True, True, (1, 0, 0, 0, 0)),
        (True, False, (0, 1, 1, 0, 0)),
        (False, True, (0, 1, 0, 1, 0)),
        (False, False, (0, 1, 1, 1, 0)),
    ],
)
def test_verdicts(answer: bool, context: bool, expected: tuple[int, ...]) -> None:
    assert pass_fail_scores(answer=answer, context=context) == dict(
        zip(NAMES, expected, strict=True)
    )


def test_a_context_that_was_not_judged_has_no_number_and_does_not_count() -> None:
    assert pass_fail_scores(answer=True) == {
        "passes": 1,
        "failures": 0,
        "retrieval_failures": NOT_JUDGED,
        "generation_failures": 0,
        "parse_failures": 0,
    }


def test_a_sample_that_cannot_be_judged_is_neither_a_failure_nor_a_parse_failure() -> None:
    reason = Undefined("too long")
    assert unjudged_scores(reason) == {**dict.fromkeys(NAMES[:4], reason), "parse_failures": 0}


def folded(evaluator: Evaluator, *rows: tuple[float | None, ...]) -> object:
    schema = dict.fromkeys(NAMES, pl.Float64)
    frame = pl.DataFrame(list(rows), schema=schema, orient="row")
    known = {"status": pl.lit("scored"), "failed": pl.lit(value=False), "detail": pl.lit(None)}
    return aggregate(evaluator, frame.with_columns(**known))


def test_passes_of_all_counts_what_could_not_be_understood_among_the_failures() -> None:
    passed, failed = (1.0, 0.0, None, 0.0, 0.0), (0.0, 1.0, None, 1.0, 0.0)
    unparsed, timed_out = (None, None, None, None, 1.0), (None, None, None, None, 0.0)
    found = folded(Polite(), passed, passed, failed, unparsed, timed_out)
    assert found == Graded({"passes_of_all": 0.5})


def test_nothing_judged_has_no_share_of_passes() -> None:
    found = folded(Polite(), (None,) * 5)
    assert isinstance(found, Graded)
    assert isinstance(found.scores["passes_of_all"], Undefined)


def test_thresholds_and_directions() -> None:
    read = {metric.name: (metric.best, metric.threshold) for metric in PassFailEvaluator.metrics}
    assert read == {
        "passes": ("high", 0.5),
        "failures": ("low", 0.5),
        "retrieval_failures": ("low", 0.5),
        "generation_failures": ("low", 0.5),
        "parse_failures": ("low", 0.5),
        "passes_of_all": ("high", 0.5),
    }
