"""Context precision: useful passages at the top of the ranking."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.library.retrieval.context_precision import average_precision
from evaluators.outcome import JudgeError
from evaluators.sample import Sample
from tests.support.scripted_judge import Scripted, judged, values
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = {"question": "When does the ferry leave?", "expected_answers": ["At eight."]}
USEFULNESS = {0: "none", 0.5: "partly", 1: "fully"}


def _judge(worths: dict[str, Any]) -> Scripted:
    """A judge that knows what each passage is worth."""

    def appraise(request: Any) -> Any:
        (worth,) = (w for text, w in worths.items() if f"\n{text}\n" in request.prompt.material)
        return worth if isinstance(worth, Exception) else {"reasoning": "", "usefulness": worth}

    return Scripted(appraise)


def _scored(
    worths: list[Any], parameters: Any = None, texts: list[str] | None = None, **change: Any
) -> tuple[list[dict[str, Any]], Scripted]:
    passages = texts or [f"Passage {number}." for number in range(len(worths))]
    judge = _judge({text: USEFULNESS.get(w, w) for text, w in zip(passages, worths, strict=True)})
    row = {**SAMPLE, "contexts": passages, **change}
    return judged(build("context_precision", parameters or {}), row, judge), judge


@pytest.mark.parametrize(
    ("worths", "plain", "graded"),
    [  # the golden examples of the specification
        ([1, 0, 1], 0.8333333333, 0.8333333333),
        ([0, 1, 1], 0.5833333333, 0.5833333333),
        ([0, 0, 1, 0, 1], 0.3666666667, 0.3666666667),
        ([0, 0, 0], 0.0, 0.0),
        ([1, 0.5, 0], 1.0, 0.9166666667),
    ],
)
def test_average_precision(worths: list[Any], plain: float, graded: float) -> None:
    rows, _ = _scored(worths)
    found = values(rows)
    assert found["context_precision"] == pytest.approx(plain)
    assert found["context_precision_graded"] == pytest.approx(graded)


def test_only_the_top_of_the_ranking() -> None:
    rows, judge = _scored([0, 1, 1], {"top_n": 2})
    assert values(rows)["context_precision"] == 0.5
    assert len(judge.asked) == 2
    with pytest.raises(BadParameters, match="top_n"):
        build("context_precision", {"top_n": 0})


@given(st.integers(1, 30))
def test_a_ranking_of_useful_passages_is_exactly_one(count: int) -> None:
    assert average_precision([1.0] * count) == 1.0


@given(st.lists(st.booleans(), min_size=1, max_size=12).filter(any))
def test_average_precision_is_that_of_scikit_learn(useful: list[bool]) -> None:
    from sklearn.metrics import average_precision_score

    ranks = range(len(useful))
    expected = average_precision_score(useful, [-rank for rank in ranks])
    assert average_precision(list(map(float, useful))) == pytest.approx(expected)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=12))
def test_a_useful_passage_moved_up_is_never_worse(worths: list[float]) -> None:
    best = average_precision(sorted(worths, reverse=True))
    assert 0 <= average_precision(worths) <= best + 1e-12
    assert average_precision([*worths, 0.0]) == average_precision(worths)


def test_equal_passages_are_asked_about_once_and_count_at_each_rank() -> None:
    rows, judge = _scored([0, 1, 1, 0], texts=["No.", "Yes.", "Yes.", " "])
    assert values(rows)["context_precision"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert len(judge.asked) == 2
    assert _calls(contexts=["No.", "Yes.", "Yes.", " "]) == 2


def _calls(parameters: Any = None, **change: Any) -> int:
    keys = {"benchmark": "b", "system": "s", "question_id": "q"}
    sample = Sample.of(keys | SAMPLE | change)
    return int(build("context_precision", parameters or {}).expected_calls(sample))  # type: ignore[attr-defined]


def test_a_passage_without_a_verdict_leaves_no_value() -> None:
    rows, _ = _scored([1, JudgeError("timed out"), 1])
    for row in rows[:2]:
        assert (row["status"], row["value"], row["reason"]) == ("judge_error", None, "timed out")


@pytest.mark.parametrize("contexts", [[], [" ", ""]])
def test_nothing_retrieved_is_worth_nothing(contexts: list[str]) -> None:
    rows, judge = _scored([], contexts=contexts)
    assert {(row["value"], row["reason"]) for row in rows[:2]} == {(0.0, "no_context")}
    assert not judge.asked


def test_the_answer_stands_in_for_an_expected_one() -> None:
    rows, judge = _scored([0, 1], expected_answers=None, answer="At nine.")
    assert [row["status"] for row in rows] == ["not_applicable", "not_applicable", "scored"]
    assert rows[2]["value"] == 0.5
    assert "At nine." in judge.asked[0][0].prompt.material
    beside, judge = _scored([0, 1], {"utilization": "always"}, answer="At nine.")
    assert values(beside) == dict.fromkeys(values(beside), 0.5)
    assert (
        len(judge.asked) == 4 == _calls({"utilization": "always"}, contexts=["a", "b"], answer="c")
    )
    alone, judge = _scored([0, 1], answer="At nine.")
    assert alone[2]["status"] == "not_applicable"
    assert "utilization" in alone[2]["reason"]
    assert len(judge.asked) == 2


def test_an_empty_answer_uses_nothing() -> None:
    rows, judge = _scored([1], expected_answers=[" "], answer=" ")
    assert (rows[2]["value"], judge.asked) == (0.0, [])


def test_who_cannot_be_measured_and_who_failed() -> None:
    for change in ({"contexts": None}, {"question": " "}):
        rows, _ = _scored([1], **change)
        assert {row["status"] for row in rows} == {"not_applicable"}
    rows, judge = _scored([1], error="timeout", answer="")
    assert [row["status"] for row in rows] == ["scored", "scored", "not_applicable"]
    assert [row["value"] for row in rows] == [0.0, 0.0, None]
    assert not judge.asked


def test_each_passage_is_seen_alone_with_every_expected_answer() -> None:
    _, judge = _scored([1, 0], expected_answers=["At eight.", "8:00", "At eight."])
    first, second = (asked.prompt.material for asked, _ in judge.asked)
    assert "Passage 0." in first
    assert "Passage 1." not in first
    assert "Passage 1." in second
    assert "[2] 8:00" in first
    assert "[3]" not in first


def _together(worths: dict[str, str], *, drop: str | None = None) -> Scripted:
    """A judge that is shown all passages, and gives its verdicts from the last to the first."""

    def appraise(request: Any) -> Any:
        lines = [line for line in request.prompt.material.splitlines() if line.startswith("[p")]
        shown = dict(line.removeprefix("[").split("] ", 1) for line in lines)
        verdicts = [
            {"passage": key, "reasoning": "", "usefulness": worths[text]}
            for key, text in reversed(shown.items())
            if text != drop
        ]
        stranger = {"passage": "p99", "reasoning": "", "usefulness": "fully"}
        return {"verdicts": [*verdicts, stranger]}

    return Scripted(appraise)


@given(st.lists(st.sampled_from(["none", "partly", "fully"]), min_size=1, max_size=9))
def test_all_passages_in_one_question_are_worth_what_they_are_worth_alone(found: list[str]) -> None:
    texts = [f"Passage {number}." for number in range(len(found))]
    worths = dict(zip(texts, found, strict=True))
    row = {**SAMPLE, "contexts": [*texts, texts[0], " "]}
    alone = judged(build("context_precision", {}), row, _judge(worths))
    judge = _together(worths)
    assert values(judged(build("context_precision", {"batched": True}), row, judge)) == values(
        alone
    )
    assert len(judge.asked) == 1 == _calls({"batched": True}, contexts=row["contexts"])


def test_passages_in_one_question_do_not_tell_their_ranks() -> None:
    texts = [f"Passage {number}." for number in range(6)]
    asked = []
    for ranking in (texts, texts[::-1]):
        judge = _together(dict.fromkeys(texts, "fully"))
        judged(
            build("context_precision", {"batched": True}), {**SAMPLE, "contexts": ranking}, judge
        )
        asked += [request.prompt.material for request, _ in judge.asked]
    assert asked[0] == asked[1]
    assert asked[0].index("Passage 0.") != min(asked[0].index(text) for text in texts)


def test_a_passage_that_a_shared_verdict_passes_over_leaves_no_value() -> None:
    texts = ["One.", "Two."]
    judge = _together(dict.fromkeys(texts, "fully"), drop="Two.")
    rows = judged(
        build("context_precision", {"batched": True}), {**SAMPLE, "contexts": texts}, judge
    )
    assert {row["status"] for row in rows[:2]} == {"parse_failure"}
    assert "no verdict on p" in rows[0]["reason"]


@takes_minutes
def test_passages_of_a_real_benchmark(shared: Path) -> None:
    """A judge that looks for the accepted spellings, over every question and passage of RGB."""
    from sklearn.metrics import average_precision_score

    path = shared / "data" / "rgb" / "outputs50_with_docs.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"missing: {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    compared = 0
    for row in rows:
        spellings = [spelling for accepted in row["answers"] for spelling in accepted]
        useful = [any(each in passage for each in spellings) for passage in row["docs"]]
        found, judge = _scored(
            [float(each) for each in useful],
            texts=row["docs"],
            question=row["query"],
            expected_answers=spellings,
        )
        assert len(judge.asked) == len(set(row["docs"]))
        expected = average_precision_score(useful, range(5, 0, -1)) if any(useful) else 0.0
        assert values(found)["context_precision"] == pytest.approx(expected)
        compared += 0 < sum(useful) < len(useful)
    assert compared > 25  # the others are useful all over, or nowhere
